#include "debezium/connector_config.h"

#include "debezium/debezium_file.h"
#include "debezium/debezium_import.h"
#include "debezium/debezium_report.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// A ConfigFileReader. Properties that the operator overrides need no translation.
// Everything that is refused is an error here: a relay must not start with half of a configuration.
absl::Status ReadConnectorFile(const ConfigInput& input, const std::set<std::string>& overridden,
                               LoadedConfig& out) {
  const auto imported = ImportDebezium(
      {.connector = input.file_text, .worker = input.worker_text, .overrides = overridden});
  WR_RETURN_IF_ERROR(Annotate(imported.status(), input.file_name));
  WR_RETURN_IF_ERROR(Annotate(RefusalOf(*imported), input.file_name));
  for (const auto& [name, value] : imported->translation.settings) {
    out.origins[name] = {input.file_name};
  }
  out.import_summary = ImportSummary(*imported);
  return Annotate(ApplyTranslation(imported->translation, out.config), input.file_name);
}

}  // namespace

absl::StatusOr<LoadedConfig> ReadConfigOrConnector(const ConfigInput& input) {
  return ReadConfig(input, IsDebeziumFile(input.file_text) ? ReadConnectorFile : ReadTomlFile);
}

absl::StatusOr<LoadedConfig> LoadConfigOrConnector(const ConfigInput& input) {
  WR_ASSIGN_OR_RETURN(LoadedConfig loaded, ReadConfigOrConnector(input));
  WR_RETURN_IF_ERROR(loaded.problems.ToStatus());
  return loaded;
}

}  // namespace walrelay
