// PendingMessages: messages received from libpq and not yet consumed, oldest first.
//
// Each message stays in the buffer that libpq allocated for it, so that it is not copied. Memory is
// bounded by the messages pending at once, even if the queue is never empty: consumed entries are
// erased when they are more than half, which costs at most one move per message.
//
// Not thread-safe. Allocates only when more messages are pending than ever before.
#pragma once

#include <libpq-fe.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/check.h"

namespace walrelay {

class PendingMessages {
 public:
  struct PqFree {
    void operator()(char* buffer) const { PQfreemem(buffer); }
  };
  using Buffer = std::unique_ptr<char, PqFree>;

  // REQUIRES: `buffer` has at least `length` bytes. Takes it.
  void Add(Buffer buffer, size_t length) {
    // The vectors grow together: the view of a message has the same index as its buffer.
    messages_.emplace_back(buffer.get(), length);
    buffers_.push_back(std::move(buffer));
    bytes_ += length;
  }

  // The views are valid until Consume() or Clear().
  std::span<const std::string_view> all() const { return std::span(messages_).subspan(consumed_); }
  size_t size() const { return messages_.size() - consumed_; }
  size_t bytes() const { return bytes_; }
  // The number of entries in memory, including consumed ones.
  size_t entries() const { return messages_.size(); }

  void Consume(size_t count) {
    WR_CHECK(count <= size(), "count is at most the number of pending messages");
    for (const size_t end = consumed_ + count; consumed_ < end; ++consumed_) {
      bytes_ -= messages_[consumed_].size();
      buffers_[consumed_].reset();
    }
    if (consumed_ > messages_.size() / 2) {
      const auto consumed = static_cast<std::ptrdiff_t>(consumed_);
      messages_.erase(messages_.begin(), messages_.begin() + consumed);
      buffers_.erase(buffers_.begin(), buffers_.begin() + consumed);
      consumed_ = 0;
    }
  }

  void Clear() { Consume(size()); }

 private:
  std::vector<Buffer> buffers_;
  std::vector<std::string_view> messages_;  // views of buffers_
  size_t consumed_ = 0;                     // of both, from the front
  size_t bytes_ = 0;
};

}  // namespace walrelay
