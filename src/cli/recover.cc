// `walrelay recover`: prints what replacing a lost slot would publish, and does it.

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/system_clock.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/config_flags.h"
#include "cli/progress_writer.h"
#include "cli/time_flag.h"
#include "recover/pg_recovery_source.h"
#include "recover/recover_report.h"
#include "recover/recovery.h"
#include "recover/scanned_topics.h"
#include "recover/table_rows.h"
#include "republish/republish_sink.h"
#include "sinks/registry.h"
#include "stream/progress_record.h"
#include "walrelay/config.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// Times as in RFC 3339; "": not given.
struct RecoverFlags {
  ConfigFlags config;
  std::string apply;  // the id of a plan; "": print the plan
  bool json = false;
  std::string since;
  std::string time_column;
  std::string after_id;
  bool all = false;
  std::string dedupe = "tail";  // or "none"
  std::string compare_since;
  std::string order_by;
  uint64_t max_rows = 0;
  bool accept_deletion = false;
  bool failover = false;
  bool upgraded = false;
};

void DeclareRows(FlagSet& set, RecoverFlags& flags) {
  set.Add("--since", flags.since, "TIME",
          "Rows of this time or later, instead of those that the progress record does not prove to "
          "be published (2026-11-20T08:14:02Z)");
  set.Add("--time-column", flags.time_column, "COLUMN",
          "With --since: the column with the time (default: route.timestamp_column, or created_at, "
          "or the commit time)")
      .Needs("--since");
  set.Add("--after-id", flags.after_id, "ID", "Rows with a greater id than this, instead")
      .Excludes("--since");
  set.Add("--all", flags.all, "All rows, instead").Excludes("--since").Excludes("--after-id");
}

void Declare(FlagSet& set, RecoverFlags& flags) {
  AddConfigFlags(set, flags.config);
  set.Add("--apply", flags.apply, "PLAN",
          "Execute this plan, with the same flags as when it was printed. It may have got more "
          "rows since, nothing else");
  set.Add("--json", flags.json, "Print JSON");
  DeclareRows(set, flags);
  set.Add("--dedupe", flags.dedupe, "HOW",
          "tail: do not publish what the topics have already (default); none: do not read the "
          "topics")
      .OneOf({"tail", "none"});
  set.Add("--compare-since", flags.compare_since, "TIME",
          "Read the topics from this time on (default: as the progress record shows)");
  set.Add("--order-by", flags.order_by, "COLUMN",
          "Publish in the order of this column (default: commit time if the server records it, "
          "else the id)");
  set.Add("--max-rows", flags.max_rows, "N", "Apply no plan that has more rows than this");
  set.Add("--accept-deletion", flags.accept_deletion,
          "Also apply a plan with records that are older than their topic keeps records: Kafka "
          "deletes these soon after they are published");
  set.Add("--failover", flags.failover,
          "The new slot is a failover slot (Postgres 17 and later; default: as the old one)");
  set.Add("--upgraded", flags.upgraded,
          "This server is what pg_upgrade made of the one in the progress record: what the record "
          "proves holds for it");
}

constexpr uint64_t kRowsBetweenLines = 100'000;
// A small record in flight takes several times its size, and what is compared takes memory, too.
constexpr int64_t kMostInFlight = 2'500;
// In place of a plan's id, where nothing else is to be done.
constexpr std::string_view kFailoverPlan = "failover";

// The record in the pipeline's topic.
class TopicProgress final : public RecoveryProgress {
 public:
  TopicProgress(const Config& config, SinkFactory& sinks)
      : config_(config),
        topic_(sinks.OpenProgress({})),
        recording_(config.pipeline.records_progress()) {}

  absl::StatusOr<std::optional<Progress>> Read(const std::string& database) override {
    if (!recording_) {
      return std::nullopt;
    }
    WR_ASSIGN_OR_RETURN(address_, ProgressAddressOf(config_.source, config_.pipeline,
                                                    config_.progress_topic(), database));
    auto reading = topic_->ReadExisting(address_);
    if (HasCode(reading.status(), ErrorCode::kProgressMissing) || IsRefusal(reading.status())) {
      return std::nullopt;
    }
    WR_RETURN_IF_ERROR(reading.status());
    WR_ASSIGN_OR_RETURN(const bool settled, topic_->IsSettled(address_.topic));
    if (!settled) {
      return Error(ErrorCode::kTransactionUnended,
                   fmt::format("topic {} has an open transaction", address_.topic));
    }
    return std::move(reading->record);
  }

