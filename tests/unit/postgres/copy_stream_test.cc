// CopyStream over real libpq, against a server that sends a stream from the test.

#include "postgres/copy_stream.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <string>
#include <thread>

#include "base/unique_fd.h"
#include "fakes/pgoutput_writer.h"
#include "fakes/status_matchers.h"
#include "fakes/temporary_directory.h"

namespace walrelay {
namespace {

using testing::ByteWriter;

// The protocol's framing: a type, a length that counts itself, a body.
std::string Packet(char type, std::string_view body) {
  return ByteWriter().Put(type).Put(static_cast<uint32_t>(body.size() + 4)).PutBytes(body).Take();
}

// Accepts one connection, answers its first query with CopyBothResponse, and sends `stream`.
class OneStreamServer {
 public:
  explicit OneStreamServer(std::string stream) : stream_(std::move(stream)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = directory_.path() + "/.s.PGSQL.5432";
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    listener_ = UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(::listen(listener_.get(), 1), 0);
    thread_ = std::thread([this] { Serve(); });
  }
  ~OneStreamServer() { thread_.join(); }

  const std::string& directory() const { return directory_.path(); }

 private:
  void Serve() {
    const UniqueFd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    ReadPacket(client.get(), /*typed=*/false);
    Write(client.get(), Packet('R', std::string(4, '\0')) + Packet('Z', "I"));
    ReadPacket(client.get(), /*typed=*/true);
    Write(client.get(), Packet('W', std::string(3, '\0')) + stream_);
    char byte = 0;
    while (::read(client.get(), &byte, 1) > 0) {  // until the client disconnects
    }
  }
  static void ReadPacket(int fd, bool typed) {
    std::array<char, 5> head{};
    const size_t size = typed ? 5 : 4;
    ASSERT_EQ(::recv(fd, head.data(), size, MSG_WAITALL), static_cast<ssize_t>(size));
    std::string body(LoadBigEndian<uint32_t>(&head[size - 4]) - 4, '\0');
    ASSERT_EQ(::recv(fd, body.data(), body.size(), MSG_WAITALL), static_cast<ssize_t>(body.size()));
  }
  static void Write(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t written = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (written <= 0) {
        return;  // the client has disconnected
      }
      bytes.remove_prefix(static_cast<size_t>(written));
    }
  }

  testing::TemporaryDirectory directory_;
  const std::string stream_;
  UniqueFd listener_;
  std::thread thread_;
};

class CopyStreamTest : public ::testing::Test {
 protected:
  void Connect(std::string stream) {
    server_.emplace(std::move(stream));
    auto connection = PgConnection::Connect(
        {{"host", server_->directory()}, {"user", "u"}, {"sslmode", "disable"}},
        Transport::kVerified, std::chrono::seconds(30), -1);
    ASSERT_THAT(connection, IsOk());
    connection_ = std::move(*connection);
    ASSERT_THAT(connection_->Query("START_REPLICATION", std::chrono::seconds(30)).status(), IsOk());
    stream_.emplace(*connection_);
    ASSERT_THAT(stream_->Start(), IsOk());
  }
  // A stream of `messages` messages with `bytes` bytes each.
  static std::string Stream(size_t messages, size_t bytes) {
    std::string stream;
    for (size_t i = 0; i < messages; ++i) {
      stream += Packet('d', std::string(bytes, 'x'));
    }
    return stream;
  }
  // Waits as the event loop does. Returns false if no more data arrives.
  bool Wait(int millis) {
    if (stream_->more_has_arrived()) {
      return true;
    }
    pollfd wanted{connection_->socket(), POLLIN, 0};
    return ::poll(&wanted, 1, millis) > 0;
  }

  std::optional<OneStreamServer> server_;  // its destructor waits until the connection is closed
  std::optional<PgConnection> connection_;
  std::optional<CopyStream> stream_;
};

// poll() does not report data that libpq has already read from the socket.
TEST_F(CopyStreamTest, NoReceivedMessageIsLostAtTheLimit) {
  constexpr size_t kMessages = 2000;
  constexpr size_t kLimit = 1000;
  Connect(Stream(kMessages, 100));
  size_t received = 0;
  bool stopped_at_the_limit = false;
  while (received < kMessages) {
    // The server may still be writing. Data that libpq holds is available at once.
    ASSERT_TRUE(Wait(10'000)) << received;
    ASSERT_THAT(stream_->Receive(kLimit).status(), IsOk());
    EXPECT_LT(stream_->pending().size(), kLimit / 100 + 1);
    stopped_at_the_limit = stopped_at_the_limit || stream_->more_has_arrived();
    received += stream_->pending().size();
    stream_->Consume(stream_->pending().size());
  }
  EXPECT_TRUE(stopped_at_the_limit);
  ASSERT_THAT(stream_->Receive(kLimit).status(), IsOk());
  EXPECT_TRUE(stream_->pending().empty());
  EXPECT_FALSE(stream_->more_has_arrived());
}

TEST_F(CopyStreamTest, NothingIsReceivedBeyondTheLimitBeforeConsumption) {
  Connect(Stream(100, 100));
  while (stream_->pending().size() < 10) {
    ASSERT_TRUE(Wait(10'000));
    ASSERT_THAT(stream_->Receive(1000).status(), IsOk());
  }
  for (int i = 0; i < 3; ++i) {
    ASSERT_THAT(stream_->Receive(1000).status(), IsOk());
    EXPECT_EQ(stream_->pending().size(), 10u);
  }
}

}  // namespace
}  // namespace walrelay
