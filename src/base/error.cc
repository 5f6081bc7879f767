#include "walrelay/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "absl/strings/cord.h"
#include "base/absl_strings.h"
#include "base/check.h"
#include "base/text.h"

namespace walrelay {
namespace {

// In the status' payloads, so that a code survives every function that passes a status on.
constexpr char kCodePayload[] = "walrelay/code";
constexpr char kHintPayload[] = "walrelay/hint";
// The lines of several joined errors, as Explain() prints them.
constexpr char kListPayload[] = "walrelay/list";
// A message may quote a server at length.
constexpr size_t kMaxShown = 4096;

// One entry per row of error_codes.def; a code without an entry cannot exist, because the
// enumeration is generated from the same file.
constexpr ErrorEntry kCatalogue[] = {
#define WALRELAY_ERROR(number, name, status, reaction, scope, title, meaning, remedy) \
  {ErrorCode::k##name,                                                                \
   #name,                                                                             \
   absl::StatusCode::status,                                                          \
   Reaction::k##reaction,                                                             \
   Scope::k##scope,                                                                   \
   title,                                                                             \
   meaning,                                                                           \
   remedy},
#include "walrelay/error_codes.def"
};

static_assert(std::is_sorted(std::begin(kCatalogue), std::end(kCatalogue),
                             [](const ErrorEntry& a, const ErrorEntry& b) {
                               return a.code < b.code;
                             }),
              "the catalogue is in the order of its codes");

// The catalogue's general texts would only repeat the message.
bool IsPlain(const absl::Status& status) {
  return ScopeOf(status) == Scope::kInput;
}

// The meaning of an error that has none for the data.
constexpr std::string_view kNoMeaning = "Nothing was started; no data is touched.";

// The remedy for an error; "" if the message already contains it.
std::string AdviceFor(const absl::Status& status) {
  const bool general = !status.GetPayload(kHintPayload).has_value();
  return general && IsPlain(status) ? "" : Printable(RemedyFor(status), kMaxShown);
}

// An error as an item of a list: one line, and a second one for its advice.
std::string ItemOf(const absl::Status& status, const std::string& advice) {
  return fmt::format("\n  {} ({}){}", Printable(MessageOf(status), kMaxShown),
                     ToString(CodeOf(status)), advice.empty() ? "" : "\n      " + advice);
}

}  // namespace

std::span<const ErrorEntry> ErrorCatalogue() {
  return kCatalogue;
}

// Binary search: the catalogue is sorted, which is checked at compile time.
const ErrorEntry& Describe(ErrorCode code) {
  const auto* entry = std::lower_bound(
      std::begin(kCatalogue), std::end(kCatalogue), code,
      [](const ErrorEntry& candidate, ErrorCode wanted) { return candidate.code < wanted; });
  WR_CHECK(entry != std::end(kCatalogue) && entry->code == code, "every code is in the catalogue");
  return *entry;
}

std::string ToString(ErrorCode code) {
  return fmt::format("WR-{:04}", static_cast<unsigned>(code));
}

absl::Status Error(ErrorCode code, std::string_view message, std::string_view hint) {
  absl::Status status(Describe(code).status, ToAbsl(message));
  status.SetPayload(kCodePayload, absl::Cord(std::to_string(static_cast<unsigned>(code))));
  if (!hint.empty()) {
    status.SetPayload(kHintPayload, absl::Cord(ToAbsl(hint)));
  }
  return status;
}

// The list is formatted here, because a payload holds text: every part of it is escaped, so that a
// message cannot add a line.
absl::Status JoinErrors(std::span<const absl::Status> errors) {
  WR_CHECK(!errors.empty(), "there is an error to report");
  if (errors.size() == 1) {
    return errors.front();
  }
  std::string messages;
  std::string list;
  std::set<std::string> given;
  for (const absl::Status& error : errors) {
    messages += (messages.empty() ? "" : "; ") + MessageOf(error);
    // The same advice for several errors is given once.
    const std::string advice = AdviceFor(error);
    list += ItemOf(error, given.insert(advice).second ? advice : "");
  }
  absl::Status joined = Error(ErrorCode::kConfigErrors, messages);
  joined.SetPayload(kListPayload, absl::Cord(list));
  return joined;
}

// Only Error() sets the payload, so it is a number of the catalogue.
// An error of a library or of Abseil has no payload: it counts as an internal error, because every
// expected error has a code.
ErrorCode CodeOf(const absl::Status& status) {
  WR_CHECK(!status.ok(), "only an error has a code");
  const auto payload = status.GetPayload(kCodePayload);
  if (!payload.has_value()) {
    return ErrorCode::kInternal;
  }
  return static_cast<ErrorCode>(std::stoi(std::string(*payload)));
}

bool HasCode(const absl::Status& status, ErrorCode code) {
  return !status.ok() && CodeOf(status) == code;
}

// The hint names the exact statement or option if the place of the error knows it; the catalogue's
// text is general.
std::string RemedyFor(const absl::Status& status) {
  const auto hint = status.GetPayload(kHintPayload);
  return hint.has_value() ? std::string(*hint) : std::string(Describe(CodeOf(status)).remedy);
}

std::string MessageOf(const absl::Status& status) {
  return std::string(status.message());
}

// Payloads are copied one by one, because a status' message cannot be changed.
absl::Status Annotate(const absl::Status& status, std::string_view context) {
  if (status.ok()) {
    return status;
  }
  absl::Status annotated(status.code(), fmt::format("{}: {}", context, MessageOf(status)));
  status.ForEachPayload([&](absl::string_view type, const absl::Cord& payload) {
    annotated.SetPayload(type, payload);
  });
  return annotated;
}

std::string Explain(const absl::Status& status) {
  const ErrorEntry& entry = Describe(CodeOf(status));
  std::string out = fmt::format("{} {}:", ToString(entry.code), entry.title);
  if (const auto list = status.GetPayload(kListPayload)) {
    return out + std::string(*list);
  }
  out += " " + Printable(MessageOf(status), kMaxShown);
  if (!IsPlain(status) && entry.meaning != kNoMeaning) {
    out += fmt::format("\n  what it means: {}", entry.meaning);
  }
  const std::string advice = AdviceFor(status);
  return advice.empty() ? out : fmt::format("{}\n  what to do:    {}", out, advice);
}

// sysexits.h, so that service managers and scripts can tell a wrong configuration from an outage.
ExitCode ExitCodeFor(const absl::Status& status) {
  if (status.ok()) {
    return ExitCode::kOk;
  }
  switch (ReactionTo(status)) {
    case Reaction::kGap:
      return ExitCode::kGap;
    case Reaction::kConfiguration:
      return ExitCode::kConfiguration;
    case Reaction::kUsage:
      return ExitCode::kUsage;
    case Reaction::kRetry:
    case Reaction::kStandby:
    case Reaction::kBlocked:
      // The relay retries a refused login, which may be transient; a command that exits reports it
      // as missing permission.
      return Describe(CodeOf(status)).status == absl::StatusCode::kUnauthenticated
                 ? ExitCode::kPermission
                 : ExitCode::kUnavailable;
    case Reaction::kDefinite:
      break;
  }
  switch (Describe(CodeOf(status)).status) {
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kPermissionDenied:
      return ExitCode::kPermission;
    case absl::StatusCode::kInternal:
      return ExitCode::kInternal;
    default:
      return ExitCode::kConfiguration;
  }
}

}  // namespace walrelay