  absl::Status Write(const Progress& record) override {
    if (!recording_) {
      return absl::OkStatus();
    }
    // Creates the topic.
    absl::Status written = topic_->Read(address_).status();
    if (written.ok()) {
      written = WriteAsNewRun(*topic_, address_, record).status();
    }
    return IsRefusal(written) ? absl::OkStatus() : written;
  }

 private:
  // A relay that does not require the record publishes without it, too.
  bool IsRefusal(const absl::Status& status) {
    const bool refused =
        !config_.pipeline.requires_record() && HasCode(status, ErrorCode::kProgressDenied);
    if (refused) {
      fmt::print(stderr, "walrelay: warning: progress is not recorded: {}\n", MessageOf(status));
      recording_ = false;
    }
    return refused;
  }

  const Config& config_;
  const std::unique_ptr<ProgressTopic> topic_;
  bool recording_;
  ProgressAddress address_;
};

absl::StatusOr<RecoverOptions> OptionsOf(const RecoverFlags& flags) {
  RecoverOptions options{.compare = flags.dedupe == "tail",
                         .max_rows = flags.max_rows,
                         .accept_deletion = flags.accept_deletion,
                         .failover = flags.failover,
                         .upgraded = flags.upgraded};
  options.rows.order_by = flags.order_by;
  options.rows.time_column = flags.time_column;
  WR_ASSIGN_OR_RETURN(options.compare_since, ParseTimeFlag("--compare-since", flags.compare_since));
  WR_ASSIGN_OR_RETURN(const auto since, ParseTimeFlag("--since", flags.since));
  if (since) {
    options.rows.since = RowsSince::kTime;
    options.rows.time = *since;
  } else if (!flags.after_id.empty()) {
    options.rows.since = RowsSince::kId;
    options.rows.after_id = flags.after_id;
  } else if (flags.all) {
    options.rows.since = RowsSince::kAll;
  }
  return options;
}

// To standard error, next to the result on standard output.
TableRows::Reports ReportsOf() {
  return {.on_refused =
              [](const RowPublisher::Refusal& refusal) {
                fmt::print(stderr, "walrelay: warning: row {} of {} {}: {}: {}\n", refusal.row,
                           refusal.table,
                           refusal.policy == OnError::kSkip ? "is skipped" : "is a dead letter",
                           ToString(CodeOf(refusal.reason)), MessageOf(refusal.reason));
              },
          .on_progress =
              [](uint64_t rows) {
                if (rows % kRowsBetweenLines == 0) {
                  fmt::print(stderr, "{} rows\n", rows);
                }
              }};
}

ExitCode ReportRefused(const absl::Status& error) {
  const ExitCode code = Report(error);
  return ScopeOf(error) == Scope::kRow ? ExitCode::kRow : code;
}

// A slot that works: at most, it becomes a failover slot.
absl::StatusOr<ExitCode> NothingToRecover(const Config& config, const RecoverFlags& flags,
                                          Recovery& recovery) {
  if (flags.json) {
    fmt::print("{}", PlanJson(config.source, std::nullopt));
    return ExitCode::kOk;
  }
  fmt::print("Nothing to do: slot {} works, and a relay continues from it.\n", config.source.slot);
  if (const uint64_t rows = recovery.unproven_rows(); rows > 0) {
    fmt::print(
        "{} rows are from before the progress record begins, because a gap was accepted, or rows "
        "were chosen. If events of them are missing: walrelay recover --since TIME\n",
        rows);
  }
  if (!recovery.lacks_failover()) {
    return ExitCode::kOk;
  }
  if (!flags.failover || flags.apply != kFailoverPlan) {
    fmt::print(
        "It is not a failover slot. To make it one: walrelay recover --failover --apply {}\n",
        kFailoverPlan);
    return ExitCode::kOk;
  }
  WR_RETURN_IF_ERROR(recovery.EnableFailover());
  fmt::print("It is a failover slot now.\n");
  return ExitCode::kOk;
}

