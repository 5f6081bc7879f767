#include "debezium/connector_transforms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "debezium/debezium_tables.h"
#include "fakes/status_matchers.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using ::testing::HasSubstr;

class ConnectorTransformsTest : public ::testing::Test {
 protected:
  ConnectorTransforms Find(const std::string& list) {
    connector_["transforms"] = list;
    auto found = ConnectorTransforms::Find(connector_);
    EXPECT_THAT(found, IsOk());
    return found.ok() ? *std::move(found) : ConnectorTransforms();
  }

  DebeziumOptions connector_ = {
      {"transforms.events.type", "io.debezium.transforms.outbox.EventRouter"},
      {"transforms.decode.type",
       "io.debezium.connector.postgresql.transforms."
       "DecodeLogicalDecodingMessageContent"},
      {"transforms.unwrap.type", "io.debezium.transforms.ExtractNewRecordState"}};
};

TEST_F(ConnectorTransformsTest, RouterAndDecoderAreFoundByTheirClasses) {
  const ConnectorTransforms transforms = Find("decode, events");
  EXPECT_EQ(transforms.router(), "transforms.events.");
  EXPECT_EQ(transforms.decoder(), "transforms.decode.");
  EXPECT_EQ(transforms.TranslateList().outcome, PropertyOutcome::kEquivalent);
}

TEST_F(ConnectorTransformsTest, DecoderBehindTheRouterIsAnotherTransform) {
  const ConnectorTransforms transforms = Find("events,decode");
  EXPECT_EQ(transforms.decoder(), "");
  const DebeziumTables tables(connector_, transforms.router(), /*messages=*/false);
  const PropertyResult result = transforms.TranslateOther("decode.type", tables);
  EXPECT_EQ(result.outcome, PropertyOutcome::kRefused);
  EXPECT_THAT(result.note, HasSubstr("decode (io.debezium.connector"));
}

TEST_F(ConnectorTransformsTest, ConnectorWithoutTheRouterIsRefused) {
  connector_["transforms"] = "unwrap";
  EXPECT_THAT(ConnectorTransforms::Find(connector_),
              HasError(ErrorCode::kConnectorRefused, "outbox.EventRouter"));
}

}  // namespace
}  // namespace walrelay
