// The kinds of sinks: a line for each in registry.cc.
#pragma once

#include <memory>
#include <vector>

#include "walrelay/config.h"
#include "walrelay/sink_factory.h"

namespace walrelay {

// The factory of the kind of sink that `config` names; never nullptr. `config` must outlive it.
std::unique_ptr<SinkFactory> MakeSinkFactory(const Config& config, SinkOptions options = {});

// The client libraries of all kinds.
std::vector<SinkLibrary> SinkLibraries();

}  // namespace walrelay
