#include "base/trusted_path.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <system_error>

#include "base/text.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

constexpr int kMaxLinks = 40;  // as the kernel
constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;

absl::Status Unreadable(const std::string& path, int error) {
  return Error(ErrorCode::kConfigFile,
               fmt::format("{}: {}", Printable(path), std::generic_category().message(error)));
}

absl::Status Untrusted(const std::string& path, std::string_view entry, std::string_view why) {
  return Error(ErrorCode::kUntrustedFile,
               fmt::format("{}: {} {}", Printable(path), Printable(entry), why));
}

absl::Status OwnedByAnother(const std::string& path, std::string_view entry, uid_t owner) {
  return Untrusted(path, entry, fmt::format("belongs to user {}", owner));
}

bool IsTrusted(uid_t owner) {
  return owner == 0 || owner == ::geteuid();
}

std::string WorkingFolder() {
  std::array<char, PATH_MAX> folder{};
  return ::getcwd(folder.data(), folder.size()) != nullptr ? folder.data() : "/";
}

std::string TargetOf(const std::string& link) {
  std::array<char, PATH_MAX> target{};
  const ssize_t length = ::readlink(link.c_str(), target.data(), target.size());
  return {target.data(), static_cast<size_t>(std::max<ssize_t>(length, 0))};
}

// Follows a path as the kernel does, one entry at a time.
class PathWalk {
 public:
  explicit PathWalk(const std::string& path)
      : path_(path), rest_(path.starts_with('/') ? path : WorkingFolder() + "/" + path) {}

  absl::Status Run() {
    if (::lstat("/", &folder_) != 0) {
      return Unreadable("/", errno);
    }
    while (!rest_.empty()) {
      const size_t end = std::min(rest_.find('/'), rest_.size());
      const std::string name = rest_.substr(0, end);
      rest_.erase(0, end + 1);
      if (!name.empty() && name != ".") {
        if (const absl::Status status = Enter(name); !status.ok()) {
          return status;
        }
      }
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Enter(const std::string& name) {
    // `reached_` contains no link, so that its last part can be removed.
    if (name == "..") {
      reached_.erase(std::min(reached_.rfind('/'), reached_.size()));
      return ::lstat(Reached().c_str(), &folder_) == 0 ? absl::OkStatus()
                                                       : Unreadable(Reached(), errno);
    }
    const std::string entry = reached_ + "/" + name;
    struct stat info {};
    if (::lstat(entry.c_str(), &info) != 0) {
      return Unreadable(entry, errno);
    }
    const bool passes = S_ISDIR(info.st_mode) && (folder_.st_mode & S_ISVTX) != 0;
    if ((folder_.st_mode & kOthersWrite) != 0 && !passes) {
      return Untrusted(path_, Reached(), "is writable by other users");
    }
    if (!IsTrusted(info.st_uid)) {
      return OwnedByAnother(path_, entry, info.st_uid);
    }
    if (S_ISLNK(info.st_mode)) {
      return Follow(entry);
    }
    if (!S_ISDIR(info.st_mode) && (info.st_mode & kOthersWrite) != 0) {
      return Untrusted(path_, entry, "is writable by other users");
    }
    reached_ = entry;
    folder_ = info;
    return absl::OkStatus();
  }

  absl::Status Follow(const std::string& link) {
    const std::string target = TargetOf(link);
    if (target.empty() || ++links_ > kMaxLinks) {
      return Unreadable(link, ELOOP);
    }
    if (target.starts_with('/')) {
      reached_.clear();
    }
    rest_ = target + "/" + rest_;
    return ::lstat(Reached().c_str(), &folder_) == 0 ? absl::OkStatus()
                                                     : Unreadable(Reached(), errno);
  }

  std::string Reached() const { return reached_.empty() ? "/" : reached_; }

  const std::string& path_;
  std::string rest_;     // what is still to be followed
  std::string reached_;  // the folder in which `rest_` continues; "": the root
  struct stat folder_ {};
  int links_ = 0;
};

}  // namespace

absl::Status CheckTrustedPath(const std::string& path) {
  return PathWalk(path).Run();
}

absl::Status CheckTrustedEntry(const std::string& folder, const std::string& path) {
  struct stat place {};
  struct stat entry {};
  struct stat file {};
  if (::stat(folder.c_str(), &place) != 0 || ::lstat(path.c_str(), &entry) != 0 ||
      ::stat(path.c_str(), &file) != 0) {
    return Unreadable(path, errno);
  }
  for (const uid_t owner : {entry.st_uid, file.st_uid}) {
    if (!IsTrusted(owner) && owner != place.st_uid) {
      return OwnedByAnother(path, "the file", owner);
    }
  }
  return (file.st_mode & S_IWOTH) == 0 ? absl::OkStatus()
                                       : Untrusted(path, "the file", "is writable by other users");
}

}  // namespace walrelay
