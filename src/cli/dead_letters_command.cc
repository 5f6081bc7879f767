// `walrelay dead-letters`: lists the dead letters of a pipeline, shows one, and publishes them
// again.

#include <fmt/format.h>

#include <string>
#include <utility>

#include "base/system_clock.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/dead_letter_report.h"
#include "cli/row_run.h"
#include "republish/dead_letter_retry.h"
#include "republish/dead_letter_topic.h"
#include "republish/republish_producer.h"

namespace walrelay {
namespace {

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

absl::Status List(const DeadLettersFlags& flags) {
  WR_ASSIGN_OR_RETURN(const LoadedConfig loaded, Load(flags.config));
  WR_ASSIGN_OR_RETURN(DeadLetterSelection selection, SelectionOf(flags));
  selection.all = selection.codes.empty();
  uint64_t printed = 0;
  uint64_t more = 0;
  WR_RETURN_IF_ERROR(DeadLetterTopic(loaded.config).ForEach([&](const DeadLetterEntry& entry) {
    if (!selection.Includes(entry) || (flags.open && entry.retried)) {
      return absl::OkStatus();
    }
    if (flags.limit > 0 && printed == flags.limit) {
      ++more;
      return absl::OkStatus();
    }
    ++printed;
    fmt::print("{}\n", flags.json ? DeadLetterJson(entry, loaded.config, /*with_row=*/false)
                                  : DeadLetterLine(entry, loaded.config));
    return absl::OkStatus();
  }));
  fmt::print(stderr, "{} dead letter{}{}\n", printed, printed == 1 ? "" : "s",
             more > 0 ? fmt::format(", and {} more beyond --limit", more) : "");
  return absl::OkStatus();
}

absl::StatusOr<bool> Show(const DeadLettersFlags& flags) {
  WR_ASSIGN_OR_RETURN(const LoadedConfig loaded, Load(flags.config));
  WR_ASSIGN_OR_RETURN(const DeadLetterId id, IdOf(flags.show));
  bool found = false;
  WR_RETURN_IF_ERROR(DeadLetterTopic(loaded.config).ForEach([&](const DeadLetterEntry& entry) {
    if (entry.id == id) {
      found = true;
      fmt::print("{}", flags.json ? DeadLetterJson(entry, loaded.config, /*with_row=*/true) + "\n"
                                  : DeadLetterText(entry));
    }
    return absl::OkStatus();
  }));
  if (!found) {
    fmt::print(stderr, "topic {} has no dead letter {}\n", loaded.config.on_error.dead_letter_topic,
               ToString(id));
  }
  return found;
}

// Routes the letters and publishes none. What cannot be routed is reported when it is published.
absl::StatusOr<RecordAges> ReadAges(const Config& config, RetryOptions options) {
  RecordAges ages;
  options.make_producer = PrintingProducers(/*json=*/false);
  options.mark = false;
  options.on_failed = [](const DeadLetterId&, const absl::Status&) {};
  options.filter = [&ages](const OutboxRow&, const Record& record) {
    ages.Note(record.topic, record.timestamp);
    return false;
  };
  WR_RETURN_IF_ERROR(RetryDeadLetters(config, options).status());
  return ages;
}

// Exit code 3 if a letter failed again.
absl::StatusOr<bool> Retry(const DeadLettersFlags& flags) {
  WR_ASSIGN_OR_RETURN(const LoadedConfig loaded, Load(ForChange(flags.config, !flags.dry_run)));
  RetryOptions options{.run = Rfc3339(SystemClock().WallNow()),
                       .mark = !flags.dry_run,
                       .trust_topic = flags.trust_topic};
  WR_ASSIGN_OR_RETURN(options.selection, SelectionOf(flags));
  if (!flags.all && flags.ids.empty() && flags.codes.empty()) {
    return Error(ErrorCode::kUsage, "no dead letters are selected",
                 "Select them with --id or --code; --all selects every one that was not retried.");
  }
  options.make_producer =
      flags.dry_run ? PrintingProducers(flags.json) : RepublishProducers(loaded.config);
  options.on_failed = [](const DeadLetterId& id, const absl::Status& reason) {
    fmt::print(stderr, "{} failed: {} {}\n", ToString(id), ToString(CodeOf(reason)),
               Printable(MessageOf(reason)));
  };
  if (!flags.dry_run) {
    WR_RETURN_IF_ERROR(CheckDeletion(loaded.config, flags.accept_deletion, SystemClock(),
                                     [&] { return ReadAges(loaded.config, options); }));
  }
  WR_ASSIGN_OR_RETURN(const RetryCounts counts, RetryDeadLetters(loaded.config, options));
  fmt::print(flags.dry_run ? stderr : stdout, "{}{} published, {} failed, {} retried before\n",
             flags.dry_run ? "nothing was sent; the run would be: " : "", counts.published,
             counts.failed, counts.retried);
  return counts.failed == 0;
}

ExitCode ExitWith(const absl::StatusOr<bool>& good) {
  if (!good.ok()) {
    return Report(good.status());
  }
  return *good ? ExitCode::kOk : ExitCode::kProblemsFound;
}

}  // namespace

ExitCode DeadLettersListCommand(const DeadLettersFlags& flags) {
  const absl::Status status = List(flags);
  return status.ok() ? ExitCode::kOk : Report(status);
}

ExitCode DeadLettersShowCommand(const DeadLettersFlags& flags) {
  return ExitWith(Show(flags));
}

ExitCode DeadLettersRetryCommand(const DeadLettersFlags& flags) {
  return ExitWith(Retry(flags));
}

}  // namespace walrelay
