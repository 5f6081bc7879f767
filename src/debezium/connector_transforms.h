// The transforms of a connector: the outbox EventRouter, which walrelay replaces, the decoder of
// logical messages before it, which walrelay has too, and others, which it cannot replace.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "debezium/debezium_translation.h"

namespace walrelay {

class DebeziumTables;

class ConnectorTransforms {
 public:
  // `connector`: all properties; it need not outlive the result. Errors: WR-1007 for a connector
  // without the router.
  static absl::StatusOr<ConnectorTransforms> Find(const DebeziumOptions& connector);

  // The prefix of the router's options: "transforms.outbox.".
  const std::string& router() const { return router_; }
  // The prefix of the decoder's options; "": the connector has no decoder.
  const std::string& decoder() const { return decoder_; }

  // The result of the property "transforms".
  PropertyResult TranslateList() const;
  // The result of an option of another transform. `option`: "ALIAS.NAME".
  PropertyResult TranslateOther(std::string_view option, const DebeziumTables& tables) const;

 private:
  // A transform that is neither the router nor the decoder.
  struct Other {
    std::string alias;
    std::string type;
    bool precedes_router;
  };

  std::string router_;
  std::string decoder_;
  std::vector<Other> others_;
};

}  // namespace walrelay
