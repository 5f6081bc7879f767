#include "republish/dead_letter_retry.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/system_clock.h"
#include "base/text.h"
#include "postgres/row_reader.h"
#include "postgres/session.h"
#include "republish/letter_row.h"
#include "walrelay/config.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// The timeout of reading the topic, which waits while letters are published.
constexpr std::chrono::hours kRunTimeout{24};

// An error of one letter ends nothing: it is reported, and the next letter follows.
class Retry {
 public:
  Retry(const Config& config, SinkFactory& sinks, const RetryOptions& options)
      : config_(config), options_(options), topic_(config.on_error, sinks) {}

  absl::StatusOr<RetryCounts> Run() {
    WR_RETURN_IF_ERROR(Prepare());
    absl::Status result = topic_.ForEach(
        [this](const DeadLetterEntry& entry) { return OnEntry(entry); }, kRunTimeout);
    const absl::Status finished = publisher_->Finish();
    result = result.ok() ? finished : result;
    // Also after an error: what was published is known.
    const absl::Status marked = Mark(1);
    WR_RETURN_IF_ERROR(result.ok() ? marked : result);
    return counts_;
  }

 private:
  absl::Status Prepare() {
    WR_ASSIGN_OR_RETURN(PgConnection connection, ConnectTo(config_.source));
    // Only for the descriptions of the tables.
    WR_ASSIGN_OR_RETURN(
        const RowReader reader,
        RowReader::Open(std::move(connection), config_.source, config_.route, RowSelection()));
    tables_.assign(reader.tables().begin(), reader.tables().end());
    relations_ = reader.relations();
    RowPublisher::Options options;
    options.headers = {{std::string(kRetriedHeader), options_.run}};
    options.filter = options_.filter;
    options.policy = [](const absl::Status& reason) {
      return ScopeOf(reason) == Scope::kRow ? OnError::kSkip : OnError::kStop;
    };
    options.on_refused = [this](const RowPublisher::Refusal& refusal) {
      Fail(offered_.at(refusal.number), refusal.reason);
    };
    options.on_published = [this](uint64_t number) {
      published_.push_back(offered_.at(number));
      ++counts_.published;
    };
    WR_ASSIGN_OR_RETURN(
        publisher_, RowPublisher::Create(config_, options_.make_sink, clock_, std::move(options)));
    return absl::OkStatus();
  }

  absl::Status OnEntry(const DeadLetterEntry& entry) {
    if (!options_.selection.Includes(entry)) {
      return absl::OkStatus();
    }
    if (entry.retried && !options_.selection.again) {
      ++counts_.retried;
      return absl::OkStatus();
    }
    if (!entry.letter) {
      Fail(entry.id, Error(ErrorCode::kValueInvalid, "the record is not a dead letter"));
      return absl::OkStatus();
    }
    const bool from_letter = options_.trust_topic && !IsIncomplete(*entry.letter, config_.source);
    WR_RETURN_IF_ERROR(from_letter ? PublishLetter(entry) : PublishFromTable(entry));
    return Mark(DeadLetterTopic::kLettersOfMark);
  }

  absl::Status PublishLetter(const DeadLetterEntry& entry) {
    auto relation = RelationOf(*entry.letter, config_.source, {tables_, relations_});
    if (!relation.ok()) {
      Fail(entry.id, relation.status());
      return absl::OkStatus();
    }
    WR_RETURN_IF_ERROR(Use(*std::move(relation)));
    const std::vector<pgoutput::TupleValue> values = ValuesOf(*entry.letter);
    return Publish(entry.id, {.relation = used_.back(),
                              .values = values,
                              .xid = entry.letter->position.xid,
                              .commit_time = entry.letter->position.commit_time});
  }

