#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "config/option_rows.h"
#include "config/section.h"

namespace walrelay {
namespace {

using enum OptionType;
constexpr auto kOnError = &Config::on_error;

constexpr Option kOnErrorRows[] = {
    ChoiceRow<kOnError, &ErrorPolicy::null_route>("on_error", "null_route",
                                                  "A row without an aggregate type."),
    ChoiceRow<kOnError, &ErrorPolicy::null_key>("on_error", "null_key",
                                                "A row without an aggregate id."),
    ChoiceRow<kOnError, &ErrorPolicy::topic>(
        "on_error", "topic",
        "A row whose topic is invalid, not allowed by `route.allow`, or beyond "
        "`route.max_topics`."),
    ChoiceRow<kOnError, &ErrorPolicy::too_large>(
        "on_error", "too_large",
        "A row whose record is larger than `kafka.max_record_bytes`, or larger than its "
        "topic accepts."),
    ChoiceRow<kOnError, &ErrorPolicy::value>(
        "on_error", "value", "A row with an invalid partition, timestamp or bytes."),
    ChoiceRow<kOnError, &ErrorPolicy::refused>(
        "on_error", "refused",
        "A row whose record the brokers reject because of its content: it has no key and its topic "
        "is compacted, or its time comes from its own column (`route.timestamp`). Refusals that "
        "other rows would meet as well block publishing: WR-4030, WR-4031. (For a record that is "
        "too large for its topic: `too_large`.)"),
    Row<kOnError, &ErrorPolicy::dead_letter_topic>(
        "on_error", "dead_letter_topic", kString,
        "Topic for rows under `dead_letter`. A record holds the whole row (only the "
        "beginning of each value if the row is too large) and the reason, as "
        "`proto/walrelay/events/v1/dead_letter.proto`. Its acknowledgement counts like any "
        "other."),
};

// Each cause that may end in a dead letter needs the topic.
void CheckErrorPolicy(const Config& config, ConfigNeeds /*needs*/, ConfigErrors& errors) {
  const ErrorPolicy& policy = config.on_error;
  const std::pair<const char*, OnError> causes[] = {
      {"null_route", policy.null_route}, {"null_key", policy.null_key},
      {"topic", policy.topic},           {"too_large", policy.too_large},
      {"value", policy.value},           {"refused", policy.refused}};
  const auto* cause = std::find_if(std::begin(causes), std::end(causes), [](const auto& entry) {
    return entry.second == OnError::kDeadLetter;
  });
  if (cause != std::end(causes) && policy.dead_letter_topic.empty()) {
    errors.Reject(fmt::format("on_error.{}", cause->first),
                  fmt::format("on_error.{}: \"dead_letter\" requires on_error.dead_letter_topic",
                              cause->first));
  }
}

}  // namespace

const Section kOnErrorSection = {kOnErrorRows, CheckErrorPolicy};

}  // namespace walrelay
