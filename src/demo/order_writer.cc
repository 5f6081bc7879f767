#include "demo/order_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/check.h"
#include "base/quote.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

constexpr std::chrono::seconds kTimeout{30};
// Few customers, so that each key has several events and their order can be compared.
constexpr uint64_t kCustomers = 9;
// On average, one in so many transactions is rolled back, or uses a savepoint.
constexpr uint64_t kOneInRollsBack = 6;
constexpr uint64_t kOneInUsesASavepoint = 5;

// Version 4, variant 1 (RFC 9562).
std::string RandomUuid(std::mt19937_64& random) {
  const uint64_t a = random();
  const uint64_t b = random();
  return fmt::format("{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}", a >> 32, a >> 16 & 0xFFFF, a & 0xFFF,
                     0x8000 | (b >> 48 & 0x3FFF), b & 0xFFFFFFFFFFFF);
}

}  // namespace

OrderWriter::OrderWriter(PgConnection connection, std::string table, double transactions_per_second,
                         ExpectedEvents& expected)
    : connection_(std::move(connection)),
      table_(std::move(table)),
      rate_(transactions_per_second),
      expected_(expected),
      random_(std::random_device()()),
      thread_([this] { Run(); }) {}

OrderWriter::~OrderWriter() {
  (void)Stop();
}

absl::Status OrderWriter::Stop() {
  stopping_ = true;
  if (thread_.joinable()) {
    thread_.join();
  }
  return status_;
}

void OrderWriter::Run() {
  WR_CHECK(rate_ > 0, "the rate divides a second");
  const auto between = std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double>(1 / rate_));
  auto next = std::chrono::steady_clock::now();
  while (!stopping_ && status_.ok()) {
    status_ = OneTransaction();
    next += between;
    std::this_thread::sleep_until(next);  // sets the transaction rate
  }
}

absl::Status OrderWriter::OneTransaction() {
  const std::string customer = fmt::format("customer-{}", random_() % kCustomers + 1);
  std::vector<ExpectedEvent> events = {NewEvent(customer, "order", "OrderPlaced", {})};
  if (random_() % 2 == 0) {
    events.push_back(NewEvent("account-of-" + customer, "payment", "PaymentRequested", events));
  }
  WR_RETURN_IF_ERROR(Execute("BEGIN"));
  for (const ExpectedEvent& event : events) {
    WR_RETURN_IF_ERROR(Insert(event));
  }
  if (random_() % kOneInUsesASavepoint == 0) {
    // A discount that is rolled back: its event must not be published.
    WR_RETURN_IF_ERROR(Execute("SAVEPOINT discount"));
    WR_RETURN_IF_ERROR(Insert(NewEvent(customer, "order", "DiscountGranted", events)));
    WR_RETURN_IF_ERROR(Execute("ROLLBACK TO SAVEPOINT discount"));
    expected_.RolledBack(1);
  }
  if (random_() % kOneInRollsBack == 0) {
    expected_.RolledBack(events.size());
    return Execute("ROLLBACK");
  }
  // The demonstration does not break this connection: an error here ends it, and no commit with an
  // unknown outcome is compared.
  WR_RETURN_IF_ERROR(Execute("COMMIT"));
  expected_.Committed(events);
  return absl::OkStatus();
}

ExpectedEvent OrderWriter::NewEvent(const std::string& aggregate, std::string_view type,
                                    std::string_view event_type,
                                    const std::vector<ExpectedEvent>& before) {
  // Numbers of one key are consecutive within the transaction too, whether or not it commits.
  const auto same_key =
      std::count_if(before.begin(), before.end(),
                    [&](const ExpectedEvent& event) { return event.aggregate_id == aggregate; });
  return {.id = RandomUuid(random_),
          .aggregate_type = std::string(type),
          .aggregate_id = aggregate,
          .event_type = std::string(event_type),
          .number = expected_.NextNumber(aggregate) + static_cast<uint64_t>(same_key)};
}

absl::Status OrderWriter::Insert(const ExpectedEvent& event) {
  return Execute(fmt::format(
      "INSERT INTO {} (id, aggregate_type, aggregate_id, event_type, payload, trace_id) "
      "VALUES ({}, {}, {}, {}, {}, {})",
      table_, QuoteLiteral(event.id), QuoteLiteral(event.aggregate_type),
      QuoteLiteral(event.aggregate_id), QuoteLiteral(event.event_type),
      QuoteLiteral(PayloadOf(event)),
      QuoteLiteral(fmt::format("{:016x}{:016x}", random_(), random_()))));
}

absl::Status OrderWriter::Execute(const std::string& sql) {
  return connection_.Query(sql, kTimeout).status();
}

}  // namespace walrelay
