#include "route/topic_name.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "walrelay/config/on_error.h"
#include "walrelay/error.h"
#include "walrelay/progress.h"

namespace walrelay {
namespace {

// Kafka's Topic.java: the directory of a partition, NAME-PARTITION, must fit into a file name of
// 255 bytes.
constexpr size_t kLongestTopic = 249;

bool IsLegal(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-';
}

absl::Status Invalid(std::string_view topic, std::string_view why) {
  return Error(ErrorCode::kTopicInvalid, fmt::format("\"{}\" {}", Printable(topic, 80), why));
}

}  // namespace

absl::Status CheckTopicName(std::string_view topic) {
  if (topic.empty()) {
    return Invalid(topic, "is empty");
  }
  WR_RETURN_IF_ERROR(CheckTopicPart(topic));
  // Brokers use the name as that of a directory.
  if (topic == "." || topic == "..") {
    return Invalid(topic, "is not a valid topic name");
  }
  // A row must not be able to write to __consumer_offsets.
  if (topic.starts_with("__")) {
    return Invalid(topic, "is reserved for Kafka's own topics");
  }
  return absl::OkStatus();
}

absl::Status CheckRowTopic(std::string_view topic, const std::vector<std::string>& reserved) {
  WR_RETURN_IF_ERROR(CheckTopicName(topic));
  const bool own = topic.starts_with(kProgressTopicPrefix) ||
                   std::find(reserved.begin(), reserved.end(), topic) != reserved.end();
  return own ? Error(ErrorCode::kTopicInvalid,
                     fmt::format("\"{}\" has walrelay's own records, which no row may write",
                                 Printable(topic, 80)),
                     "Find out which application writes these rows. They are published to no such "
                     "topic, whatever route.allow is: change route.regex or route.topic, or set "
                     "on_error.topic = \"skip\" or \"dead_letter\".")
             : absl::OkStatus();
}

std::vector<std::string> ReservedTopics(const std::string& progress_topic,
                                        const ErrorPolicy& on_error) {
  std::vector<std::string> reserved;
  for (const std::string& topic : {progress_topic, on_error.dead_letter_topic}) {
    if (!topic.empty()) {
      reserved.push_back(topic);
    }
  }
  return reserved;
}

absl::Status CheckTopicPart(std::string_view part) {
  if (part.size() > kLongestTopic) {
    return Invalid(part, fmt::format("has {} characters; the limit is 249", part.size()));
  }
  if (!std::all_of(part.begin(), part.end(), IsLegal)) {
    return Invalid(part, "has characters other than letters, digits, '.', '_' and '-'");
  }
  return absl::OkStatus();
}

// Without recursion: at a mismatch the last star takes one more character.
bool MatchesGlob(std::string_view text, std::string_view glob) {
  size_t in_text = 0;
  size_t in_glob = 0;
  // Where to resume when the text after the star does not match
  size_t star = std::string_view::npos;
  size_t star_text = 0;
  while (in_text < text.size()) {
    if (in_glob < glob.size() && glob[in_glob] == '*') {
      star = in_glob++;
      star_text = in_text;
    } else if (in_glob < glob.size() && (glob[in_glob] == '?' || glob[in_glob] == text[in_text])) {
      ++in_glob;
      ++in_text;
    } else if (star != std::string_view::npos) {
      in_glob = star + 1;
      in_text = ++star_text;
    } else {
      return false;
    }
  }
  return glob.find_first_not_of('*', in_glob) == std::string_view::npos;
}

bool MatchesAnyGlob(std::string_view text, const std::vector<std::string>& globs) {
  return std::any_of(globs.begin(), globs.end(),
                     [&](const std::string& glob) { return MatchesGlob(text, glob); });
}

}  // namespace walrelay
