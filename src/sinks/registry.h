// The kinds of sinks: a line for each in registry.cc.
#pragma once

#include <memory>
#include <vector>

#include "findings/sink_diagnosis.h"
#include "walrelay/sink_factory.h"

namespace walrelay {

struct Config;

// The factory of the kind of sink that `config` names; never nullptr. `config` must outlive it.
std::unique_ptr<SinkFactory> MakeSinkFactory(const Config& config, SinkOptions options = {});

// The checks of `walrelay doctor` for that kind; never nullptr. Both must outlive it.
std::unique_ptr<SinkDiagnosis> MakeSinkDiagnosis(const Config& config, Findings& out);

// The client libraries of all kinds.
std::vector<SinkLibrary> SinkLibraries();

}  // namespace walrelay
