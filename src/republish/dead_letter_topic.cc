#include "republish/dead_letter_topic.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"
#include "walrelay/config/on_error.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

constexpr std::chrono::seconds kRequestTimeout{30};

std::optional<StoredDeadLetter> Decoded(const TopicRecord& record) {
  const auto value = record.value();
  return value ? DecodeDeadLetter(*value) : std::nullopt;
}

}  // namespace

DeadLetterTopic::DeadLetterTopic(const ErrorPolicy& on_error, SinkFactory& sinks)
    : sinks_(sinks), topic_(on_error.dead_letter_topic) {
  WR_CHECK(!topic_.empty(), "the configuration names the topic");
}

absl::Status DeadLetterTopic::ForEach(
    const std::function<absl::Status(const DeadLetterEntry&)>& on_entry, Micros timeout) const {
  WR_ASSIGN_OR_RETURN(const auto reader, sinks_.OpenReader());
  std::vector<DeadLetterId> retried;
  const auto note_mark = [&](const TopicRecord& record) {
    if (const auto letter = Decoded(record)) {
      retried.insert(retried.end(), letter->retried.begin(), letter->retried.end());
    }
    return absl::OkStatus();
  };
  WR_RETURN_IF_ERROR(reader->Scan(topic_, std::nullopt, kReadTimeout, note_mark).status());
  std::sort(retried.begin(), retried.end());
  const auto pass_on = [&](const TopicRecord& record) {
    DeadLetterEntry entry{.id = {record.partition(), record.offset()},
                          .key = std::optional<std::string>(record.key()),
                          .time = record.timestamp(),
                          .letter = Decoded(record)};
    entry.retried = std::binary_search(retried.begin(), retried.end(), entry.id);
    const bool mark = entry.letter && !entry.letter->retried.empty();
    return mark ? absl::OkStatus() : on_entry(entry);
  };
  return reader->Scan(topic_, std::nullopt, timeout, pass_on).status();
}

absl::Status DeadLetterTopic::MarkRetried(std::span<const DeadLetterId> letters,
                                          std::string_view run) const {
  WR_CHECK(!letters.empty() && letters.size() <= kLettersOfMark, "a mark has room for the letters");
  const Header header{kRetriedHeader, run};
  const std::string value = EncodeRetriedMark(letters);
  return sinks_.WriteRecord(
      {.topic = topic_, .value = value, .headers = {&header, 1}, .partition = {}}, kRequestTimeout);
}

}  // namespace walrelay
