#include "doctor/config_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/status_matchers.h"
#include "fakes/temporary_directory.h"

namespace walrelay {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kText[] =
    "[source]\ndsn = \"host=127.0.0.1 user=u\"\n"
    "[kafka]\nbootstrap_servers = \"127.0.0.1:1\"\nsasl_password = \"hunter2\"\n";

class ConfigChecksTest : public ::testing::Test {
 protected:
  // The findings for a file with this text and these permissions.
  const std::vector<Finding>& Look(std::string_view text, mode_t mode,
                                   std::vector<std::pair<std::string, std::string>> flags = {}) {
    const std::string file = directory_.Write("walrelay.toml", text, mode);
    auto loaded = LoadConfig(ConfigInput{
        .file_name = file, .file_text = std::string(text), .overrides = std::move(flags)});
    EXPECT_THAT(loaded, IsOk());
    loaded->config.kafka.ssl_key_file = key_;
    CheckSecretsAreKept(*loaded, findings_);
    return findings_.all();
  }

  testing::TemporaryDirectory directory_;
  std::string key_;
  Findings findings_{nullptr};
};

TEST_F(ConfigChecksTest, WorldReadablePasswordIsNamedButNotPrinted) {
  const auto& found = Look(kText, 0644);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].severity, Severity::kWarning);
  EXPECT_THAT(found[0].text, HasSubstr("kafka.sasl_password"));
  EXPECT_THAT(found[0].remedy, HasSubstr("chmod o= " + directory_.File("walrelay.toml")));
  EXPECT_THAT(found[0].text + found[0].remedy, Not(HasSubstr("hunter2")));
}

TEST_F(ConfigChecksTest, PasswordInTheConnectionStringIsFoundToo) {
  const auto& found = Look(
      "[source]\ndsn = \"postgresql://u:hunter2@127.0.0.1/d\"\n"
      "[kafka]\nbootstrap_servers = \"127.0.0.1:1\"\n",
      0644);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].text, HasSubstr("source.dsn"));
}

TEST_F(ConfigChecksTest, FileThatIsNotWorldReadableIsAccepted) {
  EXPECT_THAT(Look(kText, 0640), IsEmpty());
}

TEST_F(ConfigChecksTest, SecretFromAFlagIsNotReportedForTheFile) {
  EXPECT_THAT(Look("[source]\ndsn = \"host=127.0.0.1 user=u\"\n"
                   "[kafka]\nbootstrap_servers = \"127.0.0.1:1\"\n",
                   0644, {{"kafka.sasl_password", "hunter2"}}),
              IsEmpty());
}

TEST_F(ConfigChecksTest, WorldReadableKeyFileIsNamed) {
  key_ = directory_.Write("key.pem", "key", 0644);
  const auto& found = Look(kText, 0600);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].text, HasSubstr("kafka.ssl_key_file"));
}

TEST_F(ConfigChecksTest, CredentialsOfSystemdAreNamed) {
  Config config;
  config.source.password_file = "/etc/walrelay/postgres.password";
  CheckCredentials(config, findings_);
  EXPECT_THAT(findings_.all(), IsEmpty());
  config.kafka.sasl_password_file = "/run/credentials/walrelay.service/kafka";
  CheckCredentials(config, findings_);
  ASSERT_EQ(findings_.all().size(), 1U);
  EXPECT_THAT(findings_.all()[0].text, HasSubstr("kafka.sasl_password_file is a credential"));
}

}  // namespace
}  // namespace walrelay
