#include "cli/config_directory.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>
#include <tuple>
#include <utility>

#include "absl/strings/ascii.h"
#include "base/text.h"
#include "base/trusted_path.h"
#include "config/bootstrap_servers.h"
#include "config/option.h"
#include "doctor/config_checks.h"
#include "postgres/dsn.h"
#include "stream/progress_record.h"
#include "walrelay/config.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

namespace fs = std::filesystem;

// The pages and the log use the name without escapes.
bool IsPipelineName(std::string_view name) {
  constexpr size_t kLongest = 59;  // with an extension it fits into a path of the pages
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  };
  return !name.empty() && name.size() <= kLongest && name.front() != '.' &&
         std::all_of(name.begin(), name.end(), plain);
}

absl::StatusOr<std::vector<fs::path>> ConfigFiles(const std::string& directory) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    const fs::path& path = entry->path();
    const bool config = path.extension() == ".toml" || path.extension() == ".json";
    if (config && !path.filename().string().starts_with('.')) {
      files.push_back(path);
    }
  }
  if (error) {
    return Error(ErrorCode::kConfigFile, fmt::format("{}: {}", directory, error.message()));
  }
  if (files.empty()) {
    return Error(ErrorCode::kConfigFile,
                 fmt::format("{} contains no file *.toml or *.json", directory));
  }
  std::sort(files.begin(), files.end());
  return files;
}

// Collects the options of the process from the files that set them.
class ProcessOptions {
 public:
  // Errors: WR-1003 if an earlier file set another value.
  absl::Status Add(const LoadedConfig& loaded) {
    for (const Option& option : Options()) {
      const std::string name = option.Name();
      const bool of_process = option.section == "http" || option.section == "log";
      if (!of_process || !loaded.origins.contains(name)) {
        continue;
      }
      const auto [seen, is_new] =
          seen_.try_emplace(name, option.show(loaded.config), loaded.file_name);
      if (const auto& [value, file] = seen->second; value != option.show(loaded.config)) {
        return Error(ErrorCode::kConfigValue,
                     fmt::format("{}: {} in {}, {} in {}: it belongs to the process, so all files "
                                 "must agree",
                                 name, value, file, option.show(loaded.config), loaded.file_name));
      }
    }
    if (loaded.origins.contains("http.listen")) {
      http_ = loaded.config.http;
    }
    if (loaded.origins.contains("log.level")) {
      log_.level = loaded.config.log.level;
    }
    if (loaded.origins.contains("log.format")) {
      log_.format = loaded.config.log.format;
    }
    return absl::OkStatus();
  }

  const HttpConfig& http() const { return http_; }
  const LogConfig& log() const { return log_; }

 private:
  std::map<std::string, std::pair<std::string, std::string>> seen_;  // value and file, by name
  HttpConfig http_;
  LogConfig log_;
};

// Two pipelines on one slot would take turns as standbys of each other.
class Slots {
 public:
  absl::Status Add(const std::string& file, const SourceConfig& source) {
    WR_ASSIGN_OR_RETURN(DatabaseAddress address, DatabaseAddressOf(source));
    const auto [seen, is_new] = files_.try_emplace({std::move(address), source.slot}, file);
    return is_new ? absl::OkStatus()
                  : Error(ErrorCode::kConfigValue,
                          fmt::format("{}: slot {} of this database is read by {} already", file,
                                      source.slot, seen->second));
  }

 private:
  std::map<std::pair<DatabaseAddress, std::string>, std::string> files_;
};

// Names of hosts are the same in any case.
std::vector<std::string> BrokersOf(const KafkaConfig& kafka) {
  return BootstrapAddresses(absl::AsciiStrToLower(kafka.bootstrap_servers));
}

// A pipeline's id, by the names of the brokers that it is used at. The id is a part of the key of
// the progress record, of the name of its topic, and of the transactional id: pipelines with
// different ids share none of them.
struct UsedId {
  std::string id;                    // "": not used
  std::vector<std::string> brokers;  // clusters that have one in common are the same

  bool Collides(const UsedId& other) const {
    return !id.empty() && id == other.id &&
           std::find_first_of(brokers.begin(), brokers.end(), other.brokers.begin(),
                              other.brokers.end()) != brokers.end();
  }
};

absl::StatusOr<UsedId> UsedIdOf(const Config& config) {
  if (!config.pipeline.records_progress()) {
    return UsedId();
  }
  WR_ASSIGN_OR_RETURN(const DatabaseAddress address, DatabaseAddressOf(config.source));
  return UsedId{PipelineIdOf(config.source, config.pipeline, address.database),
                BrokersOf(config.kafka)};
}

absl::Status SharedId(const PipelineSpec& pipeline, const PipelineSpec& other,
                      const std::string& id) {
  return Error(
      ErrorCode::kConfigValue,
      fmt::format("{}: pipeline.id \"{}\"{} is also that of {}, in the same Kafka cluster",
                  pipeline.file, id, pipeline.config->pipeline.id.empty() ? ", the default," : "",
                  other.file),
      "Set id in [pipeline] of the one that is new: pipelines with one id overwrite each other's "
      "progress record, and stop each other with exactly-once delivery.");
}

