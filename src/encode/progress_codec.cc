#include "encode/progress_codec.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/text.h"
#include "walrelay/error.h"
#include "walrelay/progress/v1/progress.pb.h"

namespace walrelay {
namespace {

using ProgressMessage = progress::v1::Progress;

constexpr uint32_t kReadableFormat = 1;
// A record has some hundred bytes, and 15 for each timeline of the server.
constexpr size_t kMaxRecordBytes = 64 * 1024;
constexpr size_t kMaxTextBytes = 1024;
// The last escape sequence and the mark of the truncation may exceed it.
constexpr size_t kMaxWrittenBytes = kMaxTextBytes - 8;
constexpr int kMaxHorizons = 4;
// A relay with more outbox tables, or a table that is published in more ways, does not record its
// publication.
constexpr size_t kMaxTables = 64;
constexpr size_t kMaxMemberships = 16;
constexpr int kMaxAncestors = 1000;
// The years that Rfc3339() can print.
constexpr WallTime kFirstTime = std::chrono::sys_days(std::chrono::January / 1 / 0);
constexpr WallTime kEndOfTime = std::chrono::sys_days(std::chrono::January / 1 / 10'000);

absl::Status Unreadable(std::string_view reason) {
  return Error(ErrorCode::kProgressUnreadable, reason);
}

int64_t ToMicros(WallTime time) {
  return time.time_since_epoch().count();
}

WallTime FromMicros(int64_t micros) {
  return WallTime(Micros(micros));
}

absl::Status CheckText(std::string_view name, std::string_view text) {
  if (text.size() > kMaxTextBytes) {
    return Unreadable(
        fmt::format("{}: {} bytes; expected at most {}", name, text.size(), kMaxTextBytes));
  }
  return Printable(text, kMaxTextBytes) == text
             ? absl::OkStatus()
             : Unreadable(
                   fmt::format("{}: control characters in \"{}\"", name, Printable(text, 200)));
}

absl::Status CheckTexts(const ProgressMessage& message) {
  WR_RETURN_IF_ERROR(CheckText("pipeline", message.pipeline()));
  WR_RETURN_IF_ERROR(CheckText("system_id", message.system_id()));
  WR_RETURN_IF_ERROR(CheckText("database", message.database()));
  WR_RETURN_IF_ERROR(CheckText("slot", message.slot()));
  WR_RETURN_IF_ERROR(CheckText("cluster_id", message.cluster_id()));
  WR_RETURN_IF_ERROR(CheckText("run_id", message.run_id()));
  return CheckText("version", message.version());
}

absl::Status CheckTime(std::string_view name, int64_t micros) {
  const WallTime time = FromMicros(micros);
  return time >= kFirstTime && time < kEndOfTime
             ? absl::OkStatus()
             : Unreadable(fmt::format("{}: {} is outside the years 0 to 9999", name, micros));
}

absl::Status CheckHorizons(const ProgressMessage& message) {
  if (message.horizons_size() > kMaxHorizons) {
    return Unreadable(
        fmt::format("{} horizons; expected at most {}", message.horizons_size(), kMaxHorizons));
  }
  uint64_t previous = 0;
  for (const auto& horizon : message.horizons()) {
    if (horizon.xid() < previous) {
      return Unreadable(fmt::format("horizons: {} follows {}; expected ascending transaction ids",
                                    horizon.xid(), previous));
    }
    WR_RETURN_IF_ERROR(CheckTime("horizons.taken_us", horizon.taken_us()));
    previous = horizon.xid();
  }
  return absl::OkStatus();
}

absl::Status CheckSeenPublication(const ProgressMessage& message) {
  const auto& publication = message.seen_publication();
  WR_RETURN_IF_ERROR(CheckText("seen_publication.name", publication.name()));
  if (publication.tables_size() > static_cast<int>(kMaxTables)) {
    return Unreadable(
        fmt::format("{} tables; expected at most {}", publication.tables_size(), kMaxTables));
  }
  for (const auto& table : publication.tables()) {
    WR_RETURN_IF_ERROR(CheckText("seen_publication.tables.name", table.name()));
    if (table.memberships_size() > static_cast<int>(kMaxMemberships)) {
      return Unreadable(fmt::format("{} memberships; expected at most {}", table.memberships_size(),
                                    kMaxMemberships));
    }
  }
  return absl::OkStatus();
}

// A code of a later version says no less than that an operator must decide.
absl::Status CheckHeld(const ProgressMessage& message) {
  if (!message.has_held()) {
    return absl::OkStatus();
  }
  WR_RETURN_IF_ERROR(CheckText("held.id", message.held().id()));
  WR_RETURN_IF_ERROR(CheckText("held.reason", message.held().reason()));
  const auto catalogue = ErrorCatalogue();
  const bool known = std::any_of(catalogue.begin(), catalogue.end(), [&](const ErrorEntry& entry) {
    return static_cast<uint32_t>(entry.code) == message.held().code() &&
           entry.reaction == Reaction::kGap;
  });
  return known ? absl::OkStatus()
               : Unreadable(
                     fmt::format("held.code: {} is not the code of a gap", message.held().code()));
}

absl::Status CheckMembers(const ProgressMessage& message) {
  WR_RETURN_IF_ERROR(CheckTexts(message));
  WR_RETURN_IF_ERROR(CheckTime("commit_time_us", message.commit_time_us()));
  WR_RETURN_IF_ERROR(CheckTime("partial_commit_time_us", message.partial_commit_time_us()));
  WR_RETURN_IF_ERROR(CheckTime("latest_commit_us", message.latest_commit_us()));
  WR_RETURN_IF_ERROR(CheckTime("written_us", message.written_us()));
  WR_RETURN_IF_ERROR(CheckTime("published_from_us", message.published_from_us()));
  WR_RETURN_IF_ERROR(CheckHorizons(message));
  WR_RETURN_IF_ERROR(CheckHeld(message));
  WR_RETURN_IF_ERROR(CheckSeenPublication(message));
  if (message.ancestors_size() > kMaxAncestors) {
    return Unreadable(
        fmt::format("{} ancestors; expected at most {}", message.ancestors_size(), kMaxAncestors));
  }
  return absl::OkStatus();
}

// As the field says. Versions that did not write it always counted a last transaction, and then
// nothing else.
Lsn SettledBefore(const ProgressMessage& message) {
  const Lsn behind_last(message.commit_lsn() == 0 ? 0 : message.commit_lsn() + 1);
  const bool written = message.has_settled_before() || behind_last.valid();
  return written ? std::max(Lsn(message.settled_before()), behind_last) : Lsn(message.frontier());
}

bool FitsIntoRecord(const PublicationIdentity& publication) {
  return publication.tables.size() <= kMaxTables &&
         std::all_of(publication.tables.begin(), publication.tables.end(),
                     [](const TableIdentity& table) {
                       return table.memberships.size() <= kMaxMemberships &&
                              Printable(table.name, kMaxTextBytes) == table.name;
                     });
}

void EncodeSeenPublication(const SeenPublication& seen, progress::v1::Progress::Publication& out) {
  const PublicationIdentity& publication = seen.state.identity;
  out.set_name(seen.name);
  out.set_oid(publication.oid);
  out.set_xmin(publication.xmin);
  out.set_owner(publication.owner);
  out.set_all_tables(publication.all_tables);
  for (const TableIdentity& each : publication.tables) {
    auto* table = out.add_tables();
    table->set_name(each.name);
    table->set_oid(each.oid);
    table->set_owner(each.owner);
    table->set_row_type_xmin(each.renamed_by);
    for (const Membership& row : each.memberships) {
      auto* membership = table->add_memberships();
      membership->set_oid(row.oid);
      membership->set_xmin(row.xmin);
    }
  }
  out.set_before(seen.state.before.value());
}

SeenPublication DecodeSeenPublication(const progress::v1::Progress::Publication& message) {
  SeenPublication seen{.name = message.name(),
                       .state = {.identity = {.oid = message.oid(),
                                              .xmin = message.xmin(),
                                              .owner = message.owner(),
                                              .all_tables = message.all_tables(),
                                              .tables = {}},
                                 .before = Lsn(message.before()),
                                 .after = Lsn()}};
  for (const auto& each : message.tables()) {
    TableIdentity table{.name = each.name(),
                        .oid = each.oid(),
                        .owner = each.owner(),
                        .renamed_by = each.row_type_xmin()};
    for (const auto& row : each.memberships()) {
      table.memberships.push_back({.oid = row.oid(), .xmin = row.xmin()});
    }
    seen.state.identity.tables.push_back(std::move(table));
  }
  return seen;
}

}  // namespace

// Printable(), because a text that is not UTF-8, such as a name in a SQL_ASCII database, would make
// the record unreadable.
std::string EncodeProgress(const Progress& progress) {
  WR_CHECK(progress.horizons.size() <= kMaxHorizons, "a record has at most four horizons");
  ProgressMessage message;
  message.set_format(kReadableFormat);
  message.set_pipeline(Printable(progress.pipeline, kMaxWrittenBytes));
  message.set_system_id(Printable(progress.system_id, kMaxWrittenBytes));
  message.set_timeline(progress.timeline);
  // The latest ones: they decide whether a position is on a server's timeline.
  const size_t skipped =
      progress.ancestors.size() - std::min<size_t>(progress.ancestors.size(), kMaxAncestors);
  for (size_t i = skipped; i < progress.ancestors.size(); ++i) {
    auto* ancestor = message.add_ancestors();
    ancestor->set_timeline(progress.ancestors[i].timeline);
    ancestor->set_end(progress.ancestors[i].end.value());
  }
  message.set_database(Printable(progress.database, kMaxWrittenBytes));
  message.set_database_oid(progress.database_oid);
  message.set_slot(Printable(progress.slot, kMaxWrittenBytes));
  message.set_cluster_id(Printable(progress.cluster_id, kMaxWrittenBytes));
  message.set_commit_lsn(progress.last.commit_lsn.value());
  message.set_transaction_id(progress.last.xid);
  message.set_commit_time_us(ToMicros(progress.last.commit_time));
  message.set_frontier(progress.frontier.value());
  message.set_settled_before(progress.settled_before.value());
  if (progress.latest_commit != WallTime::max()) {
    message.set_latest_commit_us(ToMicros(progress.latest_commit));
  }
  for (const XidHorizon& each : progress.horizons) {
    auto* horizon = message.add_horizons();
    horizon->set_xid(each.xid);
    horizon->set_insert_lsn(each.insert_lsn.value());
    horizon->set_taken_us(ToMicros(each.taken));
  }
  message.set_published_from_xid(progress.published_from.xid);
  message.set_published_from_us(ToMicros(progress.published_from.taken));
  message.set_publication(progress.publication);
  const auto& seen = progress.seen_publication;
  if (seen && Printable(seen->name, kMaxTextBytes) == seen->name &&
      FitsIntoRecord(seen->state.identity)) {
    EncodeSeenPublication(*seen, *message.mutable_seen_publication());
  }
  message.set_run_id(Printable(progress.run_id, kMaxWrittenBytes));
  message.set_sequence(progress.sequence);
  message.set_written_us(ToMicros(progress.written));
  message.set_version(Printable(progress.version, kMaxWrittenBytes));
  message.set_generation(progress.generation);
  if (progress.held) {
    auto* held = message.mutable_held();
    held->set_code(static_cast<uint32_t>(progress.held->code));
    held->set_id(Printable(progress.held->id, kMaxWrittenBytes));
    held->set_reason(Printable(progress.held->reason, kMaxWrittenBytes));
    held->set_from(progress.held->from.value());
    held->set_to(progress.held->to.value());
  }
  if (progress.partial.valid()) {
    message.set_partial_commit_lsn(progress.partial.transaction.commit_lsn.value());
    message.set_partial_transaction_id(progress.partial.transaction.xid);
    message.set_partial_commit_time_us(ToMicros(progress.partial.transaction.commit_time));
    message.set_partial_row_lsn(progress.partial.row_lsn.value());
    message.set_partial_row_index(progress.partial.row_index);
  }
  return message.SerializeAsString();
}

absl::StatusOr<Progress> DecodeProgress(std::string_view value) {
  if (value.size() > kMaxRecordBytes) {
    return Unreadable(
        fmt::format("a value of {} bytes; expected at most {}", value.size(), kMaxRecordBytes));
  }
  ProgressMessage message;
  if (!message.ParseFromArray(value.data(), static_cast<int>(value.size()))) {
    return Unreadable("the value is not a walrelay.progress.v1.Progress");
  }
  if (message.format() != kReadableFormat) {
    return Unreadable(message.format() == 0
                          ? "the value has no format number"
                          : fmt::format("format {}; this version of walrelay reads format {}",
                                        message.format(), kReadableFormat));
  }
  WR_RETURN_IF_ERROR(CheckMembers(message));
  Progress progress{
      .pipeline = message.pipeline(),
      .system_id = message.system_id(),
      .timeline = message.timeline(),
      .database = message.database(),
      .database_oid = message.database_oid(),
      .slot = message.slot(),
      .cluster_id = message.cluster_id(),
      .generation = message.generation(),
      .frontier = Lsn(message.frontier()),
      .settled_before = SettledBefore(message),
      .last = {.commit_lsn = Lsn(message.commit_lsn()),
               .xid = message.transaction_id(),
               .commit_time = FromMicros(message.commit_time_us())},
      .partial = {.transaction = {.commit_lsn = Lsn(message.partial_commit_lsn()),
                                  .xid = message.partial_transaction_id(),
                                  .commit_time = FromMicros(message.partial_commit_time_us())},
                  .row_lsn = Lsn(message.partial_row_lsn()),
                  .row_index = message.partial_row_index()},
      .published_from = {.xid = message.published_from_xid(),
                         .taken = FromMicros(message.published_from_us())},
      .publication = message.publication(),
      .run_id = message.run_id(),
      .sequence = message.sequence(),
      .written = FromMicros(message.written_us()),
      .version = message.version()};
  if (message.has_latest_commit_us()) {
    progress.latest_commit = FromMicros(message.latest_commit_us());
  }
  if (message.has_held()) {
    progress.held = HeldGap{.code = static_cast<ErrorCode>(message.held().code()),
                            .id = message.held().id(),
                            .reason = message.held().reason(),
                            .from = Lsn(message.held().from()),
                            .to = Lsn(message.held().to())};
  }
  if (message.has_seen_publication()) {
    progress.seen_publication = DecodeSeenPublication(message.seen_publication());
  }
  for (const auto& ancestor : message.ancestors()) {
    progress.ancestors.push_back({.timeline = ancestor.timeline(), .end = Lsn(ancestor.end())});
  }
  for (const auto& horizon : message.horizons()) {
    progress.horizons.push_back({.xid = horizon.xid(),
                                 .insert_lsn = Lsn(horizon.insert_lsn()),
                                 .taken = FromMicros(horizon.taken_us())});
  }
  return progress;
}

}  // namespace walrelay
