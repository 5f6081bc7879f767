#include "sinks/kafka/client/client_health.h"

#include <gtest/gtest.h>

#include "fakes/kafka_fixture.h"
#include "sinks/kafka/client/conf.h"
#include "sinks/kafka/client/handles.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

using std::chrono::seconds;

class ClientHealthTest : public testing::MockKafkaFixture {
 protected:
  // A client whose logins fail: the mock does not support them.
  KafkaClient MakeRefusedClient() {
    config_.kafka.security_protocol = "SASL_PLAINTEXT";
    config_.kafka.sasl_mechanism = "SCRAM-SHA-256";
    config_.kafka.sasl_username = "user";
    config_.kafka.sasl_password = Secret("password");
    auto conf = MakeProducerConf(config_.kafka, config_.pipeline, config_.kafka.max_batch_bytes);
    EXPECT_TRUE(conf.ok()) << conf.status();
    auto client = MakeClient(RD_KAFKA_PRODUCER, *std::move(conf));
    EXPECT_TRUE(client.ok()) << client.status();
    return *std::move(client);
  }
};

TEST_F(ClientHealthTest, RefusedLoginIsForgottenWhenABrokerHasAnswered) {
  const KafkaClient client = MakeRefusedClient();
  const KafkaQueue queue(rd_kafka_queue_get_main(client.get()));
  ClientHealth health(client.get());
  const MonoTime first{seconds(1000)};
  const MonoTime later = first + seconds(60);
  const auto deadline = std::chrono::steady_clock::now() + testing::kTimeout;
  while (!health.LoginRefusedFor(seconds(30), later) &&
         std::chrono::steady_clock::now() < deadline) {
    const KafkaEvent event(rd_kafka_queue_poll(queue.get(), 100));
    if (event != nullptr && rd_kafka_event_type(event.get()) == RD_KAFKA_EVENT_ERROR) {
      health.OnError(event.get(), first);
    }
  }
  ASSERT_TRUE(health.LoginRefusedFor(seconds(30), later));
  health.OnBrokerAnswered();
  EXPECT_FALSE(health.LoginRefusedFor(seconds(30), later));
  EXPECT_TRUE(health.trouble().ok());
}

}  // namespace
}  // namespace walrelay
