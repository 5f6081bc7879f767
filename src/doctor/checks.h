// The checks of `walrelay doctor` by name: what each looks at, why, and what to do. One table
// (checks.def): what is found, explained and documented are the same names.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace walrelay {

struct CheckEntry {
  std::string_view name;  // "postgres.wal_level"; its first word is the group
  std::string_view looks_at;
  std::string_view why;
  std::string_view remedy;
};

inline constexpr CheckEntry kChecks[] = {
#define WALRELAY_CHECK(name, looks_at, why, remedy) {name, looks_at, why, remedy},
#include "doctor/checks.def"
#undef WALRELAY_CHECK
};

// A literal that is in the table; anything else does not compile.
class CheckName {
 public:
  consteval CheckName(const char* name) : name_(name) {  // NOLINT: a literal stands for its check
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
  static void ThereIsNoSuchCheckInChecksDef();  // without a body: no constant expression

  std::string_view name_;
};

// "postgres.wal_level", also as "doctor.postgres.wal_level". nullptr for what is no check.
const CheckEntry* FindCheck(std::string_view name);

// All of them in Markdown. A test holds docs/reference/doctor.md against it.
std::string CheckReference();

}  // namespace walrelay
