// The configuration of a process: one file, or a directory with one file per pipeline.
//
// Like config_flags.h it reads files and the environment: REQUIRES that no other thread changes the
// environment.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "cli/config_flags.h"
#include "daemon/pipeline_spec.h"

namespace walrelay {

// The files DIR/*.toml and DIR/*.json, each a complete configuration; the pipeline has the name of
// the file without its extension. Hidden files are not read, so that an editor's and Kubernetes'
// temporary files do no harm. Variables and flags apply to every pipeline. Options of [http] and
// [log] belong to the process: files that set one must agree. A pipeline is invalid if an
// earlier one reads the same slot of the same database. Two pipelines are invalid if they use the
// same id in the same Kafka cluster: clusters are the same if they share the name of a broker.
// Errors: WR-1004 if the directory cannot be read or has no such file, WR-1003 for files that
// disagree about the process. An invalid file makes only its own pipeline invalid.
absl::StatusOr<ProcessSpec> LoadConfigDirectory(const std::string& directory,
                                                const ConfigFlags& flags);

// The configuration that `flags` describe, as a process with one pipeline without a name.
// Errors: those of LoadCheckedConfig().
absl::StatusOr<ProcessSpec> LoadSinglePipeline(const ConfigFlags& flags);

// The absolute path that identifies the configuration of a process, for `walrelay reload`; "" for
// a process without a file.
std::string ConfigPath(const std::string& directory, const ConfigFlags& flags);

}  // namespace walrelay
