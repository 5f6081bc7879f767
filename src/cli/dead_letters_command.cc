// `walrelay dead-letters`: lists the dead letters of a pipeline, shows one, and publishes them
// again.

#include <fmt/format.h>

#include <string>
#include <utility>

#include "base/system_clock.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/config_flags.h"
#include "cli/dead_letter_report.h"
#include "cli/row_run.h"
#include "republish/dead_letter_retry.h"
#include "republish/dead_letter_topic.h"
#include "republish/republish_sink.h"
#include "sinks/registry.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

struct DeadLettersFlags {
  ConfigFlags config;
  bool json = false;
  std::vector<std::string> codes;  // list, retry: with one of these codes
  uint64_t limit = 0;              // list; 0: no limit
  bool open = false;               // list: only those that were not retried
  std::string show;                // show: the id
  std::vector<std::string> ids;    // retry
  bool all = false;                // retry
  bool again = false;              // retry: also those that were retried before
  bool trust_topic = false;        // retry: publish the letters' rows, not those of the tables
  bool accept_deletion = false;    // retry: also records that Kafka would delete at once
  bool dry_run = false;            // retry
};

void AddCodeFlag(FlagSet& set, DeadLettersFlags& flags) {
  set.Add("--code", flags.codes, "CODE",
          "Those with this error code, such as WR-3006 (repeatable)");
}

void DeclareList(FlagSet& set, DeadLettersFlags& flags) {
  AddConfigFlags(set, flags.config);
  set.Add("--json", flags.json, "Print one JSON object per line");
  AddCodeFlag(set, flags);
  set.Add("--open", flags.open, "Only those that were not published by retry");
  set.Add("--limit", flags.limit, "N", "Print at most this many");
}

void DeclareShow(FlagSet& set, DeadLettersFlags& flags) {
  AddConfigFlags(set, flags.config);
  set.Add("--json", flags.json, "Print JSON");
  set.Add("id", flags.show, "ID", "The id, as list prints it: 0/42").Required();
}

void DeclareRetry(FlagSet& set, DeadLettersFlags& flags) {
  AddConfigFlags(set, flags.config);
  set.Add("--id", flags.ids, "ID", "The dead letter with this id (repeatable)");
  AddCodeFlag(set, flags);
  set.Add("--all", flags.all, "Every dead letter");
  set.Add("--again", flags.again, "Also those that an earlier retry has published");
  set.Add("--trust-topic", flags.trust_topic,
          "Publish the rows that the dead letters have, also those that are not in their table: "
          "only if no other user may write to the topic");
  AddAcceptDeletionFlag(set, flags.accept_deletion);
  set.Add("--dry-run", flags.dry_run, "Print the records instead, and their number");
  set.Add("--json", flags.json, "With --dry-run: print one JSON object per line")
      .Needs("--dry-run");
}

absl::StatusOr<LoadedConfig> Load(const ConfigFlags& flags) {
  WR_ASSIGN_OR_RETURN(LoadedConfig loaded, LoadCheckedConfig(flags));
  if (loaded.config.on_error.dead_letter_topic.empty()) {
    return Error(ErrorCode::kUsage, "on_error.dead_letter_topic is not configured",
                 "Name the topic: --set on_error.dead_letter_topic=NAME.");
  }
  return loaded;
}

absl::StatusOr<DeadLetterId> IdOf(const std::string& text) {
  const auto id = ParseDeadLetterId(text);
  return id ? absl::StatusOr<DeadLetterId>(*id)
            : Error(ErrorCode::kUsage,
                    fmt::format("invalid id; expected one of walrelay dead-letters list, such as "
                                "0/42, got \"{}\"",
                                Printable(text, 60)));
}

absl::StatusOr<DeadLetterSelection> SelectionOf(const DeadLettersFlags& flags) {
  DeadLetterSelection selection{
      .codes = {flags.codes.begin(), flags.codes.end()}, .all = flags.all, .again = flags.again};
  for (const std::string& text : flags.ids) {
    WR_ASSIGN_OR_RETURN(const DeadLetterId id, IdOf(text));
    selection.ids.insert(id);
  }
  return selection;
}

absl::StatusOr<ExitCode> List(const DeadLettersFlags& flags) {
  WR_ASSIGN_OR_RETURN(const LoadedConfig loaded, Load(flags.config));
  WR_ASSIGN_OR_RETURN(DeadLetterSelection selection, SelectionOf(flags));
  selection.all = selection.codes.empty();
  uint64_t printed = 0;
  uint64_t more = 0;
  const auto sinks = MakeSinkFactory(loaded.config);
  const DeadLetterTopic topic(loaded.config.on_error, *sinks);
  WR_RETURN_IF_ERROR(topic.ForEach([&](const DeadLetterEntry& entry) {
    if (!selection.Includes(entry) || (flags.open && entry.retried)) {
      return absl::OkStatus();
    }
    if (flags.limit > 0 && printed == flags.limit) {
      ++more;
      return absl::OkStatus();
    }
    ++printed;
    fmt::print("{}\n", flags.json ? DeadLetterJson(entry, loaded.config.source, /*with_row=*/false)
                                  : DeadLetterLine(entry, loaded.config.source));
    return absl::OkStatus();
  }));
  fmt::print(stderr, "{} dead letter{}{}\n", printed, printed == 1 ? "" : "s",
             more > 0 ? fmt::format(", and {} more beyond --limit", more) : "");
  return ExitCode::kOk;
}

