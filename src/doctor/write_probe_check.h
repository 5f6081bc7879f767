// `walrelay doctor --write-probe TOPIC`: the only part of doctor that writes.
#pragma once

#include <string>

#include "doctor/findings.h"
#include "walrelay/config.h"

namespace walrelay {

void CheckWriting(const Config& config, const std::string& topic, Findings& out);

}  // namespace walrelay
