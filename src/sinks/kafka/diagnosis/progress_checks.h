// Checks of pipeline.progress: the progress topic, and what a start would find in it.
#pragma once

#include <cstddef>
#include <optional>

#include "findings/findings.h"
#include "sinks/kafka/topics/topic_info.h"
#include "walrelay/progress.h"
#include "walrelay/replication_source.h"

namespace walrelay {

struct KafkaConfig;
struct PipelineConfig;
struct SourceConfig;

// Reads the topic, but neither creates it nor writes to it. Blocks as long as brokers send records.
// `info`: server and slot, as read before the call, because a running relay confirms the slot only
// after it has written the record; nullopt: they are unknown. Then only the topic is checked, and
// only if its name does not depend on the database. REQUIRES: pipeline.progress is not off, and the
// cluster responds. Returns the record of this pipeline, if there is one.
std::optional<Progress> CheckProgress(const SourceConfig& source, const KafkaConfig& kafka,
                                      const PipelineConfig& pipeline,
                                      const std::optional<SourceInfo>& info, Depth depth,
                                      Findings& out);

// --- the parts of CheckProgress() that need no server

// Whether the topic keeps the record when a broker is lost. `brokers`: of the cluster.
void CheckProgressReplicas(const TopicInfo& topic, size_t brokers, Findings& out);

// Checks that the topic stays small, and keeps the newest version of the record.
void CheckProgressSettings(const TopicInfo& topic, Findings& out);

// Reports what the relay would decide about `record` at its start; nullopt: the topic has none.
void CheckProgressRecord(const std::optional<Progress>& record, const SourceConfig& source,
                         const PipelineConfig& pipeline, const SourceInfo& info, Findings& out);

}  // namespace walrelay
