// `walrelay progress`: shows the progress record of a pipeline, and writes one.

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/config_flags.h"
#include "cli/progress_plan.h"
#include "cli/progress_report.h"
#include "cli/progress_writer.h"
#include "sinks/registry.h"
#include "walrelay/config.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

struct ProgressFlags {
  ConfigFlags config;
  bool json = false;   // show
  std::string lsn;     // set: the new frontier
  bool force = false;  // init: replace a record; set: accept positions at which the relay holds
};

void DeclareShow(FlagSet& set, ProgressFlags& flags) {
  AddConfigFlags(set, flags.config);
  set.Add("--json", flags.json, "Print JSON");
}

void DeclareInit(FlagSet& set, ProgressFlags& flags) {
  AddConfigFlags(set, flags.config);
  set.Add("--force", flags.force, "Replace an existing record");
}

void DeclareSet(FlagSet& set, ProgressFlags& flags) {
  AddConfigFlags(set, flags.config);
  set.Add("--lsn", flags.lsn, "LSN", "The position, as Postgres prints it: 16/B374D848").Required();
  set.Add("--force", flags.force,
          "Also a position before the slot's confirmed position or beyond the end of the WAL, at "
          "which the relay then holds (a gap), and the record of another pipeline");
}

// The result of `plan`, which gets the state of the source and the record that exists, is written.
template <typename Plan>
absl::StatusOr<ExitCode> Write(const ConfigFlags& flags, bool force, Plan&& plan) {
  WR_ASSIGN_OR_RETURN(const LoadedConfig loaded, LoadCheckedConfig(ForChange(flags)));
  const Config& config = loaded.config;
  WR_ASSIGN_OR_RETURN(const WrittenProgress written,
                      WritePlannedProgress(config, force, std::forward<Plan>(plan)));
  fmt::print("The record is written:\n{}", ProgressText(written.record, written.topic));
  if (!config.pipeline.records_progress()) {
    fmt::print(stderr,
               "pipeline.progress is \"off\": the relay uses the record only with \"auto\" or "
               "\"required\"\n");
  }
  return ExitCode::kOk;
}

// Who writes the record, for a topic that has none.
void ReportMissing(const std::string& topic, bool exists) {
  fmt::print(stderr,
             "There is no record: topic {} {}. The relay writes the first one when it starts, "
             "unless it requires a record (pipeline.mode, pipeline.progress) and the slot exists "
             "(WR-4018): then run walrelay progress init.\n",
             topic, exists ? "is empty" : "does not exist");
}

void ReportForeign(const ProgressReading& reading, const std::string& topic) {
  if (reading.foreign > 0) {
    fmt::print(stderr,
               "topic {} has {} records that no pipeline has written, for example {}. They are "
               "ignored: find out who may write to the topic.\n",
               topic, reading.foreign, reading.foreign_example);
  }
  for (const Progress& other : reading.others) {
    fmt::print(stderr, "topic {} also has a record of pipeline \"{}\", which is ignored\n", topic,
               Printable(other.pipeline, 128));
  }
}

absl::StatusOr<ExitCode> ShowProgress(const ProgressFlags& flags) {
  WR_ASSIGN_OR_RETURN(const LoadedConfig loaded, LoadCheckedConfig(flags.config));
  WR_ASSIGN_OR_RETURN(const ProgressAddress address, ProgressAddressFor(loaded.config));
  const std::string& topic = address.topic;
  const auto sinks = MakeSinkFactory(loaded.config);
  const auto read = sinks->OpenProgress({})->ReadExisting(address);
  const bool exists = !HasCode(read.status(), ErrorCode::kProgressMissing);
  if (!read.ok() && exists) {
    return read.status();
  }
  const std::optional<Progress> record = read.ok() ? read->record : std::nullopt;
  if (read.ok()) {
    ReportForeign(*read, topic);
  }
  if (flags.json) {
    fmt::print("{}", ProgressJson(record, topic));
  } else if (record) {
    fmt::print("{}", ProgressText(*record, topic));
  }
  if (!record) {
    ReportMissing(topic, exists);
  }
  return record ? ExitCode::kOk : ExitCode::kProblemsFound;
}

absl::StatusOr<ExitCode> InitProgress(const ProgressFlags& flags) {
  return Write(flags.config, flags.force, PlanProgressInit);
}

absl::StatusOr<ExitCode> SetProgress(const ProgressFlags& flags) {
  const auto lsn = Lsn::Parse(flags.lsn);
  if (!lsn || !lsn->valid()) {
    return Error(ErrorCode::kUsage,
                 fmt::format("--lsn: invalid; expected a position such as 16/B374D848, got \"{}\"",
                             Printable(flags.lsn, 60)));
  }
  return Write(flags.config, flags.force,
               [&](const ProgressPlanInput& input) { return PlanProgressSet(input, *lsn); });
}

}  // namespace

// `show`: 0 if a record was shown, 3 if there is none.
//
// `init` and `set` write one record, to Kafka only: the slot is not changed. 64 if `force` is
// needed, 69 if a relay reads the slot. The last check of the slot and the write are not atomic: a
// relay that starts in between may use the old record.
Command ProgressCommand() {
  return MakeGroup(
      "progress",
      "Show or write the progress record: what is published, as the pipeline's topic in Kafka says "
      "(pipeline.progress)",
      {MakeCommand<ProgressFlags>("show", "Print the progress record. Exit code 3 if there is none",
                                  DeclareShow, ShowProgress),
       MakeCommand<ProgressFlags>(
           "init",
           "Write the first record of a pipeline that ran without one: everything before the "
           "slot's confirmed position counts as published. Stop the relay before",
           DeclareInit, InitProgress),
       MakeCommand<ProgressFlags>(
           "set",
           "Write a record with a chosen position. Events of transactions that committed before it "
           "count as published: walrelay never publishes them. Stop the relay before",
           DeclareSet, SetProgress)});
}

}  // namespace walrelay
