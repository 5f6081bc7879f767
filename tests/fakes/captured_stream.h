// Captures everything written to standard output or standard error during its lifetime.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "base/unique_fd.h"

namespace walrelay::testing {

class CapturedStream {
 public:
  // `stream`: stdout or stderr.
  explicit CapturedStream(FILE* stream)
      : stream_(stream), captured_(::memfd_create("captured", MFD_CLOEXEC)) {
    std::fflush(stream_);
    before_.reset(::dup(fileno(stream_)));
    EXPECT_GE(::dup2(captured_.get(), fileno(stream_)), 0);
  }
  CapturedStream(const CapturedStream&) = delete;
  CapturedStream& operator=(const CapturedStream&) = delete;
  ~CapturedStream() {
    std::fflush(stream_);
    ::dup2(before_.get(), fileno(stream_));
  }

  // Everything written so far.
  std::string Text() const {
    std::fflush(stream_);
    std::string text(static_cast<size_t>(::lseek(captured_.get(), 0, SEEK_CUR)), '\0');
    EXPECT_EQ(::pread(captured_.get(), text.data(), text.size(), 0),
              static_cast<ssize_t>(text.size()));
    return text;
  }

 private:
  FILE* stream_;
  UniqueFd captured_;
  UniqueFd before_;
};

}  // namespace walrelay::testing
