#include "http/connection_table.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <deque>
#include <string>
#include <vector>

#include "base/unique_fd.h"

namespace walrelay {
namespace {

using std::chrono::seconds;

class ConnectionTableTest : public ::testing::Test {
 protected:
  // Adds a connection and returns the server's end. The fixture keeps the peer's end.
  int Connect(const std::string& peer) {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    sockets_.emplace_back(ends[0]);
    peers_.emplace_back(ends[1]);
    table_.Add(ends[0], peer, now_);
    now_ += Micros(1);
    return ends[0];
  }
  // The numbers of the connections that were shut down.
  std::vector<size_t> Ended() const {
    std::vector<size_t> ended;
    for (size_t i = 0; i < peers_.size(); ++i) {
      char byte = 0;
      if (::recv(peers_[i].get(), &byte, 1, 0) == 0) {
        ended.push_back(i);
      }
    }
    return ended;
  }
  using Numbers = std::vector<size_t>;

  MonoTime now_;
  ConnectionTable table_{{.connections = 4, .of_one_peer = 2, .lifetime = seconds(10)}};
  std::deque<UniqueFd> sockets_;
  std::deque<UniqueFd> peers_;
};

TEST_F(ConnectionTableTest, OldestConnectionOfAPeerIsEvicted) {
  Connect("a");
  Connect("b");
  Connect("a");
  EXPECT_EQ(Ended(), Numbers());
  Connect("a");
  EXPECT_EQ(Ended(), Numbers{0});
  Connect("a");
  EXPECT_EQ(Ended(), (Numbers{0, 2}));
}

TEST_F(ConnectionTableTest, OldestConnectionOfAllIsEvicted) {
  for (const char* peer : {"a", "b", "c", "d", "e", "f"}) {
    Connect(peer);
  }
  EXPECT_EQ(Ended(), (Numbers{0, 1}));
}

TEST_F(ConnectionTableTest, ClosedConnectionsDoNotCount) {
  for (int i = 0; i < 20; ++i) {
    table_.Remove(Connect("a"));
  }
  Connect("a");
  Connect("a");
  EXPECT_EQ(Ended(), Numbers());
  table_.Remove(12345);
}

TEST_F(ConnectionTableTest, EachConnectionHasItsOwnDeadline) {
  EXPECT_EQ(table_.NextDeadline(), std::nullopt);
  const MonoTime start = now_;
  Connect("a");
  now_ = start + seconds(4);
  const int second = Connect("b");
  EXPECT_EQ(table_.NextDeadline(), start + seconds(10));
  table_.EndOverdue(start + seconds(10) - Micros(1));
  EXPECT_EQ(Ended(), Numbers());
  table_.EndOverdue(start + seconds(10));
  EXPECT_EQ(Ended(), Numbers{0});
  EXPECT_EQ(table_.NextDeadline(), start + seconds(14));  // even before the first is removed
  table_.Remove(second);
  EXPECT_EQ(table_.NextDeadline(), std::nullopt);
}

}  // namespace
}  // namespace walrelay
