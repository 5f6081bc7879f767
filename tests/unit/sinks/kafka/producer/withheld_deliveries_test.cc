// Deliveries that wait for a commit.

#include "sinks/kafka/producer/withheld_deliveries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fakes/status_matchers.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class WithheldDeliveriesTest : public ::testing::Test, public DeliveryListener {
 protected:
  void OnDelivered(const Delivery& delivery) override {
    std::string text = std::string(delivery.topic) + "/" + std::to_string(delivery.offset);
    if (delivery.key) {
      text += " key=" + std::string(*delivery.key);
    }
    for (const Header& header : delivery.headers) {
      text += " " + std::string(header.name) + "=" + std::string(header.value.value_or("NULL"));
    }
    delivered_.push_back(text);
    latencies_.push_back(delivery.latency);
  }
  void OnFailed(const DeliveryFailure& failure) override {
    EXPECT_TRUE(failure.purged);
    failed_.push_back(failure.token.transaction);
  }
  static Delivery Make(DeliveryToken token, int64_t offset, std::string_view key = "k") {
    Delivery delivery{.token = token, .bytes = 10, .latency = milliseconds(2), .topic = "orders"};
    delivery.offset = offset;
    delivery.key = key;
    return delivery;
  }

  std::vector<std::string> delivered_;
  std::vector<Micros> latencies_;
  std::vector<uint32_t> failed_;
  const MonoTime now_{milliseconds(100)};
};

TEST_F(WithheldDeliveriesTest, TheProgressRecordIsLast) {
  WithheldDeliveries withheld(/*details=*/false);
  withheld.Add(Make({1, 1}, 1), now_);
  withheld.Add(Make(DeliveryToken::Progress(), 2), now_);
  withheld.Add(Make({2, 1}, 3), now_);
  withheld.Release(*this, now_ + milliseconds(5));
  EXPECT_THAT(delivered_, ElementsAre("orders/1", "orders/3", "orders/2"));
  EXPECT_EQ(latencies_[0], milliseconds(7));
  withheld.Release(*this, now_);
  EXPECT_EQ(delivered_.size(), 3U);
}

TEST_F(WithheldDeliveriesTest, DetailsAreCopied) {
  WithheldDeliveries withheld(/*details=*/true);
  {
    std::string key = "key";
    const Header headers[] = {{"name", "value"}, {"null", std::nullopt}};
    Delivery delivery = Make({1, 1}, 1, key);
    delivery.headers = headers;
    withheld.Add(delivery, now_);
    key = "xxx";
  }
  withheld.Add(Make({2, 1}, 2, ""), now_);
  withheld.Release(*this, now_);
  EXPECT_THAT(delivered_, ElementsAre("orders/1 key=key name=value null=NULL", "orders/2 key="));
}

TEST_F(WithheldDeliveriesTest, AFailureForgetsThem) {
  WithheldDeliveries withheld(/*details=*/false);
  withheld.Add(Make({1, 1}, 1), now_);
  withheld.Add(Make({2, 1}, 2), now_);
  withheld.Fail(*this, Error(ErrorCode::kTransactionAborted, "why"));
  EXPECT_THAT(failed_, ElementsAre(1U, 2U));
  withheld.Release(*this, now_);
  EXPECT_THAT(delivered_, IsEmpty());
}

}  // namespace
}  // namespace walrelay
