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
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>

namespace {

constexpr std::chrono::microseconds kPause{500};

[[noreturn]] void Fail(std::string_view why) {
  std::fprintf(stderr, "discard: %.*s\n", static_cast<int>(why.size()), why.data());
  std::exit(1);
}

uint64_t Load(const char* bytes) {
  uint64_t value;
  std::memcpy(&value, bytes, sizeof(value));
  return be64toh(value);
}

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
      : connection_(PQconnectdb((dsn + " replication=database").c_str())) {
    PGresult* started = PQexec(
        connection_, ("START_REPLICATION SLOT " + slot +
                      " LOGICAL 0/0 (proto_version '1', publication_names '" + publication + "')")
                         .c_str());
    if (PQresultStatus(started) != PGRES_COPY_BOTH) {
      Fail(PQerrorMessage(connection_));
    }
    PQclear(started);
  }
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
    read_ = Load(message + 1);
    if (message[0] == 'k' && message[17] != 0) {
      Reply();
    }
  }

  // 'r', written, flushed, applied, time, whether a reply is requested. Confirms nothing.
  void Reply() {
    char status[34] = {'r'};
    if (PQputCopyData(connection_, status, sizeof(status)) != 1 || PQflush(connection_) != 0) {
      Fail(PQerrorMessage(connection_));
    }
  }

  PGconn* const connection_;
  uint64_t read_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    Fail("usage: discard DSN SLOT PUBLICATION END");
  }
  Discard(argv[1], argv[2], argv[3]).ReadUntil(ParseLsn(argv[4]));
}
