#include "base/named_file.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <system_error>

#include "base/text.h"
#include "base/unique_fd.h"
#include "walrelay/error.h"

namespace walrelay {

absl::Status CheckNamedFile(std::string_view what, const std::string& path) {
  if (path.empty()) {
    return absl::OkStatus();
  }
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.valid()) {
    return absl::OkStatus();
  }
  return Error(ErrorCode::kNamedFile, fmt::format("{}: \"{}\": {}", what, Printable(path, 200),
                                                  std::generic_category().message(errno)));
}

}  // namespace walrelay
