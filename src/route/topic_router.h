// TopicRouter: from an aggregate type to a topic, as Debezium's EventRouter does it.
//
// The type must match the regular expression as a whole; then the first find of the expression in
// it is replaced by the template, with `${name}` and `$1` standing for groups. A type that does not
// match is itself the topic. The expressions are written as for Java and run by RE2, which is
// linear in the size of row data and cannot be made to blow up; what RE2 does not have
// (look-around, back references) is refused at start.
//
// Row data decides how many types there are and how long, so results are cached only up to a bound.
// Not thread-safe.
//
// Source: io.debezium.transforms.outbox.EventRouterDelegate and org.apache.kafka.connect.transforms
// .RegexRouter; java.util.regex.Matcher.replaceFirst.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/string_hash.h"
#include "walrelay/config.h"

namespace re2 {
class RE2;
}

namespace walrelay {

class TopicRouter {
 public:
  // Errors: WR-1003 (ConfigValue) for an expression or a template that cannot be used.
  static absl::StatusOr<TopicRouter> Create(const RouteConfig& config);

  TopicRouter(TopicRouter&&) noexcept;
  TopicRouter& operator=(TopicRouter&&) noexcept;
  ~TopicRouter();

  // A topic that Kafka and route.allow allow; lives until the next call. Errors: WR-3005.
  absl::StatusOr<std::string_view> Topic(std::string_view aggregate_type);

 private:
  using Segment = std::variant<std::string, int>;  // literal text, or the number of a group

  TopicRouter();
  absl::Status ParseTemplate(std::string_view text);
  absl::StatusOr<Segment> ParseGroup(std::string_view& text) const;
  absl::Status AppendEscapedOrLiteral(std::string_view& text, std::string& literal) const;
  std::string Replace(std::string_view aggregate_type) const;
  absl::StatusOr<std::string> Resolve(std::string_view aggregate_type);

  std::unique_ptr<re2::RE2> regex_;
  std::vector<Segment> segments_;
  std::vector<std::string> allow_;
  size_t max_topics_ = 0;
  absl::flat_hash_set<std::string> topics_;
  StringMap<std::string> cache_;
  std::string uncached_;  // the last topic of a type too long to be cached
};

}  // namespace walrelay
