// CredentialWatch: keeps a client's password and certificates up to date with the files.
//
// Credentials are rotated while the relay runs: Kubernetes and Vault replace the files by rename or
// symbolic link. A changed password is passed to the client, which uses it for its next login. A
// changed certificate or key cannot be passed to the client: the client is then outdated. A file
// that is temporarily missing or unreadable changes nothing; it is checked again.
//
// Threads: the watch has its own thread, because files may be on a file system that hangs. All
// methods must be called from one thread, that of the client's owner.
#pragma once

#include <librdkafka/rdkafka.h>
#include <sys/stat.h>

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/worker_thread.h"
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
  // The credentials with which a client was, or will be, created.
  struct Credentials {
    std::string username;
    Secret password;
    Secret key_password;
  };

  // Records the current state of the certificates: call it before the client reads them. The files
  // are checked every `interval`. Starts no thread if there are no files.
  CredentialWatch(CredentialFiles files, Credentials present, Micros interval);
  // Waits for the current check: as long as the file system hangs.
  ~CredentialWatch();

  CredentialWatch(const CredentialWatch&) = delete;
  CredentialWatch& operator=(const CredentialWatch&) = delete;

  // `client` must outlive the watch. Call it once.
  void Start(rd_kafka_t* client);
  // Starts no further check; does not wait.
  void Stop() { worker_.Stop(); }
  // Checks the files now, after a refused login.
  // Does not wait for the check. A repeated call before it is merged with it.
  void CheckNow() { worker_.Wake(); }

  // A certificate, a key or a key's password has changed, and was the same in two consecutive
  // checks.
  bool outdated() const { return outdated_.load(std::memory_order_relaxed); }
  // Whether the client was given another password since the last call.
  bool TakePasswordChange() { return password_changed_.exchange(false, std::memory_order_relaxed); }

 private:
  // The attributes that change when a file is replaced. The content is not kept: it may be a
  // private key. Links are followed, as Kubernetes mounts a secret behind two of them.
  struct Identity {
    dev_t device = 0;
    ino_t inode = 0;
    off_t size = 0;
    int64_t modified_ns = 0;

    friend bool operator==(const Identity&, const Identity&) = default;
  };

  // The body of the thread: a check per interval, or at once after CheckNow().
  void Run();
  void CheckForChanges();
  // Each compares one kind of file with what the client has.
  void CheckPassword();
  void CheckCertificates();
  // nullopt: temporarily unreadable, which is logged once.
  std::optional<Secret> Read(const std::string& path);
  std::vector<std::optional<Identity>> Identities();
  // Remembers the first problem of a check, for one log line.
  void NoteUnreadable(const absl::Status& error);

  const CredentialFiles files_;
  const Micros interval_;
  rd_kafka_t* client_ = nullptr;

  // Used by the watch's thread only, once it runs.
  Credentials present_;
  // State of the certificate files when the client read them
  std::vector<std::optional<Identity>> original_;
  std::vector<std::optional<Identity>> last_seen_;  // state at the last check
  std::optional<Secret> last_key_password_;
  // Unreadable files are logged when that begins and when it ends.
  absl::Status unreadable_;  // already logged

  std::atomic<bool> outdated_{false};
  std::atomic<bool> password_changed_{false};
  WorkerThread worker_;  // last
};

}  // namespace walrelay
