#include "republish/dead_letter_topic.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"
#include "kafka/record_writer.h"
#include "kafka/topic_reader.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

constexpr std::chrono::seconds kRequestTimeout{30};

std::optional<StoredDeadLetter> Decoded(const StoredRecord& record) {
  return record.value ? DecodeDeadLetter(*record.value) : std::nullopt;
}

}  // namespace

DeadLetterTopic::DeadLetterTopic(const Config& config)
    : config_(config), topic_(config.on_error.dead_letter_topic) {
  WR_CHECK(!topic_.empty(), "the configuration names the topic");
}

absl::Status DeadLetterTopic::ForEach(
    const std::function<absl::Status(const DeadLetterEntry&)>& on_entry, Micros timeout) const {
  std::vector<DeadLetterId> retried;
  WR_RETURN_IF_ERROR(ReadEachRecord(
      config_.kafka, topic_, kRequestTimeout, kReadTimeout, [&](const StoredRecord& record) {
        if (const auto letter = Decoded(record)) {
          retried.insert(retried.end(), letter->retried.begin(), letter->retried.end());
        }
        return absl::OkStatus();
      }));
  std::sort(retried.begin(), retried.end());
  return ReadEachRecord(config_.kafka, topic_, kRequestTimeout, timeout, [&](StoredRecord record) {
    DeadLetterEntry entry{.id = {record.partition, record.offset},
                          .key = std::move(record.key),
                          .time = record.timestamp,
                          .letter = Decoded(record)};
    entry.retried = std::binary_search(retried.begin(), retried.end(), entry.id);
    const bool mark = entry.letter && !entry.letter->retried.empty();
    return mark ? absl::OkStatus() : on_entry(entry);
  });
}

absl::Status DeadLetterTopic::MarkRetried(std::span<const DeadLetterId> letters,
                                          std::string_view run) const {
  WR_CHECK(!letters.empty() && letters.size() <= kLettersOfMark, "a mark has room for the letters");
  const Header header{kRetriedHeader, run};
  const std::string value = EncodeRetriedMark(letters);
  return WriteRecord(config_,
                     {.topic = topic_, .value = value, .headers = {&header, 1}, .partition = {}},
                     kRequestTimeout)
      .status();
}

}  // namespace walrelay
