// Diagnosis: everything that can be looked at from outside, and judged.
//
// One mechanism for `walrelay check` (would it run?) and `walrelay doctor` (is it well, and why
// not?). It reads only: a slot is not touched, no topic is made, no row written, and a record only
// to a topic that was named for it.
#pragma once

#include <string>

#include "doctor/findings.h"
#include "walrelay/config.h"

namespace walrelay {

struct DiagnosisOptions {
  Depth depth = Depth::kStart;
  std::string write_probe;  // the topic that gets a record; "": none does
};

// Blocks for some seconds at most for each end that does not answer.
void Diagnose(const Config& config, const DiagnosisOptions& options, Findings& out);

}  // namespace walrelay
