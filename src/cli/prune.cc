// `walrelay prune`: one pass of [prune] now, or what it would change, with the proof of the relay
// that runs on this host.
//
// The progress record in Kafka is no such proof: until a relay has streamed past its last
// transaction, the server may be one that was restored, and after a gap was accepted the record is
// the one of before for a moment.

#include <fmt/format.h>

#include <optional>
#include <thread>

#include "admin/proof_control.h"
#include "cli/commands.h"
#include "cli/local_relays.h"
#include "cli/preflight.h"
#include "cli/prune_report.h"
#include "prune/prune_pass.h"

namespace walrelay {
namespace {

absl::StatusOr<std::optional<PublishedProof>> ProofOf(const ControlPeer& relay) {
  WR_ASSIGN_OR_RETURN(const std::string answer, SendControlRequest(relay, kPublishedRequest));
  return ParsePublished(answer);
}

// Of the relay that streams: the others are standbys. One that does not answer is skipped; its
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
  return RunPrunePass(config, proof, action, -1, [](uint64_t, Micros pause) {
    std::this_thread::sleep_for(pause);  // prune.max_rows_per_second
    return true;
  });
}

bool DidSomething(const PruneCount& count) {
  return count.pruned > 0 || !count.partitions.created.empty() || !count.partitions.dropped.empty();
}

}  // namespace

ExitCode PruneCommand(const PruneFlags& flags) {
  ConfigFlags config_flags = ForChange(flags.config, flags.apply);
  config_flags.needs = {.postgres = true, .kafka = false};
  const auto loaded = LoadConfig(config_flags);
  if (!loaded.ok()) {
    return Report(loaded.status());
  }
  const Config& config = loaded->config;
  const PruneAction action = flags.apply ? PruneAction::kApply : PruneAction::kCount;
  const auto outcome = Prune(config, flags, action);
  if (!outcome.ok()) {
    return Report(outcome.status());
  }
  // After an error, only what was done before it.
  if (outcome->error.ok() || DidSomething(outcome->count)) {
    fmt::print(
        "{}", flags.json ? PruneJson(action, *outcome) : PruneText(config.prune, action, *outcome));
  }
  if (!outcome->error.ok()) {
    return Report(outcome->error);
  }
  if (!outcome->complete) {
    return Report(Error(ErrorCode::kPruneUnproven,
                        "the relay stopped streaming, or the connection reaches another server"));
  }
  if (!flags.apply) {
    fmt::print(stderr, "Nothing was changed. To do this: the same command with --apply\n");
  }
  return outcome->count.partitions.problems.empty() ? ExitCode::kOk : ExitCode::kProblemsFound;
}

}  // namespace walrelay
