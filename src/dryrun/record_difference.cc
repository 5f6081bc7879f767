#include "dryrun/record_difference.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace walrelay {
namespace {

constexpr std::string_view kId = "id";
// The values of these headers differ between instances, for example the run id. Only their names
// are compared.
constexpr std::string_view kContext = "__debezium.context.";
constexpr size_t kShownDifference = 200;

using OwnedBytes = std::optional<std::string>;

OwnedBytes Own(const std::optional<std::string_view>& view) {
  return view ? OwnedBytes(*view) : std::nullopt;
}

// Omits the common prefix of two long texts.
std::string Shown(const OwnedBytes& bytes, size_t from) {
  if (!bytes) {
    return "NULL";
  }
  const std::string_view rest = std::string_view(*bytes).substr(std::min(from, bytes->size()));
  return fmt::format("{}\"{}\"", from == 0 ? "" : "…", Printable(rest, kShownDifference));
}

std::string Differ(std::string_view what, const OwnedBytes& expected, const OwnedBytes& stored) {
  // Bytes before the first difference that are shown, so that its place can be recognized.
  constexpr size_t kContextBytes = 20;
  size_t same = 0;
  if (expected && stored) {
    const auto [mine, theirs] =
        std::mismatch(expected->begin(), expected->end(), stored->begin(), stored->end());
    same = static_cast<size_t>(mine - expected->begin());
  }
  const size_t from = same > 2 * kContextBytes ? same - kContextBytes : 0;
  std::string text =
      fmt::format("{}: walrelay {}, topic {}", what, Shown(expected, from), Shown(stored, from));
  return from == 0 ? text : text + fmt::format(" (from byte {} on)", from);
}

std::string NamesOf(const std::vector<std::pair<std::string, OwnedBytes>>& headers) {
  std::string names;
  for (const auto& [name, value] : headers) {
    names += (names.empty() ? "" : ", ") + Printable(name, kShownDifference);
  }
  return names;
}

std::string HeaderDifference(const ExpectedRecord& expected, const StoredRecord& stored) {
  const bool same_names = std::equal(
      expected.headers.begin(), expected.headers.end(), stored.headers.begin(),
      stored.headers.end(), [](const auto& a, const auto& b) { return a.first == b.first; });
  if (!same_names) {
    return fmt::format("headers: walrelay [{}], topic [{}]", NamesOf(expected.headers),
                       NamesOf(stored.headers));
  }
  for (size_t i = 0; i < expected.headers.size(); ++i) {
    const auto& [name, value] = expected.headers[i];
    if (!name.starts_with(kContext) && value != stored.headers[i].second) {
      return Differ("header " + Printable(name, kShownDifference), value, stored.headers[i].second);
    }
  }
  return "";
}

// Length prefixes make the text unambiguous.
std::string ById(const std::string& topic, const std::string& id) {
  return fmt::format("id {} {}{}", topic.size(), topic, id);
}
std::string ByContent(const std::string& topic, const OwnedBytes& key, const OwnedBytes& value) {
  return fmt::format("content {} {}{} {}{}", topic.size(), topic,
                     key ? fmt::format("{}", key->size()) : "NULL", key.value_or(""),
                     value ? " " + *value : "");
}

}  // namespace

ExpectedRecord::ExpectedRecord(const Record& record)
    : topic(record.topic),
      key(Own(record.key)),
      value(Own(record.value)),
      partition(record.partition),
      timestamp(record.timestamp) {
  for (const auto& [name, bytes] : record.headers) {
    headers.emplace_back(name, Own(bytes));
  }
}

const std::string* ExpectedRecord::id() const {
  for (const auto& [name, bytes] : headers) {
    if (name == kId && bytes) {
      return &*bytes;
    }
  }
  return nullptr;
}

std::string IdentityOf(const ExpectedRecord& expected) {
  const std::string* const id = expected.id();
  return id != nullptr ? ById(expected.topic, *id)
                       : ByContent(expected.topic, expected.key, expected.value);
}

// Under all identities that the expected record may have: whether it has an id is known only there.
std::vector<std::string> IdentitiesOf(const StoredRecord& stored) {
  std::vector<std::string> identities = {ByContent(stored.topic, stored.key, stored.value)};
  for (const auto& [name, value] : stored.headers) {
    if (name == kId && value) {
      identities.push_back(ById(stored.topic, *value));
    }
  }
  return identities;
}

std::string DifferenceOf(const ExpectedRecord& expected, const StoredRecord& stored,
                         std::optional<int32_t> key_partition) {
  // The partition first: if it differs, the record is in the wrong place, whatever it contains.
  const auto partition = expected.partition || !expected.key ? expected.partition : key_partition;
  if (partition && *partition != stored.partition) {
    return fmt::format("partition: walrelay {}, topic {}", *partition, stored.partition);
  }
  if (expected.key != stored.key) {
    return Differ("key", expected.key, stored.key);
  }
  if (std::string difference = HeaderDifference(expected, stored); !difference.empty()) {
    return difference;
  }
  if (expected.value != stored.value) {
    return Differ("value", expected.value, stored.value);
  }
  using std::chrono::milliseconds;
  // Kafka stores milliseconds.
  if (expected.timestamp && stored.timestamp &&
      std::chrono::floor<milliseconds>(*expected.timestamp) !=
          std::chrono::floor<milliseconds>(*stored.timestamp)) {
    return fmt::format("timestamp: walrelay {}, topic {}", Rfc3339(*expected.timestamp),
                       Rfc3339(*stored.timestamp));
  }
  return "";
}

}  // namespace walrelay
