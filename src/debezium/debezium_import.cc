#include "debezium/debezium_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "debezium/column_mappers.h"
#include "debezium/connector_transforms.h"
#include "debezium/debezium_file.h"
#include "debezium/debezium_options.h"
#include "debezium/debezium_producer.h"
#include "debezium/debezium_source.h"
#include "debezium/debezium_tables.h"
#include "debezium/debezium_topics.h"
#include "debezium/java_properties.h"
#include "debezium/without_effect.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

constexpr std::string_view kTransforms = "transforms.";
constexpr std::string_view kProducer = "producer.override.";
constexpr std::string_view kWorkersOwn = "only concerns the Connect worker itself";

bool StartsWithAny(std::string_view name, std::initializer_list<std::string_view> beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&](std::string_view beginning) { return name.starts_with(beginning); });
}

// Secrets that the file does not contain are omitted; every other value is required.
bool HoldsSecret(std::string_view name) {
  // Parts of property names.
  constexpr std::string_view kSecrets[] = {"password", "jaas.config", "ssl.keystore.key",
                                           ".certificates", ".certificate.chain"};
  return std::any_of(std::begin(kSecrets), std::end(kSecrets), [&](std::string_view part) {
    return name.find(part) != std::string_view::npos;
  });
}

// One run per file. The order of the steps matters: options of the router decide how others are
// read.
class Importer {
 public:
  Importer(DebeziumFile file, const ImportInput& input) : file_(std::move(file)), input_(input) {
    for (DebeziumProperty& property : file_.properties) {
      property.shown = WithoutSalt(property.shown);
    }
  }

  absl::StatusOr<DebeziumImport> Run() {
    out_.translation = DebeziumDefaults();
    // The worker's settings first, because the connector's override them; then all names, because
    // one property decides how another is read; the router before its options.
    WR_RETURN_IF_ERROR(AddWorker());
    for (const DebeziumProperty& property : file_.properties) {
      all_[property.name] = property.value;
      if (property.name.starts_with(kProducer)) {
        producer_[property.name.substr(kProducer.size())] = property.value;
      }
    }
    WR_RETURN_IF_ERROR(CheckClass());
    WR_ASSIGN_OR_RETURN(transforms_, ConnectorTransforms::Find(all_));
    if (!transforms_.decoder().empty()) {
      out_.translation.settings["format.message_nulls"] = "ignore";
    }
    SelectTables();
    TranslateAll();
    FinishSource(all_, out_.translation);
    FinishSink(out_.translation);
    FinishTopics(all_, out_.translation);
    CheckMissing();
    AllowWithoutEffect();
    Decide();
    out_.form = std::move(file_.form);
    return std::move(out_);
  }

 private:
  bool Has(std::string_view name) const {
    return std::any_of(file_.properties.begin(), file_.properties.end(),
                       [&](const DebeziumProperty& property) { return property.name == name; });
  }

  // Adds the worker's settings, which the connector's own properties override.
  absl::Status AddWorker() {
    WR_ASSIGN_OR_RETURN(const JavaProperties worker, ParseJavaProperties(input_.worker));
    const std::vector<std::string_view> own = OwnConverters();
    for (const auto& entry : worker) {
      const std::string& name = entry.first;
      const std::string& value = entry.second;
      DebeziumProperty property{.name = name,
                                .value = value,
                                .shown = "worker: " + name,
                                .external = AsksProvider(value)};
      const bool converter =
          StartsWithAny(name, {"key.converter", "value.converter", "header.converter"});
      // The worker's own connection settings apply to a connector's producer only with the prefix
      // "producer."; the brokers' addresses apply to both.
      if (name == "bootstrap.servers" || name.starts_with("producer.")) {
        const size_t prefix =
            name.starts_with("producer.") ? std::string_view("producer.").size() : 0;
        property.name = std::string(kProducer) + name.substr(prefix);
      } else if (!converter && name != "topic.creation.enable" &&
                 name != "exactly.once.source.support") {
        out_.properties.push_back({property.shown, Meaningless(kWorkersOwn)});
        continue;
      }
      const bool overruled = Has(property.name) ||
                             (converter && std::any_of(own.begin(), own.end(), [&](auto own_name) {
                                return name.starts_with(own_name);
                              }));
      if (overruled) {
        out_.properties.push_back({property.shown, Meaningless("overridden by the connector")});
      } else {
        file_.properties.push_back(std::move(property));
      }
    }
    return absl::OkStatus();
  }

  // A converter that the connector sets replaces the worker's with all its options.
  std::vector<std::string_view> OwnConverters() const {
    std::vector<std::string_view> own;
    for (const std::string_view name : {"key.converter", "value.converter", "header.converter"}) {
      if (Has(name)) {
        own.push_back(name);
      }
    }
    return own;
  }

