#include "sinks/kafka/diagnosis/progress_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "walrelay/config.h"

namespace walrelay {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ProgressChecksTest : public ::testing::Test {
 protected:
  ProgressChecksTest() {
    config_.pipeline.progress = ProgressRecording::kRequired;
    config_.pipeline.id = "orders";
    config_.source.slot = "walrelay";
    source_.server = {.system_id = "7301", .timeline = 1, .wal_end = Lsn(9000), .database = "shop"};
    source_.slot =
        SlotInfo{.plugin = "pgoutput", .database = "shop", .confirmed_flush_lsn = Lsn(1000)};
    record_ = {.pipeline = "orders",
               .system_id = "7301",
               .timeline = 1,
               .database = "shop",
               .slot = "walrelay",
               .frontier = Lsn(1000),
               .version = "0.1.0"};
    topic_ = {.name = "p",
              .partitions = 1,
              .replicas = 3,
              .in_sync = 3,
              .min_in_sync = 2,
              .settings = {{"cleanup.policy", "compact"}}};
  }

  // The only finding about the record.
  Finding FindingOf(const std::optional<Progress>& record) {
    Findings findings{nullptr};
    CheckProgressRecord(record, config_.source, config_.pipeline, source_, findings);
    EXPECT_EQ(findings.all().size(), 1u);
    return findings.all().empty() ? Finding() : findings.all().front();
  }
  void ExpectProblem(const std::optional<Progress>& record, ErrorCode code) {
    const Finding finding = FindingOf(record);
    EXPECT_EQ(finding.severity, Severity::kProblem);
    EXPECT_EQ(finding.code, code) << finding.text;
  }
  // The findings about the topic in a cluster of three brokers.
  std::vector<Finding> TopicFindings() {
    Findings findings{nullptr};
    CheckProgressReplicas(topic_, 3, findings);
    return findings.all();
  }
  void ExpectWarning(const std::string& text) {
    const auto found = TopicFindings();
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found.front().severity, Severity::kWarning);
    EXPECT_THAT(found.front().text, HasSubstr(text));
    EXPECT_NE(found.front().remedy, "");
  }

  Config config_;
  SourceInfo source_;
  Progress record_;
  TopicInfo topic_;
};

TEST_F(ProgressChecksTest, RecordThatAgreesIsGood) {
  EXPECT_EQ(FindingOf(record_).severity, Severity::kOk);
  source_.slot->confirmed_flush_lsn = Lsn(900);  // a server that lost the slot's last position
  EXPECT_EQ(FindingOf(record_).severity, Severity::kOk);
  EXPECT_THAT(FindingOf(record_).text, HasSubstr("up to 0/3E8 by walrelay 0.1.0"));
}

TEST_F(ProgressChecksTest, GapsAreFoundBeforeTheStart) {
  source_.slot->confirmed_flush_lsn = Lsn(1001);
  ExpectProblem(record_, ErrorCode::kSlotMoved);
  source_.slot.reset();
  ExpectProblem(record_, ErrorCode::kSlotGone);
  source_.server.wal_end = Lsn(999);
  ExpectProblem(record_, ErrorCode::kServerBehind);
  source_.server.system_id = "7302";
  ExpectProblem(record_, ErrorCode::kSystemChanged);
}

// As the relay finds them at its start.
TEST_F(ProgressChecksTest, WhatTheRecordSaysOfTheSourceIsCompared) {
  source_.publication_state.identity = {.oid = 16400, .xmin = 700, .tables = {}};
  record_.seen_publication = SeenPublication{config_.source.publication, source_.publication_state};
  record_.horizons = {{.xid = 1000, .insert_lsn = Lsn(900), .taken = WallTime()}};
  source_.server.next_xid = 1000;
  EXPECT_EQ(FindingOf(record_).severity, Severity::kOk);
  source_.publication_state.identity.xmin = 701;
  ExpectProblem(record_, ErrorCode::kPublicationChanged);
  source_.server.next_xid = 999;
  ExpectProblem(record_, ErrorCode::kServerBehind);
}

