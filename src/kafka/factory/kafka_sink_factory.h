// KafkaSinkFactory: the SinkFactory of a pipeline that publishes to Kafka.
#pragma once

#include <memory>
#include <utility>

#include "kafka/client/reaper.h"
#include "walrelay/config.h"
#include "walrelay/sink_factory.h"

namespace walrelay {

class KafkaSinkFactory final : public SinkFactory {
 public:
  // `config` must outlive it.
  KafkaSinkFactory(const Config& config, SinkOptions options)
      : config_(config), options_(std::move(options)) {}

  // librdkafka as it is loaded.
  static SinkLibrary Library();

  SinkLibrary library() const override { return Library(); }
  void CheckOffline(const OnInvalid& on_invalid) const override;
  // Errors: those of MakeProducerConf() and KafkaProducer::Create().
  absl::StatusOr<std::unique_ptr<Producer>> Make(const ProducerRequest& request) override;
  std::unique_ptr<ProgressTopic> OpenProgress(ProgressOptions options) override;
  bool WaitForClients(Micros timeout) override { return reaper_.Wait(timeout); }

 private:
  // nullptr: a client is closed by the thread that drops it.
  Reaper* reaper() { return options_.close_in_background ? &reaper_ : nullptr; }

  const Config& config_;
  const SinkOptions options_;
  Reaper reaper_;
};

}  // namespace walrelay
