// A library for LD_PRELOAD, for tests/integration/test_internal_errors.py: the thread that reads a
// row with one of these texts from Postgres fails, as with an error of walrelay or of a library.
//
//   fail: abort     calls abort(), as WR_CHECK does
//   fail: address   writes to an invalid address
//   fail: kill      is killed without a report, as for lack of memory

#include <dlfcn.h>
#include <libpq-fe.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string_view>

extern "C" int PQgetCopyData(PGconn* connection, char** buffer, int async) {
  static const auto read =
      reinterpret_cast<decltype(&PQgetCopyData)>(dlsym(RTLD_NEXT, "PQgetCopyData"));
  const int length = read(connection, buffer, async);
  const std::string_view message(length > 0 ? *buffer : "", length > 0 ? size_t(length) : 0);
  if (message.find("fail: abort") != std::string_view::npos) {
    std::abort();
  }
  if (message.find("fail: address") != std::string_view::npos) {
    volatile char* volatile invalid = nullptr;
    *invalid = 0;
  }
  if (message.find("fail: kill") != std::string_view::npos) {
    kill(getpid(), SIGKILL);
  }
  return length;
}
