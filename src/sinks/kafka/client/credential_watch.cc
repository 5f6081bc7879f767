#include "sinks/kafka/client/credential_watch.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "base/secret_file.h"
#include "walrelay/error.h"

namespace walrelay {

// The state of the files is recorded here and not in the thread: a change between the start of the
// client and that of the thread must not be missed.
CredentialWatch::CredentialWatch(CredentialFiles files, Credentials present, Micros interval)
    : files_(std::move(files)),
      interval_(interval),
      present_(std::move(present)),
      original_(Identities()),
      last_seen_(original_) {}

// A check may hang in the file system. The Reaper destroys the client, and with it this watch, on
// its own thread for that reason.
CredentialWatch::~CredentialWatch() = default;

void CredentialWatch::Start(rd_kafka_t* client) {
  WR_CHECK(client_ == nullptr, "a watch is started once");
  client_ = client;
  if (!files_.empty()) {
    worker_.Start([this] { Run(); });
  }
}

void CredentialWatch::Run() {
  do {
    CheckForChanges();
  } while (worker_.Rest(interval_));
}

void CredentialWatch::CheckForChanges() {
  absl::Status before = std::exchange(unreadable_, absl::OkStatus());
  CheckPassword();
  CheckCertificates();
  if (!unreadable_.ok() && before.ok()) {
    LogStatus(LogLevel::kWarning, "credentials_unreadable", unreadable_);
  } else if (unreadable_.ok() && !before.ok()) {
    LogInfo("credentials_readable", "the files with Kafka's credentials are readable again");
  }
}

// librdkafka uses the password at the next login; existing connections are not affected.
void CredentialWatch::CheckPassword() {
  if (files_.password.empty()) {
    return;
  }
  std::optional<Secret> found = Read(files_.password);
  // An unreadable file changes nothing: the password in use remains valid until a login proves
  // otherwise.
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
void CredentialWatch::CheckCertificates() {
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
  // librdkafka cannot exchange certificates of a running client, so the producer is replaced.
  if (settled && changed && !outdated()) {
    outdated_.store(true, std::memory_order_relaxed);
    LogInfo("credentials_changed", "Kafka certificates or keys have changed");
  }
  last_seen_ = std::move(found);
  last_key_password_ = std::move(key_password);
}

// A file that another process is writing may be missing, empty or incomplete for a moment.
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

// Identity and not content: comparing keys would keep private keys in memory.
std::vector<std::optional<CredentialWatch::Identity>> CredentialWatch::Identities() {
  std::vector<std::optional<Identity>> found;
  for (const std::string& path : files_.certificates) {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) {
      found.push_back(std::nullopt);
      continue;
    }
    found.push_back(
        Identity{.device = info.st_dev,
                 .inode = info.st_ino,
                 .size = info.st_size,
                 .modified_ns = info.st_mtim.tv_sec * 1'000'000'000 + info.st_mtim.tv_nsec});
  }
  return found;
}

void CredentialWatch::NoteUnreadable(const absl::Status& error) {
  if (unreadable_.ok()) {
    unreadable_ = error;
  }
}

}  // namespace walrelay
