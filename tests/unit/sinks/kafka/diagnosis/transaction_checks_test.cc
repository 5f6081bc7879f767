#include "sinks/kafka/diagnosis/transaction_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "walrelay/config/kafka.h"

namespace walrelay {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

// The only finding of `check`.
Finding FindingOf(const std::function<void(Findings&)>& check) {
  Findings findings{nullptr};
  check(findings);
  EXPECT_EQ(findings.all().size(), 1u);
  return findings.all().empty() ? Finding() : findings.all().front();
}

TEST(TransactionLibraryTest, RefusedVersionIsAProblem) {
  const auto finding_of = [](int version) {
    return FindingOf([&](Findings& out) { CheckTransactionLibrary(version, out); });
  };
  EXPECT_EQ(finding_of(0x020002ff).severity, Severity::kOk);
  EXPECT_EQ(finding_of(0x020300ff).code, ErrorCode::kTransactionsUnsupported);
}

TEST(TransactionClaimTest, DenialOfTheProbesIdIsAWarning) {
  const auto finding_of = [](const absl::Status& claim) {
    return FindingOf([&](Findings& out) { CheckTransactionClaim(claim, "p", out); });
  };
  EXPECT_THAT(finding_of(absl::OkStatus()).text, HasSubstr("walrelay.p"));
  const Finding denied = finding_of(Error(ErrorCode::kTransactionalIdDenied, "denied"));
  EXPECT_EQ(denied.severity, Severity::kWarning);
  EXPECT_THAT(denied.text, HasSubstr("WR-4020"));
  EXPECT_THAT(denied.remedy, HasSubstr("--transactional-id walrelay.p "));
  EXPECT_EQ(finding_of(Error(ErrorCode::kProducerSetting, "too long")).code,
            ErrorCode::kProducerSetting);
}

TEST(TransactionTimeoutTest, LimitOfTheBrokersIsCompared) {
  KafkaConfig kafka;
  kafka.transaction_timeout = seconds(30);
  BrokerSettings settings;
  const auto finding = [&] {
    return FindingOf([&](Findings& out) { CheckTransactionTimeout(kafka, settings, out); });
  };
  EXPECT_EQ(finding().severity, Severity::kWarning);
  settings.max_transaction = seconds(30);
  EXPECT_EQ(finding().severity, Severity::kOk);
  settings.max_transaction = seconds(29);
  EXPECT_EQ(finding().code, ErrorCode::kProducerSetting);
  EXPECT_THAT(finding().text, HasSubstr("at most 29 s"));
}

class TransactionLogTest : public ::testing::Test {
 protected:
  Finding Check() {
    return FindingOf([&](Findings& out) { CheckTransactionLog(log_, brokers_, out); });
  }

  size_t brokers_ = 3;
  TopicInfo log_ = {.name = "__transaction_state",
                    .partitions = 50,
                    .replicas = 3,
                    .in_sync = 3,
                    .min_in_sync = 2};
};

TEST_F(TransactionLogTest, SeveralReplicasAreGood) {
  EXPECT_EQ(Check().severity, Severity::kOk);
  EXPECT_EQ(FindingOf([](Findings& out) { CheckTransactionLog({}, 3, out); }).severity,
            Severity::kOk);
}

TEST_F(TransactionLogTest, OneReplicaIsAWarningUnlessThereIsOneBroker) {
  log_.replicas = log_.in_sync = 1;
  log_.min_in_sync = 1;
  EXPECT_EQ(Check().severity, Severity::kWarning);
  EXPECT_THAT(Check().text, HasSubstr("one replica"));
  brokers_ = 1;
  EXPECT_EQ(Check().severity, Severity::kOk);
}

TEST_F(TransactionLogTest, CommitOnOneBrokerIsAWarning) {
  log_.min_in_sync = 1;
  EXPECT_EQ(Check().severity, Severity::kWarning);
  EXPECT_THAT(Check().remedy, HasSubstr("--topic __transaction_state"));
}

TEST_F(TransactionLogTest, UnavailablePartitionIsAProblem) {
  log_.in_sync = 1;
  EXPECT_EQ(Check().code, ErrorCode::kKafkaStalled);
  log_.leaderless = 2;
  EXPECT_THAT(Check().text, HasSubstr("2 of 50 partitions"));
}

}  // namespace
}  // namespace walrelay
