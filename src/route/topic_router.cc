#include "route/topic_router.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <array>
#include <charconv>

#include "base/text.h"
#include "route/java_regex.h"
#include "route/topic_name.h"
#include "walrelay/config/route.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// Emptied when full: the set of types in use is small, or the cache does not help anyway.
constexpr size_t kCachedTypes = 4096;
// Types may be longer than topics if the regex shortens them.
constexpr size_t kLongestCached = 256;
// Including group 0, the whole match. Bounds an array on the stack.
constexpr int kMaxGroups = 32;

absl::Status BadConfig(std::string_view what) {
  return Error(ErrorCode::kConfigValue, what);
}

}  // namespace

TopicRouter::TopicRouter() = default;
TopicRouter::TopicRouter(TopicRouter&&) noexcept = default;
TopicRouter& TopicRouter::operator=(TopicRouter&&) noexcept = default;
TopicRouter::~TopicRouter() = default;

absl::StatusOr<TopicRouter> TopicRouter::Create(const RouteConfig& config,
                                                std::vector<std::string> reserved) {
  RE2::Options options;
  // RE2 would write to standard error; the error is returned instead.
  options.set_log_errors(false);
  const auto regex = ToRe2Syntax(config.regex);
  if (!regex.ok()) {
    return Annotate(regex.status(), fmt::format("route.regex '{}' cannot be used", config.regex));
  }
  TopicRouter router;
  router.reserved_ = std::move(reserved);
  router.regex_ = std::make_unique<RE2>(*regex, options);
  if (!router.regex_->ok()) {
    return BadConfig(
        fmt::format("route.regex '{}' cannot be used: {} (RE2 has no look-around and no back "
                    "references)",
                    config.regex, router.regex_->error()));
  }
  if (router.regex_->NumberOfCapturingGroups() >= kMaxGroups) {
    return BadConfig(fmt::format("route.regex has more than {} groups", kMaxGroups - 1));
  }
  WR_RETURN_IF_ERROR(router.ParseTemplate(config.topic));
  WR_RETURN_IF_ERROR(router.CheckTemplate(config.topic));
  router.allow_ = config.allow;
  router.max_topics_ = static_cast<size_t>(config.max_topics);
  return router;
}

// As java.util.regex.Matcher.replaceFirst(): "\" quotes the next character.
absl::Status TopicRouter::ParseTemplate(std::string_view text) {
  std::string literal;
  while (!text.empty()) {
    if (text.front() != '$') {
      WR_RETURN_IF_ERROR(AppendEscapedOrLiteral(text, literal));
      continue;
    }
    if (!literal.empty()) {
      segments_.emplace_back(std::exchange(literal, {}));
    }
    WR_ASSIGN_OR_RETURN(Segment group, ParseGroup(text));
    segments_.push_back(std::move(group));
  }
  if (!literal.empty()) {
    segments_.emplace_back(std::move(literal));
  }
  return absl::OkStatus();
}

// Every topic contains the template's literal parts, so they must be legal in a topic's name:
// otherwise the configuration would block a row.
absl::Status TopicRouter::CheckTemplate(std::string_view text) const {
  if (segments_.empty()) {
    return BadConfig("route.topic is empty: it is the topic of every row");
  }
  for (const Segment& segment : segments_) {
    const auto* literal = std::get_if<std::string>(&segment);
    if (literal == nullptr) {
      continue;
    }
    const absl::Status status =
        segments_.size() == 1 ? CheckRowTopic(*literal, reserved_) : CheckTopicPart(*literal);
    if (!status.ok()) {
      return BadConfig(
          fmt::format("route.topic: {}, in \"{}\"", MessageOf(status), Printable(text, 80)));
    }
  }
  return absl::OkStatus();
}

absl::Status TopicRouter::AppendEscapedOrLiteral(std::string_view& text,
                                                 std::string& literal) const {
  if (text.front() == '\\') {
    text.remove_prefix(1);
    if (text.empty()) {
      return BadConfig("route.topic ends with a backslash");
    }
  }
  literal += text.front();
  text.remove_prefix(1);
  return absl::OkStatus();
}

