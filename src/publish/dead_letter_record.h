// DeadLetterRecord: the record in the dead-letter topic for a row that cannot be published.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "encode/dead_letter.h"
#include "pgoutput/message.h"
#include "pgoutput/relation_cache.h"
#include "route/router.h"
#include "walrelay/record.h"

namespace walrelay {

struct Config;

class DeadLetterRecord {
 public:
  // Copies what it needs of `reason` and `row`; `router` is used during the call only. REQUIRES:
  // !reason.ok(); the configuration names the topic; `relation` describes the row's table, which is
  // an outbox table of the router.
  DeadLetterRecord(const Config& config, Router& router, const absl::Status& reason,
                   const pgoutput::CachedRelation& relation, pgoutput::Tuple row,
                   const DeadLetterPosition& position);

  DeadLetterRecord(const DeadLetterRecord&) = delete;
  DeadLetterRecord& operator=(const DeadLetterRecord&) = delete;

  // Views of this object and of the configuration.
  Record record() const;

 private:
  const std::string& topic_;
  const std::string code_;
  const std::string message_;
  const std::optional<WallTime> timestamp_;  // as for events: not the commit time with "now"
  std::optional<std::string> key_;
  std::string value_;
  std::array<Header, 2> headers_;
};

}  // namespace walrelay
