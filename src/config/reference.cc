#include "config/reference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "config/option.h"
#include "config/value_text.h"

namespace walrelay {
namespace {

constexpr std::string_view kIntroduction =
    R"(# Configuration

<!-- Made by `walrelay config docs`; a test compares the two. Change src/config/option.cc instead. -->

walrelay reads one TOML file: `--config FILE`, or `WALRELAY_CONFIG`, or `walrelay.toml` in the working
directory, or `/etc/walrelay/walrelay.toml`. It is strict: an unknown key is an error. Every key can be set
without a file: `WALRELAY_SECTION__KEY` in the environment (`WALRELAY_KAFKA__BOOTSTRAP_SERVERS`,
`WALRELAY_SOURCE__COLUMNS__ID`), or `--set section.key=value`. A flag wins over the environment, the
environment over the file. `walrelay config show` prints the values in force and where each came from;
`walrelay check` tries them. Where the file has several tables, variables and flags name the columns of the first.

The smallest file:

```toml
[source]
dsn = "postgresql://walrelay@db.internal/shop?sslmode=verify-full"

[kafka]
bootstrap_servers = "kafka-1:9092"
security_protocol = "SSL"
```

Durations are written `"250ms"`, `"30s"`, `"5m"`; sizes `"64MiB"` or as bytes.
)";

constexpr std::string_view kTables = R"(
### `[[source.placement]]`

Further columns, as headers, as members of an envelope, or as the partition (Debezium's
`table.fields.additional.placement`). Repeat the block for each; headers follow the trace context, `id`, `event_type`
and `trace_id` in the order of the file. With an envelope the value is an object: `payload`, then the columns in the
order of the file.

```toml
[[source.placement]]
column = "tenant"
to = "header"        # or "envelope"; or "partition": int2, int4 or int8, NULL leaves it to the key
as = "tenant-id"     # default: the column's name
```

### `[[source.tables]]`

Several outbox tables on one slot, each with a mapping of its own. What `[source.columns]` and
`[[source.placement]]` say holds for all of them; a table adds to it.

```toml
[[source.tables]]
name = "shop.outbox"

[[source.tables]]
name = "billing.events"
columns = { aggregate_type = "kind", event_type = "" }
placement = [{ column = "tenant", to = "header" }]
```
)";

constexpr std::string_view kPassThrough = R"(
### `[kafka.librdkafka]`

Any other property of librdkafka by its own name, checked by librdkafka itself. Refused are those on which
the guarantees rest: `acks`, `enable.idempotence`, `enable.gapless.guarantee`, `message.timeout.ms`,
`max.in.flight`, `retries`, `partitioner`, `queuing.strategy`, `delivery.report.only.error`,
`transactional.id`, and their aliases.

```toml
[kafka.librdkafka]
"socket.timeout.ms" = 15000
```
)";

std::string_view AfterSection(std::string_view section) {
  if (section == "source.columns") {
    return kTables;
  }
  return section == "kafka" ? kPassThrough : "";
}

std::string TypeOf(const Option& option) {
  return option.type == OptionType::kChoice ? std::string(option.choices)
                                            : std::string(TypeName(option.type));
}

std::string DefaultOf(const Option& option) {
  const std::string shown = option.show(Config());
  return shown == "auto" || shown == "\"\"" ? "" : fmt::format("`{}`", shown);
}

bool IsOfOneTable(const Option& option) {
  return option.section == "source.columns" ||
         (option.section == "source" && option.key == "table");
}

std::string ShowPlacements(const OutboxTable& table) {
  std::vector<std::string> shown;
  for (const Placement& placement : table.placements) {
    const bool partition = placement.where == Placement::Where::kPartition;
    shown.push_back(fmt::format("{{ column = {}, to = \"{}\", as = {} }}",
                                TomlString(placement.column), partition ? "partition" : "header",
                                TomlString(placement.name)));
  }
  return shown.empty() ? "" : fmt::format("placement = [{}]\n", fmt::join(shown, ", "));
}

// What a table has beyond the usual names, as an inline table.
std::string ShowColumns(const OutboxTable& table) {
  Config config;
  config.source.tables = {table};
  std::vector<std::string> shown;
  for (const Option& option : Options()) {
    if (option.section == "source.columns" && option.show(config) != "auto") {
      shown.push_back(fmt::format("{} = {}", option.key, option.show(config)));
    }
  }
  return shown.empty() ? "" : fmt::format("columns = {{ {} }}\n", fmt::join(shown, ", "));
}

std::string ShowTables(const std::vector<OutboxTable>& tables) {
  std::string out;
  for (const OutboxTable& table : tables) {
    out += fmt::format("\n[[source.tables]]\nname = {}\n{}{}",
                       TomlString(fmt::format("{}.{}", table.schema, table.name)),
                       ShowColumns(table), ShowPlacements(table));
  }
  return out;
}

std::string ShowPassThrough(const KafkaConfig& kafka) {
  std::string out = kafka.librdkafka.empty() ? "" : "\n[kafka.librdkafka]\n";
  for (const auto& [name, value] : kafka.librdkafka) {
    out += fmt::format("{} = {}\n", TomlString(name),
                       IsSecretProperty(name) ? "\"***\"" : TomlString(value));
  }
  return out;
}

// What follows a section and is not an option.
std::string BlockAfter(std::string_view section, const Config& config) {
  if (section == "source") {
    const std::vector<OutboxTable>& tables = config.source.tables;
    return tables.size() > 1 ? ShowTables(tables) : ShowPlacements(tables.front());
  }
  return section == "kafka" ? ShowPassThrough(config.kafka) : "";
}

}  // namespace

std::string ConfigReference() {
  std::string out(kIntroduction);
  std::string_view section;
  for (const Option& option : Options()) {
    if (option.section != section) {
      out += AfterSection(section);
      section = option.section;
      out += fmt::format("\n## `[{}]`\n\n| key | type | default | |\n| --- | --- | --- | --- |\n",
                         section);
    }
    out += fmt::format("| `{}` | {} | {} | {} |\n", option.key, TypeOf(option), DefaultOf(option),
                       option.doc);
  }
  return out;
}

std::string ShowConfig(const LoadedConfig& loaded) {
  const SourceConfig& source = loaded.config.source;
  std::string out;
  std::string_view section;
  for (const Option& option : Options()) {
    if (source.tables.size() > 1 && IsOfOneTable(option)) {
      continue;
    }
    if (option.section != section) {
      out += BlockAfter(section, loaded.config);
      out += fmt::format("{}[{}]\n", section.empty() ? "" : "\n", option.section);
      section = option.section;
    }
    const auto origin = loaded.origins.find(option.Name());
    const std::string shown = option.show(loaded.config);
    // "auto" is not a value of TOML: the line stands as a comment.
    out += fmt::format("{}{} = {}  # {}\n", shown == "auto" ? "# " : "", option.key, shown,
                       origin == loaded.origins.end() ? "default" : origin->second);
  }
  return out;
}

}  // namespace walrelay
