// Diagnosis: everything that can be looked at from outside, and judged.
//
// One mechanism for `walrelay check` (would it run?) and `walrelay doctor` (is it well, and why
// not?). It reads only: a slot is not touched, no topic is made, no row written.
#pragma once

#include "doctor/findings.h"
#include "walrelay/config.h"

namespace walrelay {

// Blocks for some seconds at most for each end that does not answer.
void Diagnose(const Config& config, Depth depth, Findings& out);

}  // namespace walrelay