TEST_F(ProgressChecksTest, AGapThatIsHeldIsAProblem) {
  record_.held = HeldGap{
      .code = ErrorCode::kPublicationChanged, .id = "2110-5f3a9c01", .reason = "it was dropped"};
  ExpectProblem(record_, ErrorCode::kPublicationChanged);
  EXPECT_THAT(FindingOf(record_).text, HasSubstr("gap 2110-5f3a9c01 is held: it was dropped"));
}

TEST_F(ProgressChecksTest, RecordOfARunningRelayIsAheadOfWhatWasRead) {
  source_.slot->active = true;
  record_.frontier = Lsn(9500);
  EXPECT_EQ(FindingOf(record_).severity, Severity::kOk);
}

TEST_F(ProgressChecksTest, RecordOfAnotherPipelineIsAProblem) {
  record_.pipeline = "payments";
  ExpectProblem(record_, ErrorCode::kProgressForeign);
}

TEST_F(ProgressChecksTest, MissingRecordIsAProblemForAnExistingSlotOnly) {
  ExpectProblem(std::nullopt, ErrorCode::kProgressMissing);
  config_.pipeline.progress = ProgressRecording::kAuto;
  EXPECT_EQ(FindingOf(std::nullopt).severity, Severity::kOk);
  config_.pipeline.progress = ProgressRecording::kRequired;
  source_.slot.reset();
  EXPECT_EQ(FindingOf(std::nullopt).severity, Severity::kOk);
}

TEST_F(ProgressChecksTest, StandbyServerIsNotCompared) {
  source_.server.in_recovery = true;
  Findings findings{nullptr};
  CheckProgressRecord(record_, config_.source, config_.pipeline, source_, findings);
  EXPECT_THAT(findings.all(), IsEmpty());
}

TEST_F(ProgressChecksTest, TopicOnSeveralBrokersIsNoFinding) {
  EXPECT_THAT(TopicFindings(), IsEmpty());
}

TEST_F(ProgressChecksTest, TopicThatMayLoseTheRecordIsAWarning) {
  topic_.min_in_sync = 1;
  ExpectWarning("min.insync.replicas = 1");
  topic_.min_in_sync = 3;
  ExpectWarning("when one broker is unavailable");
  topic_.replicas = topic_.in_sync = 1;
  topic_.min_in_sync = 1;
  ExpectWarning("one replica");
}

TEST_F(ProgressChecksTest, UnknownSettingsAreAWarning) {
  topic_.settings.clear();
  topic_.min_in_sync.reset();
  ExpectWarning("cleanup.policy is unknown");
}

TEST_F(ProgressChecksTest, SettingsThatMakeTheTopicGrowAreAWarningWithACommand) {
  Findings findings{nullptr};
  CheckProgressSettings(topic_, findings);
  EXPECT_THAT(findings.all(), IsEmpty());
  topic_.settings["segment.ms"] = "604800000";
  topic_.settings["delete.retention.ms"] = "86400000";
  CheckProgressSettings(topic_, findings);
  ASSERT_EQ(findings.all().size(), 1u);
  EXPECT_EQ(findings.all().front().severity, Severity::kWarning);
  EXPECT_THAT(findings.all().front().text,
              AllOf(HasSubstr("topic p has segment.ms = 604800000 (it is compacted rarely), "),
                    HasSubstr("delete.retention.ms = 86400000")));
  EXPECT_THAT(findings.all().front().remedy,
              HasSubstr("--alter --topic p --add-config segment.ms="));
}

TEST_F(ProgressChecksTest, TopicThatAcceptsNoRecordIsAProblem) {
  topic_.in_sync = 1;
  EXPECT_EQ(TopicFindings().front().code, ErrorCode::kKafkaStalled);
  topic_.leaderless = 1;
  EXPECT_THAT(TopicFindings().front().text, HasSubstr("no leader"));
}

}  // namespace
}  // namespace walrelay
