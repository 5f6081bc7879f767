#include "conformance/judge.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "conformance/deviations.h"
#include "conformance/subject.h"

namespace walrelay::conformance {
namespace {

using Parts = std::map<std::string, Expected>;

constexpr std::string_view kText = "StringConverter";
constexpr std::string_view kSchemaless = "JsonConverter(schemas=false)";
constexpr std::string_view kSchemas = "JsonConverter(schemas=true)";

std::string Shown(const std::optional<std::string>& bytes) {
  return bytes ? fmt::format("'{}'", Printable(*bytes, 2000)) : "null";
}

std::string Told(const Outcome& outcome) {
  if (!outcome.refused.ok()) {
    return fmt::format("rejected: {}", outcome.refused.ToString());
  }
  if (!outcome.blocked.ok()) {
    return fmt::format("blocked: {}", outcome.blocked.ToString());
  }
  return fmt::format("{} records", outcome.records.size());
}

// A converter under which the other part of the record can be published.
std::string Working(const Parts& parts) {
  for (const std::string_view name : {kText, kSchemaless, kSchemas}) {
    const auto found = parts.find(std::string(name));
    if (found != parts.end() && !found->second.fails &&
        !IsJavaObject(found->second.bytes.value_or(""))) {
      return found->first;
    }
  }
  return "org.apache.kafka.connect.converters.ByteArrayConverter";
}

// Without the name of the outermost schema.
std::string WithoutName(std::string text) {
  const size_t end = text.rfind("},\"payload\":{");
  const size_t begin = end == text.npos ? end : text.rfind(",\"name\":\"", end);
  if (begin != text.npos) {
    text.erase(begin, end - begin);
  }
  return text;
}

class CaseJudge {
 public:
  explicit CaseJudge(const std::vector<const Case*>& rows)
      : rows_(rows), case_(*rows.back()), deviation_(FindDeviation(case_)) {
    // The case expects a rejection: no deviation.
    if (ExpectsError() && deviation_ != nullptr && deviation_->instead == Instead::kRefused) {
      deviation_ = nullptr;
    }
    verdict_.deviates = deviation_ != nullptr;
  }

  Verdict Run() {
    if (deviation_ != nullptr && deviation_->instead != Instead::kOtherName) {
      CheckInstead();
    } else if (case_.outcome == "routed") {
      CheckRouted();
    } else if (case_.outcome == "dropped") {
      CheckDropped();
    } else if (ExpectsError()) {
      CheckStopped();
    } else {
      Fail(fmt::format("no rule for outcome \"{}\"", case_.outcome));
    }
    return std::move(verdict_);
  }

 private:
  bool ExpectsError() const { return case_.outcome == "error" || case_.outcome == "config_error"; }

  void Fail(std::string problem) {
    if (verdict_.problem.empty()) {
      verdict_.problem = std::move(problem);
    }
  }

  Outcome Try(const std::string& key, const std::string& value) const {
    return conformance::Run(rows_, key, value);
  }

  // With text for the key and schemas for the value: the strictest combination.
  Outcome TryAnyhow() const { return Try(std::string(kText), std::string(kSchemas)); }

  void CheckInstead() {
    const Outcome outcome = TryAnyhow();
    if (!IsAsSaid(outcome)) {
      Fail(fmt::format("differs from its entry in deviations.def: {}", Told(outcome)));
    }
  }

  bool IsAsSaid(const Outcome& outcome) const {
    switch (deviation_->instead) {
      case Instead::kRefused:
        return !outcome.refused.ok();
      case Instead::kNothing:
      case Instead::kOtherName:
        break;
    }
    return !outcome.stopped() && outcome.records.empty();
  }

  void CheckStopped() {
    const Outcome outcome = TryAnyhow();
    if (!outcome.stopped()) {
      Fail(fmt::format("expected an error, got {}", Told(outcome)));
    }
  }

  void CheckDropped() {
    const Outcome outcome = TryAnyhow();
    if (outcome.stopped() || !outcome.records.empty()) {
      Fail(fmt::format("expected nothing, got {}", Told(outcome)));
    }
  }

