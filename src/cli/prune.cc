// `walrelay prune`: one pass of [prune] now, or what it would change, with the proof of the relay
// that runs on this host.
//
// The progress record in Kafka is not such a proof: until a relay has streamed past its last
// transaction, the server may be one that was restored, and after a gap was accepted the record is
// the one of before for a moment.

#include <fmt/format.h>

#include <optional>
#include <thread>

#include "admin/proof_control.h"
#include "cli/commands.h"
#include "cli/config_flags.h"
#include "cli/local_relays.h"
#include "cli/preflight.h"
#include "cli/prune_report.h"
#include "prune/prune_pass.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

struct PruneFlags {
  ConfigFlags config;
  bool apply = false;
  bool older_rows_published = false;
  bool json = false;
};

void Declare(FlagSet& set, PruneFlags& flags) {
  AddConfigFlags(set, flags.config);
  set.Add("--apply", flags.apply, "Do it");
  set.Add("--older-rows-published", flags.older_rows_published,
          "Rows from before the proof are published, too: you know it, walrelay does not. For "
          "example after a migration from Debezium");
  set.Add("--json", flags.json, "Print JSON");
}

absl::StatusOr<std::optional<PublishedProof>> ProofOf(const ControlPeer& relay) {
  WR_ASSIGN_OR_RETURN(const std::string answer, SendControlRequest(relay, kPublishedRequest));
  return ParsePublished(answer);
}

// Asks the relay that streams: the others are standbys. One that does not answer is skipped; its
// error counts if no other relay has a proof.
absl::StatusOr<std::optional<PublishedProof>> AskForProof(const SourceConfig& source) {
  WR_ASSIGN_OR_RETURN(const std::vector<ControlPeer> relays, FindLocalRelays(source));
  absl::Status failure;
  for (const ControlPeer& relay : relays) {
    auto proof = ProofOf(relay);
    if (proof.ok() && *proof) {
      return proof;
    }
    if (!proof.ok()) {
      ReportSkipped(relay, proof.status());
      failure = proof.status();
    }
  }
  return failure.ok() ? absl::StatusOr<std::optional<PublishedProof>>(std::nullopt) : failure;
}

absl::StatusOr<PruneOutcome> Prune(const Config& config, const PruneFlags& flags,
                                   PruneAction action) {
  if (config.prune.mode == PruneMode::kOff) {
    return Error(ErrorCode::kUsage, "prune.mode is \"off\"",
                 "Configure [prune] (docs/guides/pruning.md), or prune this once: --set "
                 "prune.mode=delete --set prune.keep=168h");
  }
  WR_ASSIGN_OR_RETURN(const auto published, AskForProof(config.source));
  std::optional<PruneProof> proof = ProofForPruning(published, config.source);
  if (proof && flags.older_rows_published) {
    proof = IncludeOlderRows(*std::move(proof));
  }
  return RunPrunePass(config.source, config.prune, proof, action, -1, [](uint64_t, Micros pause) {
    std::this_thread::sleep_for(pause);  // prune.max_rows_per_second
    return true;
  });
}

bool DidSomething(const PruneCount& count) {
  return count.pruned > 0 || !count.partitions.created.empty() || !count.partitions.dropped.empty();
}

absl::StatusOr<ExitCode> Execute(const PruneFlags& flags) {
  ConfigFlags config_flags = ForChange(flags.config, flags.apply);
  config_flags.needs = {.postgres = true, .kafka = false};
  WR_ASSIGN_OR_RETURN(const LoadedConfig loaded, LoadConfig(config_flags));
  const Config& config = loaded.config;
  const PruneAction action = flags.apply ? PruneAction::kApply : PruneAction::kCount;
  WR_ASSIGN_OR_RETURN(const PruneOutcome outcome, Prune(config, flags, action));
  // After an error, only what was done before it.
  if (outcome.error.ok() || DidSomething(outcome.count)) {
    fmt::print("{}",
               flags.json ? PruneJson(action, outcome) : PruneText(config.prune, action, outcome));
  }
  WR_RETURN_IF_ERROR(outcome.error);
  if (!outcome.complete) {
    return Error(ErrorCode::kPruneUnproven,
                 "the relay stopped streaming, or the connection reaches another server");
  }
  if (!flags.apply) {
    fmt::print(stderr, "Nothing was changed. To do this: the same command with --apply\n");
  }
  return outcome.count.partitions.problems.empty() ? ExitCode::kOk : ExitCode::kProblemsFound;
}

}  // namespace

// One pass over the outbox tables as [prune] says, or what it would change. Asks the relay of the
// slot on this host for the proof. 0: complete; 3: a partition could not be created or dropped; 69:
// no relay runs on this host; WR-2323 if it has no proof.
Command PruneCommand() {
  return MakeCommand<PruneFlags>(
      "prune",
      "Show which rows and partitions of the outbox [prune] would delete, mark, create or drop "
      "now, with the proof of the relay that runs on this host",
      Declare, Execute);
}

}  // namespace walrelay
