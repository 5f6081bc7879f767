// The checks of `walrelay doctor` by name: what each checks, why, and what to do. Findings,
// `walrelay explain` and the documentation use the same names, from one table (checks.def).
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace walrelay {

// A row of checks.def. All texts are literals, one line of Markdown each.
struct CheckEntry {
  std::string_view name;  // "postgres.wal_level"; its first word is the group
  std::string_view examines;
  std::string_view why;
  std::string_view remedy;
};

inline constexpr CheckEntry kChecks[] = {
#define WALRELAY_CHECK(name, examines, why, remedy) {name, examines, why, remedy},
#include "findings/checks.def"
#undef WALRELAY_CHECK
};

// The name of a check, from a literal. A literal that is not in the table does not compile.
// A view of a literal: freely copied, valid for the life of the process.
class CheckName {
 public:
  consteval CheckName(const char* name) : name_(name) {  // NOLINT: implicit on purpose
    bool known = false;
    for (const CheckEntry& entry : kChecks) {
      known = known || entry.name == name_;
    }
    if (!known) {
      ThereIsNoSuchCheckInChecksDef();
    }
  }
  constexpr std::string_view text() const { return name_; }

 private:
  static void ThereIsNoSuchCheckInChecksDef();  // no body: not a constant expression

  std::string_view name_;
};

// Accepts "postgres.wal_level" and "doctor.postgres.wal_level". nullptr for an unknown name.
// The result points into kChecks.
const CheckEntry* FindCheck(std::string_view name);

// All checks in Markdown. A test compares docs/reference/doctor.md with it.
std::string CheckReference();

}  // namespace walrelay