  void CheckRouted() {
    if (case_.worker_fails) {
      CheckStopped();
      return;
    }
    const std::string key = Working(case_.key);
    const std::string value = Working(case_.value);
    CheckRecord(Try(key, value));
    for (const auto& [converter, expected] : case_.value) {
      CheckPart("value", converter, expected, Try(key, converter), &Published::value);
    }
    for (const auto& [converter, expected] : case_.key) {
      CheckPart("key", converter, expected, Try(converter, value), &Published::key);
    }
  }

  // Checks everything except key and value.
  void CheckRecord(const Outcome& outcome) {
    if (case_.nondeterministic && outcome.stopped()) {
      return;
    }
    if (outcome.stopped() || outcome.records.size() != 1) {
      Fail(fmt::format("expected a record, got {}", Told(outcome)));
      return;
    }
    const Published& record = outcome.records.front();
    if (record.topic != case_.topic) {
      Fail(fmt::format("expected topic {}, got {}", case_.topic, record.topic));
    }
    if (record.partition != case_.partition) {
      Fail(fmt::format("expected partition {}, got {}", case_.partition.value_or(-1),
                       record.partition.value_or(-1)));
    }
    if (record.timestamp_ms != case_.timestamp_ms) {
      Fail(fmt::format("expected timestamp {}, got {}", case_.timestamp_ms.value_or(-1),
                       record.timestamp_ms.value_or(-1)));
    }
    CheckHeaders(record);
  }

  void CheckHeaders(const Published& record) {
    if (record.headers.size() != case_.headers.size()) {
      Fail(fmt::format("expected {} headers, got {}", case_.headers.size(), record.headers.size()));
      return;
    }
    for (size_t i = 0; i < record.headers.size(); ++i) {
      if (record.headers[i] != case_.headers[i]) {
        Fail(fmt::format("expected header {}={}, got {}={}", case_.headers[i].first,
                         Shown(case_.headers[i].second), record.headers[i].first,
                         Shown(record.headers[i].second)));
      }
    }
  }

  void CheckPart(std::string_view part, const std::string& converter, const Expected& expected,
                 const Outcome& outcome, std::optional<std::string> Published::*member) {
    const bool java = !expected.fails && IsJavaObject(expected.bytes.value_or(""));
    verdict_.deviates = verdict_.deviates || java;
    const bool chance = case_.nondeterministic && outcome.stopped();
    if (chance || ((expected.fails || java) && outcome.stopped())) {
      return;
    }
    if (expected.fails || java || outcome.stopped() || outcome.records.size() != 1) {
      Fail(fmt::format("{} under {}: expected {}, got {}", part, converter,
                       expected.fails || java ? "an error" : Shown(expected.bytes), Told(outcome)));
      return;
    }
    const auto& bytes = outcome.records.front().*member;
    if (!Equal(bytes, expected.bytes) && !IsAlternative(converter, bytes)) {
      Fail(fmt::format("{} under {}: expected {}, got {}", part, converter, Shown(expected.bytes),
                       Shown(bytes)));
    }
  }

  bool Equal(const std::optional<std::string>& bytes,
             const std::optional<std::string>& expected) const {
    const bool other_name = deviation_ != nullptr && bytes && expected;
    return other_name ? WithoutName(*bytes) == WithoutName(*expected) : bytes == expected;
  }

  bool IsAlternative(const std::string& converter, const std::optional<std::string>& bytes) const {
    return converter == kSchemaless && bytes &&
           std::find(case_.alternatives.begin(), case_.alternatives.end(), *bytes) !=
               case_.alternatives.end();
  }

  const std::vector<const Case*>& rows_;
  const Case& case_;
  const Deviation* deviation_;
  Verdict verdict_;
};

}  // namespace

Verdict Judge(const std::vector<const Case*>& rows) {
  return CaseJudge(rows).Run();
}

}  // namespace walrelay::conformance
