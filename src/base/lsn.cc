#include "walrelay/lsn.h"

#include <fmt/format.h>

#include <charconv>

namespace walrelay {
namespace {

// At most eight digits, so that two halves fit into 64 bits.
std::optional<uint64_t> ParseHalf(std::string_view text) {
  if (text.empty() || text.size() > 8) {
    return std::nullopt;
  }
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, 16);
  if (error != std::errc() || stop != end) {
    return std::nullopt;
  }
  return value;
}

}  // namespace

std::optional<Lsn> Lsn::Parse(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) {
    return std::nullopt;
  }
  const auto high = ParseHalf(text.substr(0, slash));
  const auto low = ParseHalf(text.substr(slash + 1));
  if (!high || !low) {
    return std::nullopt;
  }
  return Lsn(*high << 32 | *low);
}

// As pg_lsn prints it: without leading zeros.
std::string Lsn::ToString() const {
  return fmt::format("{:X}/{:X}", value_ >> 32, value_ & 0xFFFFFFFF);
}

}  // namespace walrelay
