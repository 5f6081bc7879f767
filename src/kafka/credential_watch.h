// CredentialWatch: keeps a client's password and certificates as they are on disk.
//
// Supervisors rotate them while the relay runs: Kubernetes and Vault replace the files by rename or
// symbolic link. A changed password is given to the client, which uses it for its next login. A
// changed certificate or key cannot be: then the client is outdated. A file that is missing or
// unreadable for the moment changes nothing; it is looked at again.
//
// Threads: it has one of its own, because files may be on a file system that hangs. All methods
// from one thread, that of the client's owner.
#pragma once

#include <librdkafka/rdkafka.h>
#include <sys/stat.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "walrelay/clock.h"
#include "walrelay/secret.h"

namespace walrelay {

// The files with a client's credentials.
struct CredentialFiles {
  std::string password;                   // "": none
  std::string key_password;               // of the TLS key. "": none
  std::vector<std::string> certificates;  // certificates, authorities and keys

  bool empty() const { return password.empty() && key_password.empty() && certificates.empty(); }
};

class CredentialWatch {
 public:
  // What a client was, or will be, created with.
  struct Credentials {
    std::string username;
    Secret password;
    Secret key_password;
  };

  // Remembers the certificates as they are now: to be called before the client reads them. The
  // files are looked at each `interval`. Takes no thread where there are no files.
  CredentialWatch(CredentialFiles files, Credentials present, Micros interval);
  // Waits for the look under way: for as long as the file system hangs.
  ~CredentialWatch();

  CredentialWatch(const CredentialWatch&) = delete;
  CredentialWatch& operator=(const CredentialWatch&) = delete;

  // `client` must outlive the watch. Once.
  void Start(rd_kafka_t* client);
  // Begins no further look; does not wait.
  void Stop();
  // Looks now: a login was refused.
  void LookNow();

  // A certificate, a key or a key's password has changed, and has been the same for two looks.
  bool outdated() const { return outdated_.load(std::memory_order_relaxed); }
  // Whether the client was given another password since the last call.
  bool TakePasswordChange() { return password_changed_.exchange(false, std::memory_order_relaxed); }

 private:
  struct Identity {
    dev_t device = 0;
    ino_t inode = 0;
    off_t size = 0;
    int64_t modified_ns = 0;

    friend bool operator==(const Identity&, const Identity&) = default;
  };

  void Run();
  void Look();
  void LookAtPassword();
  void LookAtCertificates();
  // nullopt: it cannot be read for the moment, which is logged once.
  std::optional<Secret> Read(const std::string& path);
  std::vector<std::optional<Identity>> Identities();
  void NoteUnreadable(const absl::Status& error);

  const CredentialFiles files_;
  const Micros interval_;
  rd_kafka_t* client_ = nullptr;

  // Of the watch's thread, once it runs.
  Credentials present_;
  std::vector<std::optional<Identity>> original_;   // the certificates, as the client read them
  std::vector<std::optional<Identity>> last_seen_;  // when last looked at
  std::optional<Secret> last_key_password_;
  absl::Status unreadable_;  // logged already

  std::atomic<bool> outdated_{false};
  std::atomic<bool> password_changed_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;  // guarded by mutex_
  bool look_now_ = false;  // guarded by mutex_
  std::thread thread_;     // last: starts when all else is there
};

}  // namespace walrelay
