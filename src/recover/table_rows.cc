#include "recover/table_rows.h"

#include <memory>
#include <utility>
#include <vector>

#include "postgres/row_reader.h"
#include "postgres/session.h"
#include "walrelay/config.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

constexpr uint64_t kRowsBetweenReports = 10'000;

// Accepts every record and sends none.
class SilentSink final : public Sink {
 public:
  // Reported as delivered at the next Poll().
  absl::StatusOr<Offered> Produce(const Record& record, DeliveryToken token) override {
    deliveries_.push_back({.token = token, .bytes = record.window_bytes()});
    return Wait::kNone;
  }
  void Poll(DeliveryListener& listener) override {
    for (const Delivery& delivery : std::exchange(deliveries_, {})) {
      listener.OnDelivered(delivery);
    }
  }
  absl::Status FatalError() const override { return absl::OkStatus(); }
  int poll_fd() const override { return -1; }

 private:
  std::vector<Delivery> deliveries_;
};

absl::StatusOr<std::unique_ptr<Sink>> MakeSilentSink(const SinkRequest& /*request*/) {
  return std::make_unique<SilentSink>();
}

RowSelection SelectionOf(const RowsToRecover& rows) {
  RowSelection selection{.order_by = rows.order_by};
  switch (rows.since) {
    case RowsSince::kHorizon:
      selection.xid_from = rows.from_xid;
      selection.proven_from = rows.proven_from;
      selection.proven_as_of = rows.proven_as_of;
      selection.proven_time_column = rows.proven_time_column;
      selection.attachments_known = rows.attachments_known;
      break;
    case RowsSince::kTime:
      selection.since = rows.time;
      selection.time_column = rows.time_column;
      break;
    case RowsSince::kId:
      selection.after_id = rows.after_id;
      break;
    case RowsSince::kAll:
      break;
  }
  return selection;
}

}  // namespace

absl::StatusOr<uint64_t> TableRows::CountBefore(uint64_t xid) {
  WR_ASSIGN_OR_RETURN(PgConnection connection, ConnectTo(config_.source));
  WR_ASSIGN_OR_RETURN(RowReader reader, RowReader::Open(std::move(connection), config_.source,
                                                        config_.route, {.xid_before = xid}));
  return reader.Count();
}

absl::StatusOr<RecoveredRows> TableRows::Count(const RowsToRecover& rows, const Filter& filter) {
  RowPublisher::Options options;
  options.on_refused = [](const RowPublisher::Refusal&) {};
  options.wait = [](int /*fd*/, Micros /*timeout*/) {};
  return Run(rows, /*snapshot=*/"", filter, MakeSilentSink, std::move(options));
}

absl::StatusOr<RecoveredRows> TableRows::Publish(const RowsToRecover& rows,
                                                 const std::string& snapshot, std::string_view plan,
                                                 const Filter& filter) {
  RowPublisher::Options options;
  options.headers = {{std::string(kHeader), std::string(plan)}};
  options.on_refused = reports_.on_refused;
  return Run(rows, snapshot, filter, make_sink_, std::move(options));
}

absl::StatusOr<RecoveredRows> TableRows::Run(const RowsToRecover& rows, const std::string& snapshot,
                                             const Filter& filter, const SinkMaker& make_sink,
                                             RowPublisher::Options options) {
  WR_ASSIGN_OR_RETURN(PgConnection connection, ConnectTo(config_.source));
  WR_ASSIGN_OR_RETURN(RowReader reader,
                      RowReader::Open(std::move(connection), config_.source, config_.route,
                                      SelectionOf(rows), snapshot));
  absl::Status filtered;  // the error of the filter, which ends the pass
  options.filter = [&](const OutboxRow& /*row*/, const Record& record) {
    const auto missing = filter(record);
    filtered.Update(missing.status());
    return missing.ok() && *missing;
  };
  WR_ASSIGN_OR_RETURN(const auto publisher,
                      RowPublisher::Create(config_, make_sink, clock_, std::move(options)));
  publisher->UseTables(reader.tables(), reader.relations());
  RecoveredRows counts{.order = reader.order(), .origins_unknown = reader.origins_unknown()};
  while (true) {
    WR_ASSIGN_OR_RETURN(const auto row, reader.Next());
    if (!row) {
      break;
    }
    WR_RETURN_IF_ERROR(publisher->Publish(*row));
    WR_RETURN_IF_ERROR(filtered);
    if (++counts.rows % kRowsBetweenReports == 0 && reports_.on_progress) {
      reports_.on_progress(counts.rows);
    }
  }
  WR_RETURN_IF_ERROR(publisher->Finish());
  WR_RETURN_IF_ERROR(filtered);
  const RowPublisher::Counts& done = publisher->counts();
  counts.published = done.published;
  counts.found = done.filtered;
  counts.skipped = done.skipped;
  counts.dead_letters = done.dead_letters;
  return counts;
}

}  // namespace walrelay
