// SimProgressTopic: reads the progress topic for a relay, and writes to it outside of producers.
//
// Blocks as the real one does, while the simulation continues. A record that is appended meanwhile
// is read as well.
#pragma once

#include <optional>
#include <string>

#include "context.h"
#include "relay_host.h"
#include "sim_kafka.h"
#include "sim_source.h"
#include "walrelay/progress.h"

namespace walrelay::sim {

class SimProgressTopic final : public ProgressTopic {
 public:
  // All must outlive it.
  SimProgressTopic(Context& context, SimKafka& kafka, const Network& network, RelayHost& host,
                   SimSource& source)
      : context_(context), kafka_(kafka), network_(network), host_(host), source_(source) {}

  absl::StatusOr<ProgressReading> Read(const ProgressAddress& address) override;
  absl::StatusOr<bool> IsSettled(const std::string& topic) override;
  absl::Status Write(const ProgressAddress& address, const Progress& record) override;

 private:
  // Waits for the brokers.
  absl::Status Ask(const std::string& topic);

  Context& context_;
  SimKafka& kafka_;
  const Network& network_;
  RelayHost& host_;
  SimSource& source_;
};

}  // namespace walrelay::sim
