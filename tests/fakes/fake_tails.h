// FakeTails: topics whose records are in memory, as recovery reads them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "recover/published_records.h"
#include "walrelay/error.h"

namespace walrelay::testing {

struct StoredRecord {
  std::string key;
  std::string value;
  std::string id;
};

class FakeTails final : public TopicTails {
 public:
  absl::StatusOr<std::string> Read(const std::string& topic, std::optional<WallTime> since,
                                   const OnRecord& on_record) override {
    ++reads[topic];
    asked_since = since;
    for (const StoredRecord& each : topics[topic]) {
      WR_RETURN_IF_ERROR(on_record(each.key, each.value, each.id));
    }
    return error.ok() ? absl::StatusOr<std::string>(doubt) : error;
  }

  std::map<std::string, std::vector<StoredRecord>> topics;
  std::map<std::string, int> reads;
  std::optional<WallTime> asked_since;
  std::string doubt;
  absl::Status error;
};

}  // namespace walrelay::testing