  // The commit time is the letter's: the server may not have recorded it.
  absl::Status PublishFromTable(const DeadLetterEntry& entry) {
    if (const auto relation = RelationOf(*entry.letter, config_.source, {tables_, relations_});
        !relation.ok()) {
      Fail(entry.id, relation.status());
      return absl::OkStatus();
    }
    const std::optional<std::string> id = RowIdOf(*entry.letter, config_.source);
    if (!id || id->find('\0') != std::string::npos || IsMessage(*entry.letter)) {
      Fail(entry.id,
           Unverified(*entry.letter, IsMessage(*entry.letter) ? "a logical message is in no table"
                                                              : "its id is not known"));
      return absl::OkStatus();
    }
    WR_ASSIGN_OR_RETURN(PgConnection connection, ConnectTo(config_.source));
    WR_ASSIGN_OR_RETURN(RowReader reader, RowReader::Open(std::move(connection), config_.source,
                                                          config_.route, {.ids = {*id}}));
    bool found = false;
    while (true) {
      WR_ASSIGN_OR_RETURN(const std::optional<OutboxRow> row, reader.Next());
      if (!row) {
        break;
      }
      if (row->relation.schema != entry.letter->schema ||
          row->relation.name != entry.letter->table || std::exchange(found, true)) {
        continue;
      }
      WR_RETURN_IF_ERROR(Use(row->relation));
      WR_RETURN_IF_ERROR(Publish(entry.id, {.relation = used_.back(),
                                            .values = row->values,
                                            .xid = row->xid,
                                            .commit_time = entry.letter->position.commit_time}));
    }
    if (!found) {
      Fail(entry.id, Unverified(*entry.letter, fmt::format("its table has no row with id \"{}\"",
                                                           Printable(*id, 60))));
    }
    return absl::OkStatus();
  }

  // Any user of Kafka may have written a row that only the topic has.
  absl::Status Unverified(const StoredDeadLetter& letter, std::string_view why) const {
    return IsIncomplete(letter, config_.source)
               ? Error(
                     ErrorCode::kValueInvalid,
                     fmt::format("the dead letter has a truncated or transformed row, and {}", why))
               : Error(ErrorCode::kValueInvalid,
                       fmt::format("the row cannot be verified: {}. If only walrelay may write to "
                                   "topic {}, --trust-topic publishes what the letter has",
                                   why, config_.on_error.dead_letter_topic));
  }

  // Descriptions change from letter to letter only if the table was altered in between. They are
  // kept, because rows in flight refer to theirs.
  absl::Status Use(pgoutput::CachedRelation relation) {
    const auto same = [](const auto& a, const auto& b) {
      return a.name == b.name && a.type_oid == b.type_oid && a.type_modifier == b.type_modifier;
    };
    if (!used_.empty() && used_.back().oid == relation.oid && used_.back().name == relation.name &&
        std::equal(used_.back().columns.begin(), used_.back().columns.end(),
                   relation.columns.begin(), relation.columns.end(), same)) {
      return absl::OkStatus();
    }
    WR_RETURN_IF_ERROR(publisher_->Finish());
    used_.clear();
    used_.push_back(std::move(relation));
    WR_CHECK(publisher_->UseTables(tables_, used_), "rows are of configured tables");
    return absl::OkStatus();
  }

  absl::Status Publish(const DeadLetterId& id, const OutboxRow& row) {
    offered_.push_back(id);
    return publisher_->Publish(row);
  }

  void Fail(const DeadLetterId& id, const absl::Status& reason) {
    ++counts_.failed;
    options_.on_failed(id, reason);
  }

  // Marks what was published, once it is at least `enough`.
  absl::Status Mark(size_t enough) {
    while (options_.mark && published_.size() >= enough && !published_.empty()) {
      const size_t count = std::min(published_.size(), DeadLetterTopic::kLettersOfMark);
      WR_RETURN_IF_ERROR(topic_.MarkRetried({published_.data(), count}, options_.run));
      published_.erase(published_.begin(), published_.begin() + static_cast<std::ptrdiff_t>(count));
    }
    return absl::OkStatus();
  }

  const Config& config_;
  const RetryOptions& options_;
  const SystemClock clock_;
  const DeadLetterTopic topic_;
  std::vector<TableInfo> tables_;
  std::vector<pgoutput::CachedRelation> relations_;
  std::vector<pgoutput::CachedRelation> used_;  // the one in use
  std::unique_ptr<RowPublisher> publisher_;
  std::vector<DeadLetterId> offered_;    // by the number of the row
  std::vector<DeadLetterId> published_;  // and not marked yet
  RetryCounts counts_;
};

}  // namespace

bool DeadLetterSelection::Includes(const DeadLetterEntry& entry) const {
  return all || ids.contains(entry.id) || (entry.letter && codes.contains(entry.letter->code));
}

absl::StatusOr<RetryCounts> RetryDeadLetters(const Config& config, SinkFactory& sinks,
                                             const RetryOptions& options) {
  return Retry(config, sinks, options).Run();
}

}  // namespace walrelay
