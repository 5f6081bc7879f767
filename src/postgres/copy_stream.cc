#include "postgres/copy_stream.h"

#include <openssl/ssl.h>
#include <poll.h>
#include <sys/ioctl.h>

#include "base/process_memory.h"
#include "postgres/pg_error.h"
#include "walrelay/error.h"

namespace walrelay {

// From here on no call of libpq waits for the socket.
absl::Status CopyStream::Start() {
  return PQsetnonblocking(connection_.get(), 1) == 0 ? absl::OkStatus() : Lost();
}

absl::Status CopyStream::Lost() const {
  return Error(ErrorCode::kConnectionLost, Readable(PQerrorMessage(connection_.get())));
}

// One call of PQconsumeInput() reads only as much as fits into libpq's buffer, a few dozen rows, so
// it is called until the socket and OpenSSL have no more data. A large row may need many calls
// before there is a message, which libpq does not report; FIONREAD tells whether any bytes have
// arrived.
absl::StatusOr<bool> CopyStream::Receive(size_t max_bytes) {
  int waiting = 0;
  const bool any =
      TlsHasMore() || (::ioctl(connection_.socket(), FIONREAD, &waiting) == 0 && waiting > 0);
  Taken taken = TakeBuffered(max_bytes);  // messages left by an earlier call
  // The caller decides whether a large message is read, as soon as its length is known.
  const uint64_t room = message_room_;
  for (bool progress = true; progress && taken == Taken::kNothing && message_room_ == room;) {
    const size_t before = pending_.size();
    if (PQconsumeInput(connection_.get()) == 0) {
      taken = Taken::kEnd;
      break;
    }
    taken = TakeBuffered(max_bytes);
    progress = pending_.size() != before || TlsHasMore();
  }
  // Stopped by the limit: poll() does not report data that libpq or OpenSSL have buffered.
  more_has_arrived_ = taken == Taken::kMessage;
  if (taken == Taken::kEnd && pending_.size() == 0) {
    return EndOfStream();
  }
  return any;
}

// kMessage: the limit is reached, and there may be more.
CopyStream::Taken CopyStream::TakeBuffered(size_t max_bytes) {
  Taken taken = Taken::kMessage;
  while (taken == Taken::kMessage && pending_.bytes() < max_bytes) {
    taken = TakeMessage();
  }
  return taken;
}

// With async=1, 0 means that no complete message is there yet, -1 the end of the stream, -2 an
// error. libpq does not tell how long a message will be, but it makes room for all of it when it
// has read the header, and allocates nothing else then (getCopyDataMessage() in fe-protocol3.c).
CopyStream::Taken CopyStream::TakeMessage() {
  const uint64_t allocated = AllocatedByThread();
  char* buffer = nullptr;
  const int length = PQgetCopyData(connection_.get(), &buffer, /*async=*/1);
  if (length < 0) {
    return Taken::kEnd;
  }
  if (length == 0) {
    const uint64_t room = AllocatedByThread() - allocated;
    message_room_ = room >= kLargeMessage ? room : message_room_;
    return Taken::kNothing;
  }
  message_room_ = 0;
  // libpq has allocated the buffer for this message; it is owned from here on, and not copied
  // again.
  pending_.Add(PendingMessages::Buffer(buffer), static_cast<size_t>(length));
  return Taken::kMessage;
}

// OpenSSL reads whole TLS records, of which libpq may have consumed only a part.
bool CopyStream::TlsHasMore() const {
  const auto* tls = static_cast<const SSL*>(connection_.tls());
  return tls != nullptr && SSL_pending(tls) > 0;
}

// Why the stream ended: the server's error, its orderly end, or a lost connection.
absl::Status CopyStream::EndOfStream() {
  const PgResult result(PQgetResult(connection_.get()));
  if (result.get() == nullptr || PQresultStatus(result.get()) != PGRES_FATAL_ERROR) {
    return Error(ErrorCode::kConnectionLost, "the server ended the stream");
  }
  return StreamError(connection_.get(), result.get());
}

// OK if the server ended the stream with CopyDone: then it has read everything that was sent. Later
// messages may still be in transit; they are not awaited.
absl::Status CopyStream::OrderOfEnd() {
  PGconn* const connection = connection_.get();
  if (PQstatus(connection) != CONNECTION_OK) {
    return Lost();
  }
  const PgResult result(PQisBusy(connection) != 0 ? nullptr : PQgetResult(connection));
  const bool failed = result.get() != nullptr && PQresultStatus(result.get()) == PGRES_FATAL_ERROR;
  return failed ? StreamError(connection, result.get()) : absl::OkStatus();
}

// A status update is 34 bytes. When the socket is full it stays in libpq's buffer until Flush().
absl::Status CopyStream::Send(std::string_view message) {
  if (PQputCopyData(connection_.get(), message.data(), static_cast<int>(message.size())) < 0) {
    return Lost();
  }
  return Flush();
}

absl::Status CopyStream::Flush() {
  const int unsent = PQflush(connection_.get());
  wants_write_ = unsent > 0;
  return unsent < 0 ? Lost() : absl::OkStatus();
}

// The server answers CopyDone only after it has processed what came before it, the last status
// update included. Until then it may send any amount of data, which is read and discarded: a server
// that cannot write does not read either.
absl::Status CopyStream::Finish(Micros timeout) {
  pending_.Clear();
  if (PQputCopyEnd(connection_.get(), nullptr) < 0) {
    return Lost();
  }
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (std::chrono::steady_clock::now() < deadline) {
    WR_RETURN_IF_ERROR(Flush());
    Taken taken = TakeMessage();
    while (taken == Taken::kMessage) {
      pending_.Clear();
      taken = TakeMessage();
    }
    if (taken == Taken::kEnd) {
      return OrderOfEnd();
    }
    pollfd polled{connection_.socket(), static_cast<short>(POLLIN | (wants_write_ ? POLLOUT : 0)),
                  0};
    constexpr int kLookAgainMillis = 50;
    const bool ready = TlsHasMore() || ::poll(&polled, 1, kLookAgainMillis) > 0;
    if (ready && PQconsumeInput(connection_.get()) == 0) {
      return Lost();
    }
  }
  return Error(ErrorCode::kConnectionLost, "the server did not end the stream in time");
}

}  // namespace walrelay