// "${name}", or "$12": as many digits as still form a group number, but at least one.
absl::StatusOr<TopicRouter::Segment> TopicRouter::ParseGroup(std::string_view& text) const {
  text.remove_prefix(1);
  if (text.starts_with('{')) {
    const size_t end = text.find('}');
    if (end == std::string_view::npos) {
      return BadConfig("route.topic has \"${\" without \"}\"");
    }
    const std::string name(text.substr(1, end - 1));
    text.remove_prefix(end + 1);
    const auto& groups = regex_->NamedCapturingGroups();
    const auto found = groups.find(name);
    if (found == groups.end()) {
      return BadConfig(
          fmt::format("route.topic refers to group \"{}\", which route.regex does not have", name));
    }
    return Segment(found->second);
  }
  int group = -1;
  while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
    // Bounded: the loop ends at a number above the number of groups.
    const int longer = std::max(group, 0) * 10 + (text.front() - '0');
    if (group >= 0 && longer > regex_->NumberOfCapturingGroups()) {
      break;
    }
    group = longer;
    text.remove_prefix(1);
  }
  if (group < 0 || group > regex_->NumberOfCapturingGroups()) {
    return BadConfig(
        "route.topic has a \"$\" that refers to no group of route.regex (write \\$ for the "
        "character)");
  }
  return Segment(group);
}

// RegexRouter: Matcher.matches() decides whether the topic is replaced, and replaceFirst() replaces
// the first find(), which need not be the whole type.
std::string TopicRouter::Replace(std::string_view aggregate_type) const {
  const re2::StringPiece input(aggregate_type.data(), aggregate_type.size());
  if (!RE2::FullMatch(input, *regex_)) {
    return std::string(aggregate_type);
  }
  std::array<re2::StringPiece, kMaxGroups> groups;
  if (!regex_->Match(input, 0, input.size(), RE2::UNANCHORED, groups.data(),
                     regex_->NumberOfCapturingGroups() + 1)) {
    return std::string(aggregate_type);
  }
  const auto found_at = static_cast<size_t>(groups[0].data() - input.data());
  std::string topic(aggregate_type.substr(0, found_at));
  for (const Segment& segment : segments_) {
    if (const int* group = std::get_if<int>(&segment)) {
      const re2::StringPiece& text = groups[static_cast<size_t>(*group)];
      // A group that took no part in the match is empty, as in Java.
      topic.append(text.data() == nullptr ? "" : text.data(), text.size());
    } else {
      topic += std::get<std::string>(segment);
    }
  }
  topic += aggregate_type.substr(found_at + groups[0].size());
  return topic;
}

// A new topic counts towards the limit when it is used first: each costs metadata, metrics and,
// where brokers create topics, a topic.
absl::StatusOr<std::string> TopicRouter::Resolve(std::string_view aggregate_type) {
  std::string topic = Replace(aggregate_type);
  WR_RETURN_IF_ERROR(CheckRowTopic(topic, reserved_));
  if (!allow_.empty() && !MatchesAnyGlob(topic, allow_)) {
    return Error(ErrorCode::kTopicInvalid, fmt::format("\"{}\" is not in route.allow", topic));
  }
  if (!topics_.contains(topic)) {
    if (topics_.size() >= max_topics_) {
      return Error(ErrorCode::kTopicInvalid,
                   fmt::format("\"{}\" would be topic number {}, route.max_topics is {}", topic,
                               topics_.size() + 1, max_topics_),
                   "If this many topics are intended, raise route.max_topics; otherwise check "
                   "which application writes these aggregate types.");
    }
    topics_.insert(topic);
  }
  return topic;
}

// A type that could not be resolved is not cached: its error is rare, and may depend on the limit.
absl::StatusOr<std::string_view> TopicRouter::Topic(std::string_view aggregate_type) {
  const auto cached = cache_.find(aggregate_type);
  if (cached != cache_.end()) {
    return std::string_view(cached->second);
  }
  WR_ASSIGN_OR_RETURN(std::string topic, Resolve(aggregate_type));
  // Long types would make the cache large; the result is kept in one string, which the next call
  // replaces.
  if (aggregate_type.size() > kLongestCached) {
    uncached_ = std::move(topic);
    return std::string_view(uncached_);
  }
  // Row data decides which types exist, so the cache needs a limit.
  if (cache_.size() >= kCachedTypes) {
    cache_.clear();
  }
  const auto inserted = cache_.emplace(std::string(aggregate_type), std::move(topic)).first;
  return std::string_view(inserted->second);
}

}  // namespace walrelay