void PrintPlan(const Config& config, const RecoverFlags& flags, const RecoverPlan& plan) {
  fmt::print("{}", flags.json ? PlanJson(config.source, plan) : PlanText(config.source, plan));
}

ExitCode Apply(const Config& config, const RecoverPlan& plan, Recovery& recovery) {
  const auto rows = recovery.Apply(plan);
  if (!rows.ok()) {
    return ReportRefused(rows.status());
  }
  fmt::print(
      "Recovered: {} rows published, {} were in Kafka already, {} dead letters, {} skipped. Slot "
      "{} {}. Start the relay; one that is on hold must be restarted.\n",
      rows->published, rows->found, rows->dead_letters, rows->skipped, config.source.slot,
      plan.scope.keeps_slot ? "was kept" : "is new");
  return ExitCode::kOk;
}

absl::StatusOr<ExitCode> Recover(const Config& config, const RecoverFlags& flags,
                                 Recovery& recovery) {
  auto plan = recovery.Plan();
  if (!plan.ok()) {
    return ReportRefused(plan.status());
  }
  if (!*plan) {
    return NothingToRecover(config, flags, recovery);
  }
  if (flags.apply.empty()) {
    PrintPlan(config, flags, **plan);
    fmt::print(stderr,
               "Nothing was changed. To execute the plan: the same command with --apply "
               "{}\n",
               (*plan)->id);
    return ExitCode::kOk;
  }
  const bool covered = IsCoveredBy(**plan, flags.apply);
  if (!covered || (*plan)->exceeds_limit() || (*plan)->publishes_for_deletion()) {
    PrintPlan(config, flags, **plan);
    fmt::print(stderr, "{}. Nothing was changed.\n",
               !covered ? "This is not the plan of --apply: what it rests on has changed"
               : (*plan)->exceeds_limit()
                   ? "The plan has more rows than --max-rows allows"
                   : "Kafka would delete some of the records soon after they are published");
    return ExitCode::kProblemsFound;
  }
  (*plan)->id = flags.apply;  // which the operator knows, and the records carry
  return Apply(config, **plan, recovery);
}

absl::StatusOr<ExitCode> Execute(const RecoverFlags& flags) {
  WR_ASSIGN_OR_RETURN(const RecoverOptions options, OptionsOf(flags));
  WR_ASSIGN_OR_RETURN(LoadedConfig loaded,
                      LoadCheckedConfig(ForChange(flags.config, !flags.apply.empty())));
  Config& config = loaded.config;
  config.pipeline.max_in_flight_records =
      std::min(config.pipeline.max_in_flight_records, kMostInFlight);
  const SystemClock clock;
  PgRecoverySource source(config.source);
  const auto sinks = MakeSinkFactory(config);
  TableRows rows(config, RepublishSinks(*sinks), clock, ReportsOf());
  TopicProgress progress(config, *sinks);
  ScannedTopics tails(*sinks);
  Recovery recovery({.source_config = config.source,
                     .pipeline_config = config.pipeline,
                     .prune_config = config.prune,
                     .source = source,
                     .rows = rows,
                     .progress = progress,
                     .tails = tails,
                     .deleted_at_once =
                         [&](const RecordAges& ages) {
                           return ReadDeletedAtOnce(*sinks, ages, clock.WallNow());
                         }},
                    options);
  return Recover(config, flags, recovery);
}

}  // namespace

// Returns 0 if there is nothing to do, or the plan was printed or executed. 3: the plan has changed
// since `apply`, has more rows than `max_rows`, or has records that Kafka would delete at once and
// `accept_deletion` is not set; it is printed. 4: nothing shows which rows are published. 5: a row
// cannot be published. Nothing is changed unless `apply` is the plan of now. Blocks until every row
// is acknowledged; may be killed at any time, and run again.
Command RecoverCommand() {
  return MakeCommand<RecoverFlags>(
      "recover",
      "Replace a slot that was lost, and publish the rows that no slot streams, from the outbox "
      "table. Without --apply it prints the plan and changes nothing. Exit code 3: the plan has "
      "changed, 4: choose the rows, 5: stopped by a row",
      Declare, Execute);
}

}  // namespace walrelay
