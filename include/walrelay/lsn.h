// Lsn: a position in Postgres' write-ahead log.
//
// A value type, freely copied, safe on any thread. 0/0 is Postgres' InvalidXLogRecPtr and means
// "none". There is no arithmetic on purpose: walrelay only receives positions from the server and
// returns them unchanged ("never add 1": the server guarantees nothing about the successor of a
// commit record's position).
//
// Source: Postgres, src/include/access/xlogdefs.h; text form as of pg_lsn.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace walrelay {

class Lsn {
 public:
  constexpr Lsn() = default;
  constexpr explicit Lsn(uint64_t value) : value_(value) {}

  // Parses "16/B374D848". nullopt for anything else, and for more than eight digits on a side.
  static std::optional<Lsn> Parse(std::string_view text);

  constexpr uint64_t value() const { return value_; }
  // Not 0/0.
  constexpr bool valid() const { return value_ != 0; }

  // Upper-case hexadecimal, as Postgres prints it: "16/B374D848".
  std::string ToString() const;

  // In the order of the WAL. The order of positions on different timelines has no meaning.
  friend constexpr auto operator<=>(Lsn, Lsn) = default;

 private:
  uint64_t value_ = 0;
};

// Bytes of WAL from `from` to `to`; 0 if `to` is not ahead of `from`.
// 0/0 counts as the position 0: a caller to whom "none" matters checks valid() first.
constexpr uint64_t BytesBetween(Lsn from, Lsn to) {
  return to > from ? to.value() - from.value() : 0;
}

}  // namespace walrelay
