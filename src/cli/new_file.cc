#include "cli/new_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/unique_fd.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

bool WriteAll(const UniqueFd& file, std::string_view text) {
  while (!text.empty()) {
    // write() may accept only a part, and fails with EINTR if a signal interrupts it.
    const ssize_t written = ::write(file.get(), text.data(), text.size());
    if (written < 0 && errno != EINTR) {
      return false;
    }
    text.remove_prefix(written < 0 ? 0 : static_cast<size_t>(written));
  }
  return true;
}

absl::Status CannotWrite(const std::string& path) {
  return errno == EEXIST
             ? Error(ErrorCode::kUsage, fmt::format("--output {}: the file already exists", path),
                     "Use --force to replace it, or another name.")
             : Error(ErrorCode::kConfigFile, fmt::format("{}: {}", path, std::strerror(errno)),
                     "Name a file in a writable directory.");
}

absl::Status CreateFile(const std::string& path, std::string_view text) {
  // O_EXCL: an existing file is never overwritten, and a symbolic link at this path is not
  // followed.
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  return file.valid() && WriteAll(file, text) ? absl::OkStatus() : CannotWrite(path);
}

// Through a temporary file: the old file stays complete until the new one is, and its mode, with
// which others might read the passwords, is not kept.
absl::Status ReplaceFile(const std::string& path, std::string_view text) {
  const std::string temporary = fmt::format("{}.new-{}", path, ::getpid());
  WR_RETURN_IF_ERROR(CreateFile(temporary, text));
  if (std::rename(temporary.c_str(), path.c_str()) != 0) {
    const absl::Status error = CannotWrite(path);
    ::unlink(temporary.c_str());
    return error;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status WriteNewFile(const std::string& path, std::string_view text, bool replace) {
  return replace ? ReplaceFile(path, text) : CreateFile(path, text);
}

}  // namespace walrelay
