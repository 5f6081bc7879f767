#include "findings/certificates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "fakes/certificate_samples.h"

namespace walrelay {
namespace {

using std::chrono::sys_days;
using std::chrono::year;
using ::testing::IsEmpty;
using testing::kNewCertificate;
using testing::kOldCertificate;

TEST(CertificatesTest, AllCertificatesOfATextAreParsed) {
  const auto found = ParseCertificates(std::string("Some words.\n") + kOldCertificate + "more\n" +
                                       kNewCertificate);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].subject, "CN=db.example");
  EXPECT_EQ(found[0].not_before, sys_days(year(2025) / 1 / 1));
  EXPECT_EQ(found[0].not_after, sys_days(year(2026) / 1 / 1));
  EXPECT_EQ(found[1].subject, "CN=other.example");
}

TEST(CertificatesTest, OtherTextYieldsNoCertificate) {
  EXPECT_THAT(ParseCertificates(""), IsEmpty());
  EXPECT_THAT(ParseCertificates("-----BEGIN CERTIFICATE-----\nMIIB\n"), IsEmpty());
  EXPECT_THAT(ParseCertificates("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
              IsEmpty());
}

}  // namespace
}  // namespace walrelay