  // Only the class decides whether the other properties mean what this translation assumes. Some
  // resources and drafts leave it out.
  absl::Status CheckClass() const {
    const std::string name = JavaTrim(ValueOr(all_, "connector.class", ""));
    if (name.empty() || name.ends_with(".postgresql.PostgresConnector") ||
        name == "PostgresConnector" || name == "PostgresSource") {
      return absl::OkStatus();
    }
    if (name.starts_with("PostgresCdcSource")) {
      return Error(ErrorCode::kConnectorRefused,
                   fmt::format("{} is Confluent's managed connector, which is not supported",
                               Printable(name, 120)),
                   "Export its Debezium properties: write database.*, topic.prefix, slot.name, "
                   "table.include.list and transforms.* as for "
                   "io.debezium.connector.postgresql.PostgresConnector, and a converter for each "
                   "output format.");
    }
    return Error(ErrorCode::kConnectorRefused,
                 fmt::format("{} is not a Postgres connector", Printable(name, 120)),
                 "walrelay replaces Debezium's Postgres connector with the outbox EventRouter; "
                 "keep other connectors in Connect.");
  }

  void SelectTables() {
    tables_.emplace(all_, transforms_.router(), !transforms_.decoder().empty());
    if (tables_->tables().size() > 1) {
      out_.translation.tables = tables_->tables();
    } else if (tables_->tables().size() == 1) {
      out_.translation.settings["source.table"] = tables_->tables().front();
    }
  }

  // The router's options first: others can override them.
  void TranslateAll() {
    // The report keeps the order of the file, whatever the order of translation is.
    std::vector<std::optional<PropertyResult>> results(file_.properties.size());
    for (const bool of_router : {true, false}) {
      for (size_t i = 0; i < results.size(); ++i) {
        if (file_.properties[i].name.starts_with(transforms_.router()) == of_router) {
          results[i] = Translate(file_.properties[i]);
        }
      }
    }
    for (size_t i = 0; i < results.size(); ++i) {
      out_.properties.push_back({file_.properties[i].shown, *std::move(results[i])});
    }
  }

  // A value that only Connect can fetch is unknown here. It does not matter where the property has
  // no effect; elsewhere it is refused, unless it is a secret, which the operator supplies
  // separately.
  PropertyResult Translate(const DebeziumProperty& property) {
    if (!property.external || HoldsSecret(property.name)) {
      return TranslateKnown(property, out_.translation);
    }
    // Into a copy: only the outcome is of interest, because the value is not the real one.
    DebeziumTranslation unused = out_.translation;
    PropertyResult result = TranslateKnown(property, unused);
    if (result.outcome != PropertyOutcome::kMeaningless) {
      // Other properties must not be read in the light of a value that is unknown.
      all_.erase(property.name);
      result = Refused(
          "Connect fetches the value from a config provider, which walrelay does not support",
          result.setting);
    }
    return result;
  }

  // From the most specific owner of a name to the least: router, decoder, transforms, producer,
  // converters, connector.
  PropertyResult TranslateKnown(const DebeziumProperty& property, DebeziumTranslation& out) {
    const std::string_view name = property.name;
    if (auto result = tables_->ResultOf(name)) {
      return *std::move(result);
    }
    if (name == "transforms") {
      return transforms_.TranslateList();
    }
    std::optional<PropertyResult> result;
    if (name.starts_with(transforms_.router())) {
      result = TranslateRouterOption(name.substr(transforms_.router().size()), property.value, out);
    } else if (!transforms_.decoder().empty() && name.starts_with(transforms_.decoder())) {
      result = TranslateMessageDecoderOption(name.substr(transforms_.decoder().size()),
                                             property.value, out);
    } else if (!transforms_.decoder().empty() && name == "message.prefix.include.list") {
      result = TranslateMessagePrefixes(property.value, out);
    } else if (name.starts_with(kTransforms)) {
      result = transforms_.TranslateOther(name.substr(kTransforms.size()), *tables_);
    } else if (name.starts_with(kProducer)) {
      result = TranslateProducerOption(name.substr(kProducer.size()), property, producer_, out);
    } else {
      result = TranslateFormatOption(name, property.value, all_, out);
      if (!result) {
        result = TranslateTopicOption(name, all_);
      }
      if (!result) {
        result = TranslateSourceOption(property, out);
      }
    }
    return result ? *std::move(result)
                  : Refused("unknown to walrelay; remove it if nothing depends on it");
  }

  // A property that is absent, but whose default would decide what is published.
  void Miss(const std::string& name, const std::string& setting, std::string_view what) {
    out_.properties.push_back({name, Refused(fmt::format("not set: {}", what), setting)});
  }

