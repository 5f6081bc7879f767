#include "base/secret_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "base/read_to_end.h"
#include "base/unique_fd.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

constexpr size_t kMostBytes = 64 * 1024;

absl::Status Unusable(const std::string& path, std::string_view why) {
  return Error(ErrorCode::kSecretFile, fmt::format("{}: {}", path, why));
}

}  // namespace

absl::StatusOr<Secret> ReadSecretFile(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat facts;
  if (!file.valid() || ::fstat(file.get(), &facts) != 0) {
    return Unusable(path, std::strerror(errno));
  }
  if ((facts.st_mode & (S_IROTH | S_IWOTH)) != 0) {
    return Unusable(path, "the file is readable or writable by other users");
  }
  std::optional<std::string> content = ReadToEnd(file.get(), kMostBytes + 1);
  if (!content) {
    return Unusable(path, std::strerror(errno));
  }
  if (content->size() > kMostBytes) {
    return Unusable(path, "the file is larger than 64 KiB");
  }
  if (content->ends_with('\n')) {
    content->pop_back();
  }
  return Secret(*std::move(content));
}

}  // namespace walrelay
