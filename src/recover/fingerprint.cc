#include "recover/fingerprint.h"

#include <fmt/format.h>

#include <charconv>
#include <string>

#include "base/check.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

constexpr size_t kDigits = 16;  // of a half

uint64_t NumberOf(std::string_view digits) {
  uint64_t number = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), number, 16);
  WR_CHECK(error == std::errc() && end == digits.data() + digits.size(), "a digest is hexadecimal");
  return number;
}

int64_t SizeOf(std::optional<std::string_view> part) {
  return part ? static_cast<int64_t>(part->size()) : -1;
}

}  // namespace

// With the sizes in front, different records never have the same bytes.
absl::StatusOr<Fingerprint> Fingerprinter::Of(std::string_view topic,
                                              std::optional<std::string_view> key,
                                              std::optional<std::string_view> value,
                                              std::optional<std::string_view> id) {
  const std::string sizes =
      fmt::format("{} {} {} {} ", topic.size(), SizeOf(key), SizeOf(value), SizeOf(id));
  WR_ASSIGN_OR_RETURN(
      const std::string_view hex,
      digest_.Hex({sizes, topic, key.value_or(""), value.value_or(""), id.value_or("")}));
  return Fingerprint{NumberOf(hex.substr(0, kDigits)), NumberOf(hex.substr(kDigits, kDigits))};
}

}  // namespace walrelay
