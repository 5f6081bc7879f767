#include "debezium/connector_transforms.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "debezium/debezium_tables.h"
#include "walrelay/error.h"

namespace walrelay {

// Finds the router's transform by its class; its alias is arbitrary.
absl::StatusOr<ConnectorTransforms> ConnectorTransforms::Find(const DebeziumOptions& connector) {
  ConnectorTransforms out;
  for (const std::string& entry : JavaSplit(ValueOr(connector, "transforms", ""), ',')) {
    const std::string alias = JavaTrim(entry);
    const std::string type = ValueOr(connector, fmt::format("transforms.{}.type", alias), "");
    // A second router, or a decoder behind the router, counts as another transform.
    if (out.router_.empty() && type.ends_with(".outbox.EventRouter")) {
      out.router_ = fmt::format("transforms.{}.", alias);
    } else if (out.router_.empty() && type.ends_with(".DecodeLogicalDecodingMessageContent")) {
      out.decoder_ = fmt::format("transforms.{}.", alias);
    } else if (!alias.empty()) {
      out.others_.push_back({alias, type, out.router_.empty()});
    }
  }
  if (out.router_.empty()) {
    return Error(ErrorCode::kConnectorRefused,
                 "no transform of this connector is io.debezium.transforms.outbox.EventRouter",
                 "walrelay replaces an outbox connector; keep other connectors in Connect.");
  }
  return out;
}

// Each other transform is reported in one line, that of its type.
PropertyResult ConnectorTransforms::TranslateList() const {
  for (const Other& other : others_) {
    if (other.type.empty()) {
      return Refused(fmt::format("\"{}\" has no type", Printable(other.alias, 60)));
    }
  }
  return Equivalent(others_.empty() ? "the router is the only transform"
                                    : "the router; see the other transforms' types");
}

// A transform may change the records in any way, so walrelay can replace only the router. One
// that never meets a record of the outbox tables changes nothing.
PropertyResult ConnectorTransforms::TranslateOther(std::string_view option,
                                                   const DebeziumTables& tables) const {
  const auto other = std::find_if(others_.begin(), others_.end(), [&](const auto& each) {
    return option.starts_with(each.alias + ".");
  });
  if (other == others_.end()) {
    return Meaningless("belongs to no transform of the list");
  }
  const std::string prefix = fmt::format("transforms.{}.", other->alias);
  if (other->precedes_router && tables.ReachOf(prefix) == Reach::kNone) {
    return Equivalent("its predicate is false for every record of the outbox tables");
  }
  return option == other->alias + ".type"
             ? Refused(fmt::format("walrelay has no transform other than the router: {} ({})",
                                   Printable(other->alias, 60), Printable(other->type, 120)))
             : Meaningless("belongs to a refused transform");
}

}  // namespace walrelay
