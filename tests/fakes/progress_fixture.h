// A test fixture for the relay between fakes, with progress recorded.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "encode/progress_codec.h"
#include "fakes/relay_fixture.h"
#include "walrelay/progress.h"

namespace walrelay::testing {

constexpr std::string_view kProgressTopic = "walrelay.progress.shop.walrelay";

class ProgressFixture : public RelayFixture {
 protected:
  // The keys of the acknowledged events; with transactions, of the committed ones.
  std::vector<std::string> Events() const {
    std::vector<std::string> keys;
    for (const FakeRecord& record : kafka_.log) {
      if (record.topic != kProgressTopic) {
        keys.push_back(record.key.value_or("NULL"));
      }
    }
    return keys;
  }
  // The progress records among them, decoded.
  std::vector<Progress> Records() const {
    std::vector<Progress> records;
    for (const FakeRecord& record : kafka_.log) {
      if (record.topic == kProgressTopic) {
        records.push_back(*DecodeProgress(record.value.value_or("")));
      }
    }
    return records;
  }
  // Brokers refuse the record of an event, and the connection breaks before they accept it. Returns
  // the end of the event's transaction.
  Lsn ReconnectAfterARefusal() {
    const std::string topic(kProgressTopic);
    kafka_.bad_topics[topic] = Error(ErrorCode::kTopicUnknown, "gone");
    const Lsn end = Commit("a");
    Pass(std::chrono::seconds(1));
    EXPECT_EQ(State(), RelayState::kBlocked);
    postgres_.BreakConnection();
    kafka_.bad_topics.clear();
    kafka_.looked_up_topics.insert(topic);
    return end;
  }
  // Ends without a drain.
  void Crash() {
    relay_.reset();
    postgres_.Close();
  }
  void Restart() {
    Start();
    Pass(std::chrono::seconds(1));
  }
};

}  // namespace walrelay::testing
