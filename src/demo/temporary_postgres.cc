#include "demo/temporary_postgres.h"

#include <fmt/format.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "postgres/connection.h"
#include "postgres/connection_parameters.h"
#include "postgres/session.h"
#include "walrelay/config/source.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kStartTimeout{30};

bool IsServer(const fs::path& directory) {
  return ::access((directory / "initdb").c_str(), X_OK) == 0 &&
         ::access((directory / "postgres").c_str(), X_OK) == 0;
}

// Debian installs each major version in its own directory, which is not in the PATH.
std::vector<fs::path> Candidates() {
  std::vector<fs::path> out;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/usr/lib/postgresql", ignored)) {
    out.push_back(entry.path() / "bin");
  }
  // The newest first: 18 before 9.6, which is not the order of the text.
  std::sort(out.begin(), out.end(), [](const fs::path& a, const fs::path& b) {
    const auto major = [](const fs::path& bin) {
      return std::strtol(bin.parent_path().filename().c_str(), nullptr, 10);
    };
    return major(a) > major(b);
  });
  std::string_view path = std::getenv("PATH") != nullptr ? std::getenv("PATH") : "";
  while (!path.empty()) {
    const size_t colon = std::min(path.find(':'), path.size());
    out.emplace_back(path.substr(0, colon));
    path.remove_prefix(std::min(colon + 1, path.size()));
  }
  return out;
}

// The first directory that has both programs: initdb and server must be of the same version.
absl::StatusOr<std::string> FindBinaries() {
  for (const fs::path& directory : Candidates()) {
    if (IsServer(directory)) {
      return directory.string();
    }
  }
  return Error(
      ErrorCode::kDemoFailed, "found no Postgres server on this host",
      "apt-get install postgresql, or use an existing server: walrelay demo --postgres DSN");
}

// The path of a socket is limited to 107 bytes, so the directory has a short path.
absl::StatusOr<std::string> MakeDirectory(uid_t user, gid_t group) {
  std::string path = "/tmp/walrelay-demo-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr || (user != 0 && ::chown(path.c_str(), user, group) != 0)) {
    return Error(ErrorCode::kDemoFailed, fmt::format("{}: {}", path, std::strerror(errno)));
  }
  return path;
}

// The last line of a log usually names the cause; "" if there is no file.
std::string LastLines(const std::string& file) {
  std::ifstream in(file);
  std::string line;
  std::string last;
  while (std::getline(in, line)) {
    last = line;
  }
  return last;
}

}  // namespace

absl::StatusOr<std::unique_ptr<TemporaryPostgres>> TemporaryPostgres::Start() {
  WR_ASSIGN_OR_RETURN(const std::string binaries, FindBinaries());
  std::unique_ptr<TemporaryPostgres> postgres(new TemporaryPostgres());
  // The server refuses to run as root.
  if (::geteuid() == 0) {
    const passwd* account = ::getpwnam("postgres");
    account = account != nullptr ? account : ::getpwnam("nobody");
    if (account == nullptr) {
      return Error(ErrorCode::kDemoFailed,
                   "Postgres cannot run as root, and user postgres does not exist");
    }
    postgres->user_ = account->pw_uid;
    postgres->group_ = account->pw_gid;
  }
  WR_ASSIGN_OR_RETURN(postgres->directory_, MakeDirectory(postgres->user_, postgres->group_));
  WR_RETURN_IF_ERROR(postgres->Initialise(binaries));
  WR_RETURN_IF_ERROR(postgres->Launch(binaries));
  WR_RETURN_IF_ERROR(postgres->WaitUntilReady());
  return postgres;
}

TemporaryPostgres::~TemporaryPostgres() {
  if (server_ != nullptr) {
    // Postgres documentation, "Shutting Down the Server": SIGTERM would wait for the sessions.
    server_->Signal(SIGQUIT);  // immediate shutdown: the cluster is removed anyway
    server_->Wait();
  }
  std::error_code ignored;
  if (!directory_.empty()) {
    fs::remove_all(directory_, ignored);
  }
}

std::string TemporaryPostgres::dsn() const {
  return fmt::format("host={} port=5432 user=postgres dbname=postgres", directory_);
}

ChildProcess::Options TemporaryPostgres::AsServer(std::vector<std::string> arguments) const {
  return {.arguments = std::move(arguments),
          .environment = {},
          .error_file = directory_ + "/server.log",
          .capture_output = true,
          .user = user_,
          .group = group_};
}

absl::Status TemporaryPostgres::Initialise(const std::string& binaries) {
  // --no-sync: a temporary cluster need not survive a power failure. It affects only initdb, not
  // the durability settings of the server.
  WR_ASSIGN_OR_RETURN(
      ChildProcess initdb,
      ChildProcess::Start(AsServer({binaries + "/initdb", "-D", directory_ + "/data", "-A", "trust",
                                    "-U", "postgres", "-E", "UTF8", "--no-locale", "--no-sync"})));
  // Until the end of the output: a full pipe would block initdb.
  char discarded[4096];
  while (::read(initdb.output(), discarded, sizeof(discarded)) > 0) {
  }
  if (initdb.Wait() != 0) {
    return Error(ErrorCode::kDemoFailed,
                 fmt::format("initdb: {}", LastLines(directory_ + "/server.log")));
  }
  return absl::OkStatus();
}

absl::Status TemporaryPostgres::Launch(const std::string& binaries) {
  std::vector<std::string> arguments = {binaries + "/postgres", "-D", directory_ + "/data"};
  // No TCP: the socket is in a directory that only this user can enter, so "trust" is safe.
  // mmap, because /dev/shm is small in many containers.
  for (const char* setting : {"wal_level=logical", "listen_addresses=", "port=5432",
                              "shared_buffers=32MB", "max_wal_senders=4", "max_replication_slots=4",
                              "max_slot_wal_keep_size=1GB", "dynamic_shared_memory_type=mmap"}) {
    arguments.insert(arguments.end(), {"-c", setting});
  }
  arguments.insert(arguments.end(), {"-c", "unix_socket_directories=" + directory_});
  WR_ASSIGN_OR_RETURN(ChildProcess server, ChildProcess::Start(AsServer(std::move(arguments))));
  server_ = std::make_unique<ChildProcess>(std::move(server));
  return absl::OkStatus();
}

absl::Status TemporaryPostgres::WaitUntilReady() {
  SourceConfig source;
  source.dsn = dsn();
  const auto deadline = std::chrono::steady_clock::now() + kStartTimeout;
  absl::StatusOr<PgConnection> connection = absl::UnavailableError("not tried");
  while (server_->running() && std::chrono::steady_clock::now() < deadline) {
    connection = ConnectTo(source);
    if (connection.ok()) {
      version_ = connection->server_version();
      return absl::OkStatus();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return Error(ErrorCode::kDemoFailed,
               fmt::format("Postgres did not start: {}", LastLines(directory_ + "/server.log")));
}

}  // namespace walrelay
