// The core of the relay between a byte stream and a producer that accepts every record: the code
// between the two sockets, without I/O.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "base/check.h"
#include "base/endian.h"
#include "base/system_clock.h"
#include "fakes/pgoutput_writer.h"
#include "fakes/sole_metrics.h"
#include "metrics/metrics.h"
#include "pgoutput/copy_data.h"
#include "pgoutput/type_oids.h"
#include "publish/record_sender.h"
#include "relay/pipeline.h"
#include "walrelay/config.h"
#include "walrelay/sink.h"

namespace walrelay::bench {

constexpr uint32_t kOutboxOid = 16385;

inline std::vector<testing::ColumnSpec> OutboxColumns() {
  return {{"id", pgoutput::kUuidOid, true}, {"aggregate_type"}, {"aggregate_id"}, {"event_type"},
          {"payload", pgoutput::kJsonbOid}, {"trace_id"}};
}

// A row of the benchmark's outbox table, with a payload of about `payload` bytes.
inline testing::Row OutboxRow(size_t payload) {
  return testing::TextRow({"6f5252e0-0b5c-4b1e-9a67-3c1c4f0f7a11", "order", "customer-4711",
                           "OrderPlaced",
                           R"({"total": 4200, "lines": [1, 2, 3], "note": ")" +
                               std::string(payload > 50 ? payload - 50 : 0, 'x') + "\"}",
                           "4bf92f3577b34da6a3ce929d0e0e4736"});
}

class AcceptAll final : public Sink {
 public:
  absl::StatusOr<Offered> Produce(const Record& record, DeliveryToken token) override {
    last_ = Delivery{.token = token, .bytes = record.window_bytes()};
    return Wait::kNone;
  }
  void Poll(DeliveryListener&) override {}
  absl::Status FatalError() const override { return absl::OkStatus(); }
  int poll_fd() const override { return -1; }

  const Delivery& last() const { return last_; }

 private:
  Delivery last_;
};

class CoreOnBytes {
 public:
  CoreOnBytes(const FormatConfig& format, size_t payload)
      : config_(WithFormat(format)),
        sender_(producer_, tracker_, metrics_, clock_, nullptr),
        pipeline_(config_, MakeRouter(config_), tracker_, sender_, metrics_),
        begin_(testing::XLogDataMessage(testing::BeginMessage(Lsn(), {}, 7))),
        insert_(testing::XLogDataMessage(testing::InsertMessage(kOutboxOid, OutboxRow(payload)))),
        commit_(testing::XLogDataMessage(testing::CommitMessage(Lsn(), Lsn(), {}))) {
    const TableInfo outbox{.schema = "public", .name = "outbox", .oid = kOutboxOid};
    pipeline_.StartSession({&outbox, 1});
    tracker_.Restart(Lsn(1));
    Handle(testing::XLogDataMessage(
        testing::RelationMessage(kOutboxOid, "public", "outbox", OutboxColumns())));
  }

  // Relays a transaction of one row and acknowledges its record at once.
  void RelayOne() {
    lsn_ += 512;
    Begin();
    Handle(insert_);
    Commit();
    tracker_.OnDelivered(producer_.last().token, producer_.last().bytes);
    WR_CHECK(tracker_.frontier() == Lsn(lsn_ + 48), "the acknowledged position is confirmed");
  }

  size_t bytes_per_event() const { return begin_.size() + insert_.size() + commit_.size(); }

 private:
  static constexpr size_t kPayload = 25;  // after the header of an XLogData message

  static Config WithFormat(const FormatConfig& format) {
    Config config;
    config.format = format;
    return config;
  }
  static Router MakeRouter(const Config& config) {
    auto router = Router::Create(config.source, config.route, config.format);
    WR_CHECK(router.ok(), "the configuration is valid");
    return *std::move(router);
  }

  void Begin() {
    StoreBigEndian(lsn_, &begin_[kPayload + 1]);
    Handle(begin_);
  }
  void Commit() {
    StoreBigEndian(lsn_, &commit_[kPayload + 2]);
    StoreBigEndian(lsn_ + 48, &commit_[kPayload + 10]);
    Handle(commit_);
  }
  void Handle(const std::string& message) {
    const auto data = pgoutput::DecodeCopyData(message);
    WR_CHECK(data.ok(), "the message has a valid frame");
    const auto wait = pipeline_.Handle(std::get<pgoutput::XLogData>(*data));
    WR_CHECK(wait.ok() && *wait == Wait::kNone, "the message is valid");
  }

  Config config_;
  testing::SoleMetrics metrics_;
  AckTracker tracker_;
  AcceptAll producer_;
  SystemClock clock_;
  RecordSender sender_;
  Pipeline pipeline_;
  std::string begin_, insert_, commit_;
  uint64_t lsn_ = 4096;
};

}  // namespace walrelay::bench
