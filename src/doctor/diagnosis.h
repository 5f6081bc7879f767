// Diagnosis: every check of configuration, Postgres, Kafka and process that works from outside the
// relay.
//
// One mechanism for `walrelay check` (would the relay start?) and `walrelay doctor` (diagnose a
// deployment). Read-only: it does not move a slot, create a topic or write a row. It reads a
// backlog by a temporary slot, and writes a record only to a topic given for that purpose.
#pragma once

#include <string>

#include "findings/findings.h"

namespace walrelay {

struct Config;

// The checks to run, and whether to write. The default is the behaviour of `walrelay check`.
struct DiagnosisOptions {
  Depth depth = Depth::kStart;
  std::string write_probe;  // the topic to write a record to; "": none
};

// Blocks for at most a few seconds for each server that does not respond.
// REQUIRES: `config` is valid and CheckOffline() accepted it. Opens three connections to Postgres,
// one of them for replication, and clients to Kafka, and closes them. Every failure is a finding:
// one failed check does not keep the others from running. Uses only the calling thread for `out`.
void Diagnose(const Config& config, const DiagnosisOptions& options, Findings& out);

}  // namespace walrelay
