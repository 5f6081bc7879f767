// KafkaDiagnosis: the SinkDiagnosis of a pipeline that publishes to Kafka.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "findings/sink_diagnosis.h"
#include "sinks/kafka/topics/topic_info.h"

namespace walrelay {

struct Config;

class KafkaDiagnosis final : public SinkDiagnosis {
 public:
  // Both must outlive it.
  KafkaDiagnosis(const Config& config, Findings& out) : config_(config), out_(out) {}

  bool CheckTopics(Depth depth) override;
  std::optional<Progress> CheckProgress(const std::optional<SourceInfo>& source,
                                        Depth depth) override;
  void CheckRetention(std::optional<Micros> oldest) override;
  void CheckTransactions(std::string_view database, Depth depth) override;
  void CheckWriting(const std::string& topic) override;
  void CheckLibrary() override;

 private:
  const Config& config_;
  Findings& out_;
  std::vector<TopicInfo> topics_;  // that were checked
};

}  // namespace walrelay
