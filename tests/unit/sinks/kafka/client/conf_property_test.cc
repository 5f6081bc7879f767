#include "sinks/kafka/client/conf_property.h"

#include <gtest/gtest.h>

#include "fakes/status_matchers.h"
#include "fakes/temporary_directory.h"
#include "sinks/kafka/client/handles.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

class ConfPropertyTest : public ::testing::Test {
 protected:
  KafkaConf conf_{rd_kafka_conf_new()};
};

// librdkafka ends this error message with a line feed.
TEST_F(ConfPropertyTest, ErrorIsOneLine) {
  const absl::Status status = SetProperty(conf_.get(), "queue.buffering.max.ms", "-1");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(std::string(status.message()).find("x0a"), std::string::npos) << status;
}

TEST_F(ConfPropertyTest, ValueIsThatOfTheAlias) {
  EXPECT_THAT(SetProperty(conf_.get(), "linger.ms", "7"), IsOk());
  EXPECT_EQ(ConfValue(*conf_, "queue.buffering.max.ms"), "7");
  EXPECT_EQ(ConfValue(*conf_, "no.such.property"), "");
}

TEST_F(ConfPropertyTest, FileTakesPrecedenceOverTheSecret) {
  const testing::TemporaryDirectory directory;
  EXPECT_THAT(SetSecret(conf_.get(), "sasl.password", Secret("value"), ""), IsOk());
  EXPECT_EQ(ConfValue(*conf_, "sasl.password"), "value");
  EXPECT_THAT(SetSecret(conf_.get(), "sasl.password", Secret("value"),
                        directory.Write("password", "content\n")),
              IsOk());
  EXPECT_EQ(ConfValue(*conf_, "sasl.password"), "content");
}

}  // namespace
}  // namespace walrelay