  // Debezium supports messages without a table too: its publication then has no tables.
  void CheckMessagesAndTables() {
    auto& translation = out_.translation;
    if (!transforms_.decoder().empty() && !Has("message.prefix.include.list")) {
      Miss("message.prefix.include.list", "source.message_prefixes",
           "without it the connector reads every message; name the prefix");
    }
    const bool names_tables = std::any_of(out_.properties.begin(), out_.properties.end(),
                                          [](const ImportedProperty& property) {
                                            return property.result.setting == "source.table" ||
                                                   property.result.setting == "[[source.tables]]";
                                          });
    const bool no_tables =
        JavaLower(ValueOr(all_, "publication.autocreate.mode", "")) == "no_tables";
    if (!names_tables && !transforms_.decoder().empty() && no_tables) {
      translation.settings["source.table"] = "";
    } else if (!names_tables) {
      Miss("table.include.list", "source.table",
           "without it the connector reads every table; name the outbox");
    }
  }

  // Settings that decide what is published must be explicit.
  void CheckMissing() {
    auto& translation = out_.translation;
    for (const std::string_view part : {"key", "value"}) {
      const std::string name = fmt::format("{}.converter", part);
      // Debezium Server's default format is JSON with schemas. Connect has a default too, but in
      // the worker's file.
      if (!Has(name) && file_.is_server) {
        const std::string schemas = ValueOr(all_, name + ".schemas.enable", "");
        translation.settings["format." + std::string(part)] =
            JavaLower(schemas) == "false" ? "json" : "json_schema";
      } else if (!Has(name)) {
        Miss(name, fmt::format("format.{}", part),
             "the Connect worker's setting applies; use --worker FILE");
      }
    }
    if (!Has("header.converter") && file_.is_server) {
      Miss("debezium.format.header", "format.headers",
           "Debezium Server writes headers as JSON, walrelay as SimpleHeaderConverter does");
    }
    if (!Has("plugin.name")) {
      Miss("plugin.name", "source.slot",
           "without it the slot uses decoderbufs; walrelay requires a pgoutput slot");
    }
    CheckMessagesAndTables();
    if (!translation.settings.contains("kafka.bootstrap_servers")) {
      translation.required.emplace_back("kafka.bootstrap_servers");
    }
  }

  // Some refused properties change only schemas, or only names that are already valid.
  void AllowWithoutEffect() {
    for (ImportedProperty& property : out_.properties) {
      if (property.result.outcome == PropertyOutcome::kRefused) {
        const std::string_view reason =
            WhyWithoutEffect(ConnectName(property.name), all_, transforms_.router(),
                             out_.translation, input_.overrides);
        if (!reason.empty()) {
          property.result = Equivalent(std::string(reason));
        }
      }
    }
  }

  // The name in Connect of a property of the report.
  std::string ConnectName(const std::string& shown) const {
    const auto found =
        std::find_if(file_.properties.begin(), file_.properties.end(),
                     [&](const DebeziumProperty& property) { return property.shown == shown; });
    return found == file_.properties.end() ? shown : found->name;
  }

  // The operator's settings replace missing and refused properties.
  void Decide() {
    const auto overrides = [&](const std::string& setting) {
      // A secret can be set by its value or by its file.
      return input_.overrides.contains(setting) || input_.overrides.contains(setting + "_file");
    };
    for (ImportedProperty& property : out_.properties) {
      if (property.result.outcome == PropertyOutcome::kRefused &&
          !property.result.setting.empty() && overrides(property.result.setting)) {
        property.result = Translated(property.result.setting, "set by the operator");
      }
    }
    std::erase_if(out_.translation.required, overrides);
    // The operator's single table replaces the list from the connector.
    if (overrides("source.table")) {
      out_.translation.tables.clear();
    }
  }

  DebeziumFile file_;
  const ImportInput& input_;
  DebeziumOptions all_;
  DebeziumOptions producer_;  // names without the prefix
  ConnectorTransforms transforms_;
  std::optional<DebeziumTables> tables_;  // once the router is known
  DebeziumImport out_;
};

}  // namespace

size_t DebeziumImport::Count(PropertyOutcome outcome) const {
  return static_cast<size_t>(std::count_if(
      properties.begin(), properties.end(),
      [&](const ImportedProperty& property) { return property.result.outcome == outcome; }));
}

absl::StatusOr<DebeziumImport> ImportDebezium(const ImportInput& input) {
  WR_ASSIGN_OR_RETURN(DebeziumFile file, ReadDebeziumFile(input.connector));
  return Importer(std::move(file), input).Run();
}

}  // namespace walrelay
