#include "kafka/credential_watch.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "base/secret_file.h"
#include "walrelay/error.h"

namespace walrelay {

CredentialWatch::CredentialWatch(CredentialFiles files, Credentials present, Micros interval)
    : files_(std::move(files)),
      interval_(interval),
      present_(std::move(present)),
      original_(Identities()),
      last_seen_(original_) {}

CredentialWatch::~CredentialWatch() {
  Stop();
  if (thread_.joinable()) {
    thread_.join();
  }
}

void CredentialWatch::Start(rd_kafka_t* client) {
  WR_CHECK(client_ == nullptr, "a watch is started once");
  client_ = client;
  if (!files_.empty()) {
    thread_ = std::thread([this] { Run(); });
  }
}

void CredentialWatch::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
}

void CredentialWatch::LookNow() {
  {
    const std::lock_guard lock(mutex_);
    look_now_ = true;
  }
  changed_.notify_one();
}

void CredentialWatch::Run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    look_now_ = false;
    lock.unlock();
    Look();
    lock.lock();
    changed_.wait_for(lock, interval_, [this] { return stopping_ || look_now_; });
  }
}

void CredentialWatch::Look() {
  absl::Status before = std::exchange(unreadable_, absl::OkStatus());
  LookAtPassword();
  LookAtCertificates();
  if (!unreadable_.ok() && before.ok()) {
    LogStatus(LogLevel::kWarning, "credentials_unreadable", unreadable_);
  } else if (unreadable_.ok() && !before.ok()) {
    LogInfo("credentials_readable", "the files with Kafka's credentials are readable again");
  }
}

void CredentialWatch::LookAtPassword() {
  if (files_.password.empty()) {
    return;
  }
  std::optional<Secret> found = Read(files_.password);
  if (!found || found->Reveal() == present_.password.Reveal()) {
    return;
  }
  rd_kafka_error_t* error =
      rd_kafka_sasl_set_credentials(client_, present_.username.c_str(), found->Reveal().c_str());
  if (error != nullptr) {
    NoteUnreadable(Error(ErrorCode::kKafkaConfiguration, rd_kafka_error_string(error)));
    rd_kafka_error_destroy(error);
    return;
  }
  present_.password = *std::move(found);
  password_changed_.store(true, std::memory_order_relaxed);
  LogInfo("credentials_changed", "the next login to Kafka uses the new password",
          {{"file", files_.password}});
}

// A renewal replaces several files one after the other, so a change counts only when two
// consecutive checks see it.
void CredentialWatch::LookAtCertificates() {
  std::optional<Secret> key_password = present_.key_password;
  if (!files_.key_password.empty()) {
    key_password = Read(files_.key_password);
  }
  std::vector<std::optional<Identity>> found = Identities();
  bool complete = key_password.has_value();
  for (size_t i = 0; i < found.size(); ++i) {
    if (!found[i]) {
      complete = false;
      NoteUnreadable(
          Error(ErrorCode::kSecretFile, files_.certificates[i] + ": missing or unreadable"));
    }
  }
  const bool settled = complete && found == last_seen_ && last_key_password_ &&
                       last_key_password_->Reveal() == key_password->Reveal();
  const bool changed =
      complete && (found != original_ || key_password->Reveal() != present_.key_password.Reveal());
  if (settled && changed && !outdated()) {
    outdated_.store(true, std::memory_order_relaxed);
    LogInfo("credentials_changed", "Kafka certificates or keys have changed");
  }
  last_seen_ = std::move(found);
  last_key_password_ = std::move(key_password);
}

std::optional<Secret> CredentialWatch::Read(const std::string& path) {
  absl::StatusOr<Secret> secret = ReadSecretFile(path);
  if (!secret.ok()) {
    NoteUnreadable(secret.status());
    return std::nullopt;
  }
  if (secret->empty()) {  // another process is writing it
    NoteUnreadable(Error(ErrorCode::kSecretFile, path + ": empty"));
    return std::nullopt;
  }
  return *std::move(secret);
}

std::vector<std::optional<CredentialWatch::Identity>> CredentialWatch::Identities() {
  std::vector<std::optional<Identity>> found;
  for (const std::string& path : files_.certificates) {
    struct stat facts {};
    if (::stat(path.c_str(), &facts) != 0) {
      found.push_back(std::nullopt);
      continue;
    }
    found.push_back(
        Identity{.device = facts.st_dev,
                 .inode = facts.st_ino,
                 .size = facts.st_size,
                 .modified_ns = facts.st_mtim.tv_sec * 1'000'000'000 + facts.st_mtim.tv_nsec});
  }
  return found;
}

void CredentialWatch::NoteUnreadable(const absl::Status& error) {
  if (unreadable_.ok()) {
    unreadable_ = error;
  }
}

}  // namespace walrelay
