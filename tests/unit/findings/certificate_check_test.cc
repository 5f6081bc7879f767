#include "findings/certificate_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace walrelay {
namespace {

using std::chrono::hours;
using std::chrono::sys_days;
using std::chrono::year;
using ::testing::HasSubstr;

constexpr WallTime kNow = sys_days(year(2026) / 6 / 1);

Certificate Of(Micros life, Micros left) {
  return {.subject = "CN=db", .not_before = kNow + left - life, .not_after = kNow + left};
}

class CertificateCheckTest : public ::testing::Test {
 protected:
  const Finding& JudgeOne(const Certificate& certificate) {
    JudgeChain("tls.postgres", "the server", {certificate}, kNow, "Renew it.", findings_);
    return findings_.all().back();
  }

  Findings findings_{nullptr};
};

TEST_F(CertificateCheckTest, ExpiredCertificateIsAProblemToTheSecond) {
  EXPECT_EQ(JudgeOne(Of(hours(1000), Micros(0))).severity, Severity::kProblem);
  EXPECT_THAT(findings_.all().back().text, HasSubstr("has expired, at 2026-06-01T00:00:00Z"));
  EXPECT_EQ(findings_.all().back().remedy, "Renew it.");
  EXPECT_EQ(findings_.all().back().code, std::nullopt);
  EXPECT_EQ(JudgeOne(Of(hours(1000), Micros(1))).severity, Severity::kWarning);
}

TEST_F(CertificateCheckTest, ThirtyDaysBeforeExpiryIsAWarning) {
  const Micros year_long = hours(24 * 365);
  EXPECT_EQ(JudgeOne(Of(year_long, hours(24 * 30))).severity, Severity::kOk);
  EXPECT_EQ(JudgeOne(Of(year_long, hours(24 * 30 - 1))).severity, Severity::kWarning);
  EXPECT_THAT(findings_.all().back().text, HasSubstr("expires in 29 days"));
}

TEST_F(CertificateCheckTest, OneDayCertificateIsNotAlwaysAboutToExpire) {
  EXPECT_EQ(JudgeOne(Of(hours(24), hours(8))).severity, Severity::kOk);
  EXPECT_EQ(JudgeOne(Of(hours(24), hours(7))).severity, Severity::kWarning);
  EXPECT_THAT(findings_.all().back().text, HasSubstr("expires in 7 h"));
}

TEST_F(CertificateCheckTest, CertificateNotYetValidIsAProblem) {
  EXPECT_EQ(JudgeOne(Of(hours(1), hours(2))).severity, Severity::kProblem);
  EXPECT_THAT(findings_.all().back().text, HasSubstr("not valid before 2026-06-01T01:00:00Z"));
}

TEST_F(CertificateCheckTest, ChainIsJudgedByItsFirstAndBundleByItsLastToExpire) {
  const std::vector<Certificate> both = {Of(hours(9000), hours(8000)), Of(hours(9000), hours(-1))};
  JudgeChain("tls.files", "a", both, kNow, "", findings_);
  JudgeBundle("tls.files", "a", both, kNow, "", findings_);
  EXPECT_EQ(findings_.all()[0].severity, Severity::kProblem);
  EXPECT_EQ(findings_.all()[1].severity, Severity::kOk);
}

}  // namespace
}  // namespace walrelay
