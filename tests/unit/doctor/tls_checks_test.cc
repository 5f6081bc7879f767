#include "doctor/tls_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doctor/certificates.h"
#include "fakes/certificate_samples.h"
#include "fakes/temporary_directory.h"

namespace walrelay {
namespace {

using std::chrono::hours;
using std::chrono::sys_days;
using std::chrono::year;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kOldCertificate;

constexpr WallTime kNow = sys_days(year(2026) / 6 / 1);

Certificate Of(Micros life, Micros left) {
  return {.subject = "CN=db", .not_before = kNow + left - life, .not_after = kNow + left};
}

class TlsChecksTest : public ::testing::Test {
 protected:
  const Finding& JudgeOne(const Certificate& certificate) {
    JudgeChain("tls.postgres", "the server", {certificate}, kNow, "Renew it.", findings_);
    return findings_.all().back();
  }
  void Expect(Severity severity, const std::string& text) {
    ASSERT_EQ(findings_.all().size(), 1u);
    EXPECT_EQ(findings_.all()[0].severity, severity);
    EXPECT_THAT(findings_.all()[0].text, HasSubstr(text));
  }

  Findings findings_{nullptr};
  testing::TemporaryDirectory directory_;
  Config config_;
};

TEST_F(TlsChecksTest, ExpiredCertificateIsAProblemToTheSecond) {
  EXPECT_EQ(JudgeOne(Of(hours(1000), Micros(0))).severity, Severity::kProblem);
  EXPECT_THAT(findings_.all().back().text, HasSubstr("has expired, at 2026-06-01T00:00:00Z"));
  EXPECT_EQ(findings_.all().back().remedy, "Renew it.");
  EXPECT_EQ(findings_.all().back().code, std::nullopt);
  EXPECT_EQ(JudgeOne(Of(hours(1000), Micros(1))).severity, Severity::kWarning);
}

TEST_F(TlsChecksTest, ThirtyDaysBeforeExpiryIsAWarning) {
  const Micros year_long = hours(24 * 365);
  EXPECT_EQ(JudgeOne(Of(year_long, hours(24 * 30))).severity, Severity::kOk);
  EXPECT_EQ(JudgeOne(Of(year_long, hours(24 * 30 - 1))).severity, Severity::kWarning);
  EXPECT_THAT(findings_.all().back().text, HasSubstr("expires in 29 days"));
}

TEST_F(TlsChecksTest, OneDayCertificateIsNotAlwaysAboutToExpire) {
  EXPECT_EQ(JudgeOne(Of(hours(24), hours(8))).severity, Severity::kOk);
  EXPECT_EQ(JudgeOne(Of(hours(24), hours(7))).severity, Severity::kWarning);
  EXPECT_THAT(findings_.all().back().text, HasSubstr("expires in 7 h"));
}

TEST_F(TlsChecksTest, CertificateNotYetValidIsAProblem) {
  EXPECT_EQ(JudgeOne(Of(hours(1), hours(2))).severity, Severity::kProblem);
  EXPECT_THAT(findings_.all().back().text, HasSubstr("not valid before 2026-06-01T01:00:00Z"));
}

TEST_F(TlsChecksTest, ChainIsJudgedByItsFirstAndBundleByItsLastToExpire) {
  const std::vector<Certificate> both = {Of(hours(9000), hours(8000)), Of(hours(9000), hours(-1))};
  JudgeChain("tls.files", "a", both, kNow, "", findings_);
  JudgeBundle("tls.files", "a", both, kNow, "", findings_);
  EXPECT_EQ(findings_.all()[0].severity, Severity::kProblem);
  EXPECT_EQ(findings_.all()[1].severity, Severity::kOk);
}

TEST_F(TlsChecksTest, KafkaFilesAreChecked) {
  config_.kafka.ssl_ca_file = directory_.Write("ca.pem", kOldCertificate);
  CheckCertificateFiles(config_, findings_);
  Expect(Severity::kProblem, "kafka.ssl_ca_file (" + config_.kafka.ssl_ca_file +
                                 "): certificate CN=db.example has expired");
}

TEST_F(TlsChecksTest, DsnFilesAreChecked) {
  config_.source.dsn = "host=db sslrootcert=" + directory_.Write("root.pem", kOldCertificate);
  CheckCertificateFiles(config_, findings_);
  Expect(Severity::kProblem, "sslrootcert of source.dsn");
}

TEST_F(TlsChecksTest, FilesInLibrdkafkaSettingsAreChecked) {
  config_.kafka.librdkafka = {
      {"ssl.certificate.location", directory_.Write("own.pem", kOldCertificate)}};
  CheckCertificateFiles(config_, findings_);
  Expect(Severity::kProblem, "kafka.librdkafka ssl.certificate.location");
}

TEST_F(TlsChecksTest, SystemAuthoritiesAndFoldersAreSkipped) {
  config_.source.dsn = "host=db sslrootcert=system";
  config_.kafka.librdkafka = {{"ssl.ca.location", directory_.path()}};
  CheckCertificateFiles(config_, findings_);
  EXPECT_THAT(findings_.all(), IsEmpty());
}

TEST_F(TlsChecksTest, MissingFileIsAProblem) {
  config_.kafka.ssl_ca_file = "/no/such/file.pem";
  CheckCertificateFiles(config_, findings_);
  Expect(Severity::kProblem, "No such file");
}

TEST_F(TlsChecksTest, FileWithoutACertificateIsAProblem) {
  config_.kafka.ssl_certificate_file = directory_.Write("own.pem", "nothing");
  CheckCertificateFiles(config_, findings_);
  Expect(Severity::kProblem, "contains no certificate");
}

}  // namespace
}  // namespace walrelay
