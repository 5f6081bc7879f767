// Errors that operators see: an absl::Status with a walrelay code (WR-2101).
//
// The message of such a status says what happened, and to which object. The catalogue
// (error_codes.def) adds, for every code, the meaning for the data and the remedy; a hint replaces
// the remedy if more is known (the exact GRANT). Reaction defines what the relay does about the
// error: only this table decides it, not the call sites.
//
// A status without a walrelay code comes from a library and is treated as Internal.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace walrelay {

// The codes are numbers that never change and are never reused: operators search for them.
enum class ErrorCode : uint16_t {
#define WALRELAY_ERROR(number, name, status, reaction, scope, title, meaning, remedy) \
  k##name = number,
#include "walrelay/error_codes.def"
};

enum class Reaction : uint8_t {
  kRetry,     // transient: retry with back-off, without limit
  kStandby,   // another instance is active: wait for its slot
  kBlocked,   // blocked until an operator or the broker fixes the cause; keep running and report
  kDefinite,  // at the first start: exit. Afterwards: retry, blocked until it is fixed
  kGap,       // events may be missing: hold or exit (source.on_gap), an operator must decide
  kConfiguration,  // like kDefinite
  kUsage,          // exit; invalid command line
};

// The part of the system that an error concerns. Only an error of a row may cost that row its
// place: any other error would also fail the next rows, and [on_error] would skip them all.
enum class Scope : uint8_t {
  kInput,     // a configuration or a command line; the message says where, what and what instead
  kProcess,   // this process, its files and sockets, what it was started with
  kSource,    // Postgres: the server, the slot, the publication, the tables
  kRow,       // the content of one row
  kTopic,     // a topic: its settings, limits, policies, rights
  kProducer,  // the producer with everything in flight, never a single record
  kSink,      // the brokers, and what walrelay stores there
};

// A row of error_codes.def.
// All views are of literals. `title` continues "WR-nnnn: " and has no full stop.
struct ErrorEntry {
  ErrorCode code;
  std::string_view name;
  absl::StatusCode status;
  Reaction reaction;
  Scope scope;
  std::string_view title;
  std::string_view meaning;
  std::string_view remedy;
};

// Every row of the catalogue, by ascending code.
std::span<const ErrorEntry> ErrorCatalogue();
// REQUIRES: an enumerator of ErrorCode (WR_CHECK). The reference is valid for the life of the
// process.
const ErrorEntry& Describe(ErrorCode code);

// "WR-2101".
std::string ToString(ErrorCode code);

// A status with `message` (one sentence, no full stop, no secret, no payload) and, if a more
// specific remedy than the catalogue's is known, `hint`.
// The views are copied. The status' absl code is that of the catalogue's row. Code and hint are
// payloads of the status, so that they survive every function that passes it on.
absl::Status Error(ErrorCode code, std::string_view message, std::string_view hint = {});

// Several errors as one, WR-1008: its message has all of theirs, and Explain() prints one a line,
// in this order. A single error is returned unchanged.
// REQUIRES: `errors` is not empty, and none of them is OK.
absl::Status JoinErrors(std::span<const absl::Status> errors);

// The code of `status`; kInternal for a status without one. REQUIRES: !status.ok().
ErrorCode CodeOf(const absl::Status& status);
// False for an OK status.
bool HasCode(const absl::Status& status, ErrorCode code);
// The relay's reaction to an error.
inline Reaction ReactionTo(const absl::Status& status) {
  return Describe(CodeOf(status)).reaction;
}

// The part of the system that the error concerns.
inline Scope ScopeOf(const absl::Status& status) {
  return Describe(CodeOf(status)).scope;
}

// The hint if present, otherwise the catalogue's remedy.
// REQUIRES: !status.ok().
std::string RemedyFor(const absl::Status& status);
// Without the code, as it was given to Error().
std::string MessageOf(const absl::Status& status);

// The same error with `context` and a colon in front of its message.
// An OK status is returned unchanged. Code and hint are kept.
absl::Status Annotate(const absl::Status& status, std::string_view context);

// Message, meaning and remedy on separate lines, for display. Meaning and remedy are left out where
// they would repeat the message: an error in a configuration or a command line has at most a hint.
// REQUIRES: !status.ok(). Escaped for a terminal, and truncated if a server's message is very long.
std::string Explain(const absl::Status& status);

// sysexits.h, plus 3: a check found problems, 4: a gap that requires an operator's decision, and 5:
// a row that cannot be published.
enum class ExitCode : int {
  kOk = 0,
  kProblemsFound = 3,
  kGap = 4,
  kRow = 5,
  kUsage = 64,
  kData = 65,
  kUnavailable = 69,
  kInternal = 70,
  kTemporary = 75,
  kPermission = 77,
  kConfiguration = 78,
};
// The exit code of a process that ends with this status.
// OK is 0. Only from the catalogue: reaction and absl code of the error decide.
ExitCode ExitCodeFor(const absl::Status& status);

}  // namespace walrelay

// Returns from the enclosing function when `expression` is a Status that is not OK.
#define WR_RETURN_IF_ERROR(expression)                            \
  do {                                                            \
    if (absl::Status wr_status = (expression); !wr_status.ok()) { \
      return wr_status;                                           \
    }                                                             \
  } while (false)

// Declares or assigns `target` from a StatusOr, or returns its error. Not a block like the macro
// above: the declared target must outlive it. It is therefore no body for an `if` without braces.
#define WR_CONCAT_(a, b) a##b
#define WR_CONCAT(a, b) WR_CONCAT_(a, b)
#define WR_ASSIGN_OR_RETURN(target, expression) \
  WR_ASSIGN_OR_RETURN_(WR_CONCAT(wr_status_or_, __LINE__), target, expression)
#define WR_ASSIGN_OR_RETURN_(temporary, target, expression) \
  auto temporary = (expression);                            \
  if (!temporary.ok()) {                                    \
    return temporary.status();                              \
  }                                                         \
  target = *std::move(temporary)
