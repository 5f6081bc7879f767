// TopicRouter: maps an aggregate type to a topic, as Debezium's EventRouter does.
//
// The whole type must match the regular expression; then the expression's first match in it is
// replaced by the template, in which `${name}` and `$1` refer to groups. A type that does not match
// is used as the topic. The expressions are in Java's syntax and run by RE2, whose time is linear
// in the size of the row data; features that RE2 lacks (look-around, back references) are rejected
// at startup.
//
// Row data determines the number and length of types, so the cache of results is bounded. Not
// thread-safe.
//
// Source: io.debezium.transforms.outbox.EventRouterDelegate and
// org.apache.kafka.connect.transforms.RegexRouter; java.util.regex.Matcher.replaceFirst.
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

namespace re2 {
class RE2;
}

namespace walrelay {

struct RouteConfig;

class TopicRouter {
 public:
  // Errors: WR-1003 (ConfigValue) for an invalid expression or template.
  // Copies what it needs of `config`. At most 31 groups. A template that refers to a group that the
  // expression does not have is an error here and not at the first row.
  // `reserved`: ReservedTopics().
  static absl::StatusOr<TopicRouter> Create(const RouteConfig& config,
                                            std::vector<std::string> reserved = {});

  TopicRouter(TopicRouter&&) noexcept;
  TopicRouter& operator=(TopicRouter&&) noexcept;
  ~TopicRouter();

  // A topic that Kafka and route.allow permit; valid until the next call. Errors: WR-3005.
  // WR-3005 also for the first type beyond route.max_topics; types that were used before keep
  // working. The error of a type is not cached.
  absl::StatusOr<std::string_view> Topic(std::string_view aggregate_type);

 private:
  using Segment = std::variant<std::string, int>;  // literal text, or the number of a group

  TopicRouter();
  // Each consumes what it has read from the front of `text`.
  absl::Status ParseTemplate(std::string_view text);
  absl::Status CheckTemplate(std::string_view text) const;
  absl::StatusOr<Segment> ParseGroup(std::string_view& text) const;
  absl::Status AppendEscapedOrLiteral(std::string_view& text, std::string& literal) const;
  // The topic that expression and template produce; not yet checked.
  std::string Replace(std::string_view aggregate_type) const;
  // The same, checked, and counted towards route.max_topics.
  absl::StatusOr<std::string> Resolve(std::string_view aggregate_type);

  // A pointer, so that this header does not need RE2's.
  std::unique_ptr<re2::RE2> regex_;
  std::vector<Segment> segments_;
  std::vector<std::string> reserved_;
  std::vector<std::string> allow_;
  size_t max_topics_ = 0;
  // All topics so far, for the limit. Never cleared: the limit is for the life of the process.
  absl::flat_hash_set<std::string> topics_;
  StringMap<std::string> cache_;
  std::string uncached_;  // the last topic of a type too long to be cached
};

}  // namespace walrelay
