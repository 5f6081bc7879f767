// A named pipe of one page with a writer that writes more: no single read() returns all of it.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <fstream>
#include <string>
#include <thread>
#include <utility>

#include "base/unique_fd.h"

namespace walrelay::testing {

class SlowPipe {
 public:
  // The pipe must be read to the end.
  SlowPipe(std::string path, std::string content)
      : path_(std::move(path)), content_(std::move(content)) {
    EXPECT_EQ(::mkfifo(path_.c_str(), 0600), 0);
    thread_ = std::thread([this] { Write(); });
  }
  SlowPipe(const SlowPipe&) = delete;
  SlowPipe& operator=(const SlowPipe&) = delete;
  ~SlowPipe() { thread_.join(); }

  const std::string& path() const { return path_; }

 private:
  void Write() const {
    constexpr int kPage = 4096;
    sigset_t pipe_signal;  // if the reader closes early, write() returns EPIPE
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe_signal, nullptr);
    const UniqueFd pipe(::open(path_.c_str(), O_WRONLY | O_CLOEXEC));
    EXPECT_EQ(::fcntl(pipe.get(), F_SETPIPE_SZ, kPage), kPage);
    EXPECT_EQ(::write(pipe.get(), content_.data(), content_.size()),
              static_cast<ssize_t>(content_.size()));
  }

  const std::string path_;
  const std::string content_;
  std::thread thread_;
};

}  // namespace walrelay::testing
