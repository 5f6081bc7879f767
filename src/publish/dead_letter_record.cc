#include "publish/dead_letter_record.h"

#include "base/check.h"
#include "walrelay/config.h"
#include "walrelay/error.h"

namespace walrelay {

// The row may be here because it is too large. Half of the record limit for its values leaves room
// for the rest, and for its key unless the key itself is too large.
DeadLetterRecord::DeadLetterRecord(const Config& config, Router& router, const absl::Status& reason,
                                   const pgoutput::CachedRelation& relation, pgoutput::Tuple row,
                                   const DeadLetterPosition& position)
    : topic_(config.on_error.dead_letter_topic),
      code_(ToString(CodeOf(reason))),
      message_(MessageOf(reason)),
      timestamp_(config.route.timestamp == TimestampSource::kNow
                     ? std::nullopt
                     : std::optional(position.commit_time)) {
  WR_CHECK(!topic_.empty(), "the configuration names the topic");
  const auto max_bytes = static_cast<size_t>(config.limits().max_record_bytes / 2);
  const auto key = router.KeyOf(relation.oid, row);
  if (key && key->size() <= max_bytes / 2) {
    key_.emplace(*key);
  }
  value_ = EncodeDeadLetter(reason, relation, router.PublishedRow(relation.oid, row), position,
                            max_bytes);
  headers_ = {{{"walrelay.code", code_}, {"walrelay.reason", message_}}};
}

Record DeadLetterRecord::record() const {
  return {.topic = topic_,
          .key = key_,
          .value = value_,
          .headers = headers_,
          .partition = std::nullopt,
          .timestamp = timestamp_};
}

}  // namespace walrelay
