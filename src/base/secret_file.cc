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

// Far above any password or token; the path may name a device.
constexpr size_t kMaxSecretBytes = 64 * 1024;

absl::Status Unusable(const std::string& path, std::string_view why, std::string_view remedy = "") {
  return Error(ErrorCode::kSecretFile, fmt::format("{}: {}", path, why), remedy);
}

// systemd copies the credentials of a unit when it starts, and removes them when it stops
// (systemd.exec(5), "Credentials"). "": not the path of a credential.
std::string RemedyForCredential(std::string_view path) {
  constexpr std::string_view kFolder = "/run/credentials/";
  if (!path.starts_with(kFolder)) {
    return "";
  }
  const std::string_view unit =
      path.substr(kFolder.size(), path.find('/', kFolder.size()) - kFolder.size());
  return fmt::format(
      "{0} has this credential only while it runs. As root, give the command the file that "
      "LoadCredential= "
      "names (systemctl cat {0}): --set OPTION=FILE, with the option that has this path.",
      unit);
}

}  // namespace

// The mode is checked on the open file, not on the path: the file may be replaced in between.
absl::StatusOr<Secret> ReadSecretFile(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info;
  if (!file.valid() || ::fstat(file.get(), &info) != 0) {
    return Unusable(path, std::strerror(errno), RemedyForCredential(path));
  }
  // The group may read it: Kubernetes mounts secrets with fsGroup.
  if ((info.st_mode & (S_IROTH | S_IWOTH)) != 0) {
    return Unusable(path, "the file is readable or writable by other users");
  }
  return ReadSecret(file.get(), path);
}

absl::StatusOr<Secret> ReadSecret(int fd, const std::string& name) {
  std::optional<std::string> content = ReadToEnd(fd, kMaxSecretBytes + 1);
  if (!content) {
    return Unusable(name, std::strerror(errno));
  }
  if (content->size() > kMaxSecretBytes) {
    return Unusable(name, "larger than 64 KiB");
  }
  // Editors and `echo` end a file with one line end, which is not part of the secret. A second one
  // is.
  if (content->ends_with('\n')) {
    content->pop_back();
  }
  return Secret(*std::move(content));
}

}  // namespace walrelay
