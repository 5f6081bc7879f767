// Credential files that change while a client is in use.

#include "sinks/kafka/client/credential_watch.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "fakes/status_matchers.h"
#include "fakes/temporary_directory.h"
#include "sinks/kafka/client/conf.h"
#include "sinks/kafka/client/conf_property.h"
#include "sinks/kafka/client/handles.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

constexpr std::chrono::seconds kChangeTimeout{30};
constexpr Micros kInterval = std::chrono::milliseconds(5);

class CredentialWatchTest : public ::testing::Test {
 protected:
  CredentialWatchTest() {
    KafkaConfig kafka;
    kafka.bootstrap_servers = "127.0.0.1:1";
    kafka.security_protocol = "SASL_PLAINTEXT";
    kafka.sasl_mechanism = "PLAIN";
    kafka.sasl_username = "walrelay";
    kafka.sasl_password = Secret("old");
    auto conf = MakeProducerConf(kafka, PipelineConfig(), 1'000'000);
    EXPECT_THAT(conf, IsOk());
    auto client = MakeClient(RD_KAFKA_PRODUCER, *std::move(conf));
    EXPECT_THAT(client, IsOk());
    client_ = *std::move(client);
  }

  void Start(CredentialFiles files) {
    watch_ = std::make_unique<CredentialWatch>(
        std::move(files), CredentialWatch::Credentials{"walrelay", Secret("old"), Secret("old")},
        kInterval);
    watch_->Start(client_.get());
  }
  // The password that the client uses to log in.
  std::string PasswordOfClient() {
    return ConfValue(*rd_kafka_conf(client_.get()), "sasl.password");
  }
  template <typename Condition>
  static bool WaitUntil(const Condition& condition) {
    const auto deadline = std::chrono::steady_clock::now() + kChangeTimeout;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > deadline) {
        return false;
      }
      std::this_thread::sleep_for(kInterval);
    }
    return true;
  }
  // Replaces a file as Kubernetes does: renames another file to its name.
  void Replace(const std::string& name, const std::string& content, mode_t mode = 0600) {
    const std::string next = directory_.Write(name + ".next", content, mode);
    std::filesystem::rename(next, directory_.File(name));
  }

  testing::TemporaryDirectory directory_;
  KafkaClient client_;
  std::unique_ptr<CredentialWatch> watch_;
};

TEST_F(CredentialWatchTest, ChangedPasswordIsPassedToTheClient) {
  const std::string file = directory_.Write("password", "old\n");
  Start({.password = file});
  Replace("password", "new\n");
  ASSERT_TRUE(WaitUntil([&] { return watch_->TakePasswordChange(); }));
  EXPECT_EQ(PasswordOfClient(), "new");
  EXPECT_FALSE(watch_->TakePasswordChange());
  EXPECT_FALSE(watch_->outdated());
}

TEST_F(CredentialWatchTest, PasswordChangedBeforeTheStartIsDetected) {
  Start({.password = directory_.Write("password", "new\n")});
  EXPECT_TRUE(WaitUntil([&] { return watch_->TakePasswordChange(); }));
}

TEST_F(CredentialWatchTest, TemporarilyUnusablePasswordFileIsRetried) {
  const std::string file = directory_.Write("password", "old\n");
  Start({.password = file});
  Replace("password", "world-readable", 0644);
  std::filesystem::remove(file);
  directory_.Write("password", "");  // it is being written
  Replace("password", "new\n");
  ASSERT_TRUE(WaitUntil([&] { return watch_->TakePasswordChange(); }));
  EXPECT_EQ(PasswordOfClient(), "new");
}

TEST_F(CredentialWatchTest, CheckNowDoesNotWaitForTheInterval) {
  const std::string file = directory_.Write("password", "old\n");
  CredentialWatch patient({.password = file}, {"walrelay", Secret("old"), Secret()},
                          std::chrono::hours(1));
  patient.Start(client_.get());
  Replace("password", "new\n");
  EXPECT_TRUE(WaitUntil([&] {
    patient.CheckNow();
    return patient.TakePasswordChange();
  }));
}

TEST_F(CredentialWatchTest, ReplacedCertificateOutdatesTheClient) {
  Start({.certificates = {directory_.Write("ca.pem", "one"), directory_.Write("key.pem", "one")}});
  Replace("key.pem", "two");
  EXPECT_TRUE(WaitUntil([&] { return watch_->outdated(); }));
}

TEST_F(CredentialWatchTest, CertificateBehindAReplacedLinkOutdatesTheClient) {
  directory_.Write("v1.pem", "one");
  directory_.Write("v2.pem", "one");
  const std::string link = directory_.File("ca.pem");
  std::filesystem::create_symlink(directory_.File("v1.pem"), link);
  Start({.certificates = {link}});
  std::filesystem::create_symlink(directory_.File("v2.pem"), directory_.File("next"));
  std::filesystem::rename(directory_.File("next"), link);
  EXPECT_TRUE(WaitUntil([&] { return watch_->outdated(); }));
}

TEST_F(CredentialWatchTest, ChangedKeyPasswordOutdatesTheClient) {
  Start({.key_password = directory_.Write("secret", "old")});
  Replace("secret", "new");
  EXPECT_TRUE(WaitUntil([&] { return watch_->outdated(); }));
  EXPECT_FALSE(watch_->TakePasswordChange());
}

TEST_F(CredentialWatchTest, MissingCertificateOutdatesNothingUntilItIsReplaced) {
  const std::string password = directory_.Write("password", "old");
  const std::string file = directory_.Write("ca.pem", "one");
  Start({.password = password, .certificates = {file}});
  std::filesystem::remove(file);
  // After two password changes, at least one complete check of the files has happened.
  for (const char* next : {"second", "third"}) {
    Replace("password", next);
    ASSERT_TRUE(WaitUntil([&] { return watch_->TakePasswordChange(); }));
  }
  EXPECT_FALSE(watch_->outdated());
  directory_.Write("ca.pem", "another");
  EXPECT_TRUE(WaitUntil([&] { return watch_->outdated(); }));
}

TEST_F(CredentialWatchTest, UnchangedFilesChangeNothing) {
  const std::string password = directory_.Write("password", "old");
  Start({.password = password,
         .key_password = directory_.Write("secret", "old"),
         .certificates = {directory_.Write("ca.pem", "one")}});
  for (const char* next : {"second", "third", "fourth"}) {
    Replace("password", next);
    ASSERT_TRUE(WaitUntil([&] { return watch_->TakePasswordChange(); }));
  }
  EXPECT_FALSE(watch_->outdated());
}

}  // namespace
}  // namespace walrelay
