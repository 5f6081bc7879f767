// SinkFactory: everything that walrelay uses of the system it publishes to.
//
// A kind of sink implements this interface in a folder of its own (src/sinks/), and has a line in
// the registry. No other code knows which kind a pipeline publishes to.
//
// Threads: a factory is used on one thread. It must outlive what it has made, and the configuration
// that it was made for must outlive the factory.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "walrelay/clock.h"
#include "walrelay/progress.h"
#include "walrelay/sink.h"

namespace walrelay {

// The wishes of the owner of sinks, besides the configuration. The callbacks may be empty, and are
// called inside Poll(). They are copied into each client, and destroyed with it.
struct SinkOptions {
  bool delivery_details = false;  // fill the headers of a Delivery
  // Log a topic that deletes the first record of a sink at once, because of its time.
  bool warn_of_deletion = false;
  // Clients that are no longer used end on threads of their own: see WaitForClients().
  bool close_in_background = false;
  std::function<void()> on_partitions_changed;
  std::function<void()> on_topic_created;
};

struct ProgressOptions {
  int stop_fd = -1;  // a call returns early when it is readable; -1: never
  // How long a call waits for brokers that send nothing.
  Micros patience = std::chrono::seconds(20);
  // How long Write() waits for the acknowledgement, at most twice.
  Micros write_timeout = std::chrono::seconds(30);
  // Called about once a second while a call waits, on the caller's thread; may be empty.
  std::function<void()> alive;
};

// The client library of a kind of sink, as it is loaded.
struct SinkLibrary {
  std::string name;  // "librdkafka"
  std::string version;
};

class SinkFactory {
 public:
  // Gets the name of an option, and the error of its value.
  using OnInvalid = std::function<void(std::string option, const absl::Status& error)>;

  virtual ~SinkFactory() = default;

  virtual SinkLibrary library() const = 0;

  // Passes on every error of the sink's options that only the library and the files of this machine
  // can tell. Reads the files that the configuration names, but connects to nothing and runs no
  // command.
  virtual void CheckOffline(const OnInvalid& on_invalid) const = 0;

  // Creates a sink. Does not wait for a broker; an error is one of the configuration. Reads the
  // files with secrets, so that each sink uses their current contents.
  virtual absl::StatusOr<std::unique_ptr<Producer>> Make(const ProducerRequest& request) = 0;

  // Opens the progress topics. Connects to nothing yet.
  virtual std::unique_ptr<ProgressTopic> OpenProgress(ProgressOptions options) = 0;

  // Waits until all clients that end in the background have ended, at most `timeout`. False: some
  // have not.
  virtual bool WaitForClients(Micros timeout) = 0;
};

}  // namespace walrelay
