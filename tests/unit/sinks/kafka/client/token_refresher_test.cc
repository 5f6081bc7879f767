#include "sinks/kafka/client/token_refresher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <mutex>

#include "base/system_clock.h"
#include "fakes/status_matchers.h"
#include "fakes/temporary_directory.h"
#include "sinks/kafka/client/conf.h"
#include "sinks/kafka/client/delivery_error.h"
#include "sinks/kafka/client/handles.h"
#include "walrelay/config.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kRefreshTimeout{30};

// What a source did and has to do, shared with the test.
struct Script {
  std::mutex mutex;
  Micros lifetime = hours(1);  // of the tokens, from each Fetch()
  absl::Status error;          // instead of a token
  bool hangs = false;          // until the interrupt
  int fetched = 0;
  bool interrupted = false;
};

class ScriptedSource final : public TokenSource {
 public:
  explicit ScriptedSource(Script& script) : script_(script) {}

  absl::StatusOr<Token> Fetch(int interrupt_fd) override {
    const std::lock_guard lock(script_.mutex);
    ++script_.fetched;
    if (script_.hangs) {
      pollfd interrupt{interrupt_fd, POLLIN, 0};
      ::poll(&interrupt, 1, 60'000);
      script_.interrupted = interrupt.revents != 0;
      return absl::CancelledError();
    }
    if (!script_.error.ok()) {
      return script_.error;
    }
    return Token{.value = Secret("token" + std::to_string(script_.fetched)),
                 .expiry = SystemClock().WallNow() + script_.lifetime};
  }

 private:
  Script& script_;
};

class TokenRefresherTest : public ::testing::Test {
 protected:
  // A client without brokers.
  TokenRefresherTest() {
    KafkaConfig kafka;
    kafka.security_protocol = "SASL_PLAINTEXT";
    kafka.sasl_mechanism = "OAUTHBEARER";
    kafka.oauth.token_file = "/none";
    auto conf = MakeProducerConf(kafka, PipelineConfig(), 1'000'000);
    EXPECT_THAT(conf, IsOk());
    conf->tokens.source.reset();
    client_ = *MakeClient(RD_KAFKA_PRODUCER, *std::move(conf));
    queue_.reset(rd_kafka_queue_get_main(client_.get()));
  }
  void Start(std::vector<std::string> extensions = {}) {
    refresher_ = std::make_unique<TokenRefresher>(
        client_.get(), TokenLogin{.source = std::make_unique<ScriptedSource>(script_),
                                  .extensions = std::move(extensions)});
  }
  int Fetched() {
    const std::lock_guard lock(script_.mutex);
    return script_.fetched;
  }
  bool WaitForFetches(int count) {
    const auto deadline = std::chrono::steady_clock::now() + kRefreshTimeout;
    while (Fetched() < count && std::chrono::steady_clock::now() < deadline) {
      ::poll(nullptr, 0, 5);
    }
    return Fetched() >= count;
  }
  // The client's next error event.
  absl::Status NextError() {
    const auto deadline = std::chrono::steady_clock::now() + kRefreshTimeout;
    while (std::chrono::steady_clock::now() < deadline) {
      const KafkaEvent event(rd_kafka_queue_poll(queue_.get(), 100));
      if (event != nullptr && rd_kafka_event_type(event.get()) == RD_KAFKA_EVENT_ERROR) {
        return ClientError(rd_kafka_event_error(event.get()),
                           rd_kafka_event_error_string(event.get()));
      }
    }
    return absl::OkStatus();
  }

  Script script_;
  KafkaClient client_;
  KafkaQueue queue_;
  std::unique_ptr<TokenRefresher> refresher_;
};

TEST_F(TokenRefresherTest, TokenIsReplacedBeforeItExpires) {
  script_.lifetime = seconds(2);
  Start({"logicalCluster", "lkc-1"});
  EXPECT_TRUE(WaitForFetches(3));
}

TEST_F(TokenRefresherTest, ValidTokenIsKept) {
  Start();
  ASSERT_TRUE(WaitForFetches(1));
  EXPECT_THAT(refresher_->failure(), IsOk());
  refresher_.reset();
  EXPECT_EQ(Fetched(), 1);
}

TEST_F(TokenRefresherTest, FailureIsAnErrorOfTheClientAndIsRetried) {
  script_.error = Error(ErrorCode::kKafkaToken, "no credentials");
  Start();
  const absl::Status error = NextError();
  EXPECT_THAT(error, HasError(ErrorCode::kKafkaToken));
  EXPECT_EQ(MessageOf(error), "no credentials");
  EXPECT_EQ(MessageOf(refresher_->failure()), "no credentials");
  EXPECT_TRUE(WaitForFetches(2));
}

TEST_F(TokenRefresherTest, TokenThatLibrdkafkaRejectsIsAnError) {
  Start({"auth", "reserved"});
  EXPECT_THAT(NextError(), HasError(ErrorCode::kKafkaToken));
}

TEST_F(TokenRefresherTest, DestructionInterruptsTheSource) {
  script_.hangs = true;
  Start();
  while (refresher_ != nullptr) {
    // The source holds the mutex while it hangs.
    if (!script_.mutex.try_lock()) {
      refresher_.reset();
    } else {
      script_.mutex.unlock();
    }
  }
  EXPECT_TRUE(script_.interrupted);
}

TEST_F(TokenRefresherTest, OtherReportsAreNoTokenFailures) {
  EXPECT_EQ(TokenFailure("Failed to acquire SASL OAUTHBEARER token: why"), "why");
  EXPECT_EQ(TokenFailure("SASL authentication error: why"), "");
}

// Each client of walrelay is created by MakeClient().
TEST_F(TokenRefresherTest, ClientsObtainTokensByThemselves) {
  const testing::TemporaryDirectory directory;
  KafkaConfig kafka;
  kafka.security_protocol = "SASL_PLAINTEXT";
  kafka.sasl_mechanism = "OAUTHBEARER";
  kafka.oauth.token_file = directory.File("missing");
  auto conf = MakeConsumerConf(kafka);
  ASSERT_THAT(conf, IsOk());
  rd_kafka_conf_set_events(conf->get(), RD_KAFKA_EVENT_ERROR);
  client_ = *MakeClient(RD_KAFKA_CONSUMER, *std::move(conf));
  queue_.reset(rd_kafka_queue_get_main(client_.get()));
  EXPECT_THAT(NextError(), HasError(ErrorCode::kKafkaToken));
  queue_.reset();
}

}  // namespace
}  // namespace walrelay
