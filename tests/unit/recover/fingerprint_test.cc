#include "recover/fingerprint.h"

#include <gtest/gtest.h>

#include "fakes/status_matchers.h"

namespace walrelay {
namespace {

class FingerprintTest : public ::testing::Test {
 protected:
  Fingerprint Of(std::string_view topic, std::optional<std::string_view> key,
                 std::optional<std::string_view> value, std::optional<std::string_view> id) {
    const auto fingerprint = fingerprinter_.Of(topic, key, value, id);
    EXPECT_THAT(fingerprint, IsOk());
    return *fingerprint;
  }

  Fingerprinter fingerprinter_;
};

TEST_F(FingerprintTest, IsTheSameForTheSameRecord) {
  EXPECT_EQ(Of("t", "k", "v", "1"), Of("t", "k", "v", "1"));
}

// A restored server assigns an id again: the mutant DedupeBeyondFork compares ids alone.
TEST_F(FingerprintTest, DiffersForAnotherEventWithTheSameId) {
  EXPECT_NE(Of("t", "k", "v", "1"), Of("t", "k", "w", "1"));
  EXPECT_NE(Of("t", "k", "v", "1"), Of("t", "l", "v", "1"));
  EXPECT_NE(Of("t", "k", "v", "1"), Of("u", "k", "v", "1"));
  EXPECT_NE(Of("t", "k", "v", "1"), Of("t", "k", "v", "2"));
}

TEST_F(FingerprintTest, AbsentPartsDifferFromEmptyOnes) {
  EXPECT_NE(Of("t", "", "v", "1"), Of("t", std::nullopt, "v", "1"));
  EXPECT_NE(Of("t", "k", "", "1"), Of("t", "k", std::nullopt, "1"));
  EXPECT_NE(Of("t", "k", "v", ""), Of("t", "k", "v", std::nullopt));
}

TEST_F(FingerprintTest, BoundariesBetweenPartsCount) {
  EXPECT_NE(Of("t", "ab", "c", "1"), Of("t", "a", "bc", "1"));
  EXPECT_NE(Of("t", "k", "v1", "1"), Of("t", "k", "v", "11"));
}

}  // namespace
}  // namespace walrelay
