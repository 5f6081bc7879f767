#include "dryrun/record_printer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/captured_stream.h"

namespace walrelay {
namespace {

using namespace std::string_view_literals;

const Header kHeaders[] = {{"id", "7"}, {"none", std::nullopt}, {"raw", "\xff"sv}};
const Record kRecord{.topic = "orders",
                     .key = "k",
                     .value = R"({"a": "ü"})",
                     .headers = kHeaders,
                     .partition = 3,
                     .timestamp = WallTime(Micros(1'795'162'442'000'123))};

TEST(RecordPrinterTest, TextIsOneReadableLine) {
  EXPECT_EQ(RecordText(kRecord),
            "orders[3]  2026-11-20T08:14:02.000123Z  key=k  id=7  none=NULL  raw=\\xff  "
            "value={\"a\": \"ü\"}");
}

TEST(RecordPrinterTest, TextEscapesControlCharacters) {
  EXPECT_EQ(RecordText({.topic = "t", .key = "\x1b[2J\n", .value = "\r"}),
            "t  now  key=\\x1b[2J\\x0a  value=\\x0d");
}

TEST(RecordPrinterTest, JsonHasEveryByte) {
  EXPECT_EQ(
      RecordJson(kRecord),
      R"({"topic":"orders","partition":3,"timestamp":"2026-11-20T08:14:02.000123Z","key":"k",)"
      R"("headers":[{"name":"id","value":"7"},{"name":"none","value":null},)"
      R"({"name":"raw","value_base64":"/w=="}],"value":"{\"a\": \"ü\"}"})");
}

TEST(RecordPrinterTest, JsonOfATombstoneHasNulls) {
  EXPECT_EQ(
      RecordJson({.topic = "t"}),
      R"({"topic":"t","partition":null,"timestamp":null,"key":null,"headers":[],"value":null})");
}

TEST(RecordPrinterTest, PrintedRecordIsDeliveredAtTheNextPoll) {
  struct Listener : DeliveryListener {
    std::vector<DeliveryToken> tokens;
    void OnDelivered(const Delivery& delivery) override { tokens.push_back(delivery.token); }
    void OnFailed(const DeliveryFailure&) override {}
  };
  RecordPrinter printer(false);
  const testing::CapturedStream out(stdout);
  EXPECT_EQ(*printer.Produce({.topic = "t"}, {5, 1}), Wait::kNone);
  EXPECT_EQ(out.Text(), "t  now  key=NULL  value=NULL\n");
  Listener listener;
  printer.Poll(listener);
  printer.Poll(listener);
  EXPECT_THAT(listener.tokens, ::testing::ElementsAre((DeliveryToken{5, 1})));
}

}  // namespace
}  // namespace walrelay