absl::StatusOr<ExitCode> Show(const DeadLettersFlags& flags) {
  WR_ASSIGN_OR_RETURN(const LoadedConfig loaded, Load(flags.config));
  WR_ASSIGN_OR_RETURN(const DeadLetterId id, IdOf(flags.show));
  bool found = false;
  const auto sinks = MakeSinkFactory(loaded.config);
  const DeadLetterTopic topic(loaded.config.on_error, *sinks);
  WR_RETURN_IF_ERROR(topic.ForEach([&](const DeadLetterEntry& entry) {
    if (entry.id == id) {
      found = true;
      fmt::print("{}", flags.json
                           ? DeadLetterJson(entry, loaded.config.source, /*with_row=*/true) + "\n"
                           : DeadLetterText(entry));
    }
    return absl::OkStatus();
  }));
  if (!found) {
    fmt::print(stderr, "topic {} has no dead letter {}\n", loaded.config.on_error.dead_letter_topic,
               ToString(id));
  }
  return found ? ExitCode::kOk : ExitCode::kProblemsFound;
}

// Routes the letters and publishes none. One that cannot be routed is reported when it is
// published.
absl::StatusOr<RecordAges> ReadAges(const Config& config, SinkFactory& sinks,
                                    RetryOptions options) {
  RecordAges ages;
  options.make_sink = PrintingSinks(/*json=*/false);
  options.mark = false;
  options.on_failed = [](const DeadLetterId&, const absl::Status&) {};
  options.filter = [&ages](const OutboxRow&, const Record& record) {
    ages.Note(record.topic, record.timestamp);
    return false;
  };
  WR_RETURN_IF_ERROR(RetryDeadLetters(config, sinks, options).status());
  return ages;
}

absl::StatusOr<ExitCode> Retry(const DeadLettersFlags& flags) {
  WR_ASSIGN_OR_RETURN(const LoadedConfig loaded, Load(ForChange(flags.config, !flags.dry_run)));
  const auto sinks = MakeSinkFactory(loaded.config);
  RetryOptions options{.run = Rfc3339(SystemClock().WallNow()),
                       .mark = !flags.dry_run,
                       .trust_topic = flags.trust_topic};
  WR_ASSIGN_OR_RETURN(options.selection, SelectionOf(flags));
  if (!flags.all && flags.ids.empty() && flags.codes.empty()) {
    return Error(ErrorCode::kUsage, "no dead letters are selected",
                 "Select them with --id or --code; --all selects every one that was not retried.");
  }
  options.make_sink = flags.dry_run ? PrintingSinks(flags.json) : RepublishSinks(*sinks);
  options.on_failed = [](const DeadLetterId& id, const absl::Status& reason) {
    fmt::print(stderr, "{} failed: {} {}\n", ToString(id), ToString(CodeOf(reason)),
               Printable(MessageOf(reason)));
  };
  if (!flags.dry_run) {
    WR_RETURN_IF_ERROR(CheckDeletion(loaded.config.route, *sinks, flags.accept_deletion,
                                     SystemClock(),
                                     [&] { return ReadAges(loaded.config, *sinks, options); }));
  }
  WR_ASSIGN_OR_RETURN(const RetryCounts counts, RetryDeadLetters(loaded.config, *sinks, options));
  fmt::print(flags.dry_run ? stderr : stdout, "{}{} published, {} failed, {} retried before\n",
             flags.dry_run ? "nothing was sent; the run would be: " : "", counts.published,
             counts.failed, counts.retried);
  return counts.failed == 0 ? ExitCode::kOk : ExitCode::kProblemsFound;
}

}  // namespace

// `list`, `show` and `retry` read the topic for dead letters as it is now, and need the
// configuration of the pipeline that wrote it. `show` returns 3 if the topic has no letter with
// this id. `retry` returns 3 if it could not publish a letter, and 64 if nothing selects letters.
Command DeadLettersCommand() {
  using Flags = DeadLettersFlags;
  return MakeGroup(
      "dead-letters",
      "List the rows in the topic for dead letters, show one, or publish them after their cause "
      "was fixed",
      {MakeCommand<Flags>("list", "Print a line for each dead letter", DeclareList, List),
       MakeCommand<Flags>("show",
                          "Print everything of one dead letter. Exit code 3 if there is none",
                          DeclareShow, Show),
       MakeCommand<Flags>("retry",
                          "Publish dead letters as the configuration now routes their rows, with a "
                          "header that marks them. Exit code 3 if one fails again",
                          DeclareRetry, Retry)});
}

}  // namespace walrelay
