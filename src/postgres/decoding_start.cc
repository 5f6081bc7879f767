#include "postgres/decoding_start.h"

#include <algorithm>

namespace walrelay {

std::optional<Lsn> ConfirmedAtDecodingStart(std::string_view function, std::string_view detail) {
  constexpr std::string_view kOfPosition = "0123456789ABCDEFabcdef/";
  if (function != "CreateDecodingContext") {
    return std::nullopt;
  }
  std::optional<Lsn> greatest;
  int positions = 0;
  while (true) {
    detail.remove_prefix(std::min(detail.find_first_of(kOfPosition), detail.size()));
    if (detail.empty()) {
      return positions == 2 ? greatest : std::nullopt;
    }
    const auto length = std::min(detail.find_first_not_of(kOfPosition), detail.size());
    if (const auto position = Lsn::Parse(detail.substr(0, length))) {
      greatest = std::max(greatest, position);
      ++positions;
    }
    detail.remove_prefix(length);
  }
}

}  // namespace walrelay
