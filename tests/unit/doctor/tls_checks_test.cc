#include "doctor/tls_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/certificate_samples.h"
#include "fakes/temporary_directory.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kOldCertificate;

class TlsChecksTest : public ::testing::Test {
 protected:
  void Expect(Severity severity, const std::string& text) {
    ASSERT_EQ(findings_.all().size(), 1u);
    EXPECT_EQ(findings_.all()[0].severity, severity);
    EXPECT_THAT(findings_.all()[0].text, HasSubstr(text));
  }

  Findings findings_{nullptr};
  testing::TemporaryDirectory directory_;
  Config config_;
};

TEST_F(TlsChecksTest, KafkaFilesAreChecked) {
  config_.kafka.ssl_ca_file = directory_.Write("ca.pem", kOldCertificate);
  CheckCertificateFiles(config_.source, config_.kafka, findings_);
  Expect(Severity::kProblem, "kafka.ssl_ca_file (" + config_.kafka.ssl_ca_file +
                                 "): certificate CN=db.example has expired");
}

TEST_F(TlsChecksTest, DsnFilesAreChecked) {
  config_.source.dsn = "host=db sslrootcert=" + directory_.Write("root.pem", kOldCertificate);
  CheckCertificateFiles(config_.source, config_.kafka, findings_);
  Expect(Severity::kProblem, "sslrootcert of source.dsn");
}

TEST_F(TlsChecksTest, FilesInLibrdkafkaSettingsAreChecked) {
  config_.kafka.librdkafka = {
      {"ssl.certificate.location", directory_.Write("own.pem", kOldCertificate)}};
  CheckCertificateFiles(config_.source, config_.kafka, findings_);
  Expect(Severity::kProblem, "kafka.librdkafka ssl.certificate.location");
}

TEST_F(TlsChecksTest, SystemAuthoritiesAndFoldersAreSkipped) {
  config_.source.dsn = "host=db sslrootcert=system";
  config_.kafka.librdkafka = {{"ssl.ca.location", directory_.path()}};
  CheckCertificateFiles(config_.source, config_.kafka, findings_);
  EXPECT_THAT(findings_.all(), IsEmpty());
}

TEST_F(TlsChecksTest, MissingFileIsAProblem) {
  config_.kafka.ssl_ca_file = "/no/such/file.pem";
  CheckCertificateFiles(config_.source, config_.kafka, findings_);
  Expect(Severity::kProblem, "No such file");
}

TEST_F(TlsChecksTest, FileWithoutACertificateIsAProblem) {
  config_.kafka.ssl_certificate_file = directory_.Write("own.pem", "nothing");
  CheckCertificateFiles(config_.source, config_.kafka, findings_);
  Expect(Severity::kProblem, "contains no certificate");
}

}  // namespace
}  // namespace walrelay