// Makes both invalid: only an operator knows whose the id is. A pipeline that runs keeps its
// present configuration.
void RejectSharedIds(std::vector<PipelineSpec>& pipelines) {
  std::vector<UsedId> ids;
  for (PipelineSpec& each : pipelines) {
    auto used = each.config.ok() ? UsedIdOf(*each.config) : UsedId();
    if (!used.ok()) {
      each.config = Annotate(used.status(), each.file);
    }
    ids.push_back(used.ok() ? *std::move(used) : UsedId());
  }
  std::vector<std::pair<size_t, absl::Status>> errors;
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto other = std::find_if(ids.begin(), ids.end(), [&](const UsedId& each) {
      return &each != &ids[i] && ids[i].Collides(each);
    });
    if (other != ids.end()) {
      errors.emplace_back(
          i, SharedId(pipelines[i], pipelines[size_t(other - ids.begin())], ids[i].id));
    }
  }
  for (auto& [i, error] : errors) {
    pipelines[i].config = std::move(error);
  }
}

absl::StatusOr<LoadedConfig> LoadFile(const fs::path& file, const ConfigFlags& flags) {
  if (!IsPipelineName(file.stem().string())) {
    return Error(ErrorCode::kConfigFile,
                 fmt::format("{}: the name of a pipeline has 1 to 59 letters, digits, \"_\", \"-\" "
                             "and \".\"",
                             Printable(file.string())));
  }
  WR_RETURN_IF_ERROR(CheckTrustedEntry(file.parent_path().string(), file.string()));
  ConfigFlags one = flags;
  one.file = file.string();
  return LoadCheckedConfig(one);
}

std::vector<std::string> ExposedSecrets(const LoadedConfig& loaded) {
  Findings findings({});
  CheckSecretsAreKept(loaded, findings);
  std::vector<std::string> sentences;
  for (const Finding& finding : findings.all()) {
    sentences.push_back(fmt::format("{}: {}", finding.text, finding.remedy));
  }
  return sentences;
}

}  // namespace

absl::StatusOr<ProcessSpec> LoadConfigDirectory(const std::string& directory,
                                                const ConfigFlags& flags) {
  WR_ASSIGN_OR_RETURN(const std::vector<fs::path> files, ConfigFiles(directory));
  ProcessSpec spec;
  ProcessOptions process;
  Slots slots;
  for (const fs::path& file : files) {
    absl::StatusOr<LoadedConfig> loaded = LoadFile(file, flags);
    absl::Status status = loaded.status();
    std::vector<std::string> exposed;
    if (status.ok()) {
      exposed = ExposedSecrets(*loaded);
      WR_RETURN_IF_ERROR(process.Add(*loaded));
      status = slots.Add(file.string(), loaded->config.source);
      loaded->config.http = {};
      loaded->config.log = {};
    }
    spec.pipelines.push_back(
        {.name = file.stem().string(),
         .file = file.string(),
         .config = status.ok() ? absl::StatusOr<Config>(loaded->config) : status,
         .import_summary = loaded.ok() ? loaded->import_summary : "",
         .exposed_secrets = std::move(exposed)});
  }
  RejectSharedIds(spec.pipelines);
  const auto same = std::adjacent_find(
      spec.pipelines.begin(), spec.pipelines.end(),
      [](const PipelineSpec& a, const PipelineSpec& b) { return a.name == b.name; });
  if (same != spec.pipelines.end()) {
    return Error(ErrorCode::kConfigFile, fmt::format("{} and {} name the same pipeline", same->file,
                                                     std::next(same)->file));
  }
  spec.http = process.http();
  spec.log = process.log();
  return spec;
}

absl::StatusOr<ProcessSpec> LoadSinglePipeline(const ConfigFlags& flags) {
  WR_ASSIGN_OR_RETURN(LoadedConfig loaded, LoadCheckedConfig(flags));
  ProcessSpec spec{.http = loaded.config.http, .log = loaded.config.log, .pipelines = {}};
  std::vector<std::string> exposed = ExposedSecrets(loaded);
  loaded.config.http = {};
  loaded.config.log = {};
  spec.pipelines.push_back({.name = "",
                            .file = loaded.file_name,
                            .config = std::move(loaded.config),
                            .import_summary = std::move(loaded.import_summary),
                            .exposed_secrets = std::move(exposed)});
  return spec;
}

std::string ConfigPath(const std::string& directory, const ConfigFlags& flags) {
  const std::string path = directory.empty() ? FindConfigFile(flags).path : directory;
  std::error_code error;
  const fs::path absolute = path.empty() ? fs::path() : fs::canonical(path, error);
  return error ? path : absolute.string();
}

}  // namespace walrelay
