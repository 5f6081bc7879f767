// The versions of librdkafka that doctor warns about.

#include "kafka/known_defects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace walrelay {
namespace {

using ::testing::ElementsAre;
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

}  // namespace
}  // namespace walrelay
