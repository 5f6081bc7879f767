// The versions of librdkafka that doctor warns about.

#include "sinks/kafka/client/known_defects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "fakes/status_matchers.h"
#include "walrelay/config.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> FixedIn(int version, const std::string& mechanism = "") {
  KafkaConfig kafka;
  kafka.sasl_mechanism = mechanism;
  std::vector<std::string> fixed_in;
  for (const KnownDefect& defect : KnownDefectsOf(version, kafka)) {
    fixed_in.emplace_back(defect.fixed_in);
  }
  return fixed_in;
}

TEST(KnownDefectsTest, VersionsAreComparedAsNumbers) {
  EXPECT_THAT(FixedIn(0x020002ff), ElementsAre("2.3.0"));
  EXPECT_THAT(FixedIn(0x020200ff), ElementsAre("2.3.0", "2.5.0"));
  EXPECT_THAT(FixedIn(0x020300ff), ElementsAre("2.5.0"));
  EXPECT_THAT(FixedIn(0x020400ff), ElementsAre("2.5.0", "2.10.1"));
  EXPECT_THAT(FixedIn(0x020500ff), ElementsAre("2.10.1"));
  EXPECT_THAT(FixedIn(0x020800ff), ElementsAre("2.10.1"));
  EXPECT_THAT(FixedIn(0x020a00ff), ElementsAre("2.10.1"));
  EXPECT_THAT(FixedIn(0x020a01ff), IsEmpty());
  EXPECT_THAT(FixedIn(0x020f00ff), IsEmpty());
}

TEST(KnownDefectsTest, ScramDefectIsReportedOnlyIfScramIsUsed) {
  EXPECT_THAT(FixedIn(0x020600ff), ElementsAre("2.10.1"));
  EXPECT_THAT(FixedIn(0x020600ff, "PLAIN"), ElementsAre("2.10.1"));
  EXPECT_THAT(FixedIn(0x020600ff, "SCRAM-SHA-512"), ElementsAre("2.10.1", "2.6.1"));
  EXPECT_THAT(FixedIn(0x020601ff, "SCRAM-SHA-512"), ElementsAre("2.10.1"));
}

TEST(KnownDefectsTest, SomeVersionsAreRefusedForTransactions) {
  for (const int version : {0x010900ff, 0x020200ff, 0x020300ff, 0x020400ff, 0x020a00ff}) {
    EXPECT_THAT(CheckTransactionSupport(version), HasError(ErrorCode::kTransactionsUnsupported))
        << version;
  }
  for (const int version :
       {0x020002ff, 0x020101ff, 0x020500ff, 0x020800ff, 0x020a01ff, 0x020f00ff}) {
    EXPECT_THAT(CheckTransactionSupport(version), IsOk()) << version;
  }
  EXPECT_THAT(MessageOf(CheckTransactionSupport(0x020300ff)), HasSubstr("librdkafka 2.3.0"));
}

}  // namespace
}  // namespace walrelay
