// PipelineSpec: what the configuration says about one pipeline, and the whole of such specs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "walrelay/config.h"

namespace walrelay {

struct PipelineSpec {
  // Letters, digits, "_", "-" and "."; unique in a process. "": the only pipeline of a process.
  std::string name;
  std::string file;  // "" if there is none
  // Or why it is invalid. Its sections [http] and [log] have their defaults.
  absl::StatusOr<Config> config;
  std::string import_summary;  // if the file was a connector's: the result of the import
  std::vector<std::string> exposed_secrets;  // those that every local user can read, as sentences
};

// The configuration of a process. Sections [http] and [log] belong to the process.
struct ProcessSpec {
  HttpConfig http;
  LogConfig log;
  std::vector<PipelineSpec> pipelines;  // by name
};

// Reads the configuration again. Errors: the whole cannot be used; nothing changes then.
using SpecLoader = std::function<absl::StatusOr<ProcessSpec>()>;

}  // namespace walrelay
