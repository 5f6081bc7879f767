// discard: reads a slot's stream and discards it: what the walsender can send.
//
// pg_recvlogical does the same, but it wakes up for each message, which takes CPU time from the
// walsender. This reader sleeps between two reads, so that messages accumulate.
//
// This is a tool of the benchmark and shares no code with the relay.
//
// Usage: discard DSN SLOT PUBLICATION END, the position after which it exits

#include <endian.h>
#include <libpq-fe.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <thread>

#include "replication.h"

namespace {

using walrelay::bench::Fail;
using walrelay::bench::Load;

constexpr std::chrono::microseconds kPause{500};

uint64_t ParseLsn(const char* text) {
  unsigned int high = 0;
  unsigned int low = 0;
  if (std::sscanf(text, "%X/%X", &high, &low) != 2) {
    Fail("END: expected a WAL position such as 0/16B3748");
  }
  return uint64_t{high} << 32 | low;
}

class Discard {
 public:
  Discard(const std::string& dsn, const std::string& slot, const std::string& publication)
      : connection_(walrelay::bench::StartStream(dsn, slot, publication)) {}
  ~Discard() { PQfinish(connection_); }

  void ReadUntil(uint64_t end) {
    while (read_ < end) {
      std::this_thread::sleep_for(kPause);
      while (ReadBuffer()) {
      }
    }
  }

 private:
  // libpq reads as much as its buffer holds. False: nothing has arrived.
  bool ReadBuffer() {
    if (PQconsumeInput(connection_) == 0) {
      Fail(PQerrorMessage(connection_));
    }
    char* message = nullptr;
    int size = 0;
    bool found = false;
    while ((size = PQgetCopyData(connection_, &message, /*async=*/1)) > 0) {
      Handle(message);
      PQfreemem(message);
      found = true;
    }
    if (size < 0) {
      Fail(PQerrorMessage(connection_));
    }
    return found;
  }

  // 'w', start, end, time, data; or 'k', end, time, whether a reply is requested.
  void Handle(const char* message) {
    read_ = be64toh(Load<uint64_t>(message + 1));
    if (message[0] == 'k' && message[17] != 0) {
      walrelay::bench::SendStatus(connection_, 0);
    }
  }

  PGconn* const connection_;
  uint64_t read_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    Fail("usage: DSN SLOT PUBLICATION END");
  }
  Discard(argv[1], argv[2], argv[3]).ReadUntil(ParseLsn(argv[4]));
}
