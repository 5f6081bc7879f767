#include "encode/json_document.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "encode/json_string.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

namespace ondemand = simdjson::ondemand;

// Jackson's limits.
// Since Jackson 2.15: StreamReadConstraints.
constexpr int kMaxLevels = 1000;
constexpr size_t kLongestNumber = 1000;
// The memory for a larger text is released before the next one.
constexpr size_t kMaxKept = size_t{256} << 10;

// The text up to the bracket that closes the first one; simdjson does not accept text after it.
// A scan without parsing: strings hide brackets.
// Also bounds the depth before anything is parsed, because the builder is recursive.
std::optional<std::string_view> FirstValue(std::string_view text) {
  int level = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') {
        ++i;
      }
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++level > kMaxLevels) {
        return std::nullopt;
      }
    } else if ((c == '}' || c == ']') && --level == 0) {
      return text.substr(0, i + 1);
    }
  }
  return std::nullopt;
}

size_t TakeDigits(std::string_view& text) {
  const size_t count = std::min(text.find_first_not_of("0123456789"), text.size());
  text.remove_prefix(count);
  return count;
}

// JSON's grammar. simdjson checks a number only when it converts it, and a number is kept as text
// here.
bool IsJsonNumber(std::string_view text) {
  if (text.size() > kLongestNumber) {
    return false;
  }
  text.remove_prefix(text.starts_with('-') ? 1 : 0);
  const bool zero = text.starts_with('0');
  const size_t whole = TakeDigits(text);
  if (whole == 0 || (zero && whole > 1)) {
    return false;
  }
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    if (TakeDigits(text) == 0) {
      return false;
    }
  }
  if (text.starts_with('e') || text.starts_with('E')) {
    text.remove_prefix(1);
    text.remove_prefix(text.starts_with('+') || text.starts_with('-') ? 1 : 0);
    if (TakeDigits(text) == 0) {
      return false;
    }
  }
  return text.empty();
}

// Builds a tree from simdjson's cursor. A member function returns false for malformed text.
// Recursive; the depth is bounded by FirstValue().
class TreeBuilder {
 public:
  TreeBuilder(std::string_view text, Arena& arena, size_t most_values)
      : text_(text), arena_(arena), values_left_(most_values) {}

  bool too_many() const { return too_many_; }

  bool Value(ondemand::value value, JsonValue& out) {
    // Before the value is stored: the limit bounds the memory, not only the result.
    if (values_left_ == 0) {
      too_many_ = true;
      return false;
    }
    --values_left_;
    ondemand::json_type type;
    if (value.type().get(type) != simdjson::SUCCESS) {
      return false;
    }
    const bool nests = type == ondemand::json_type::array || type == ondemand::json_type::object;
    // Only members of the document itself need their own text: it is the value of a message's
    // column.
    if (nests && level_ == 1) {
      out.text = FirstValue(From(value.raw_json_token().data())).value_or("");
    }
    switch (type) {
      case ondemand::json_type::array:
        return Array(value, out);
      case ondemand::json_type::object:
        return Object(value, out);
      case ondemand::json_type::string:
        return String(value, out);
      case ondemand::json_type::number:
        return Number(value, out);
      case ondemand::json_type::boolean:
        out.kind = JsonValue::Kind::kBoolean;
        return value.get_bool().get(out.boolean) == simdjson::SUCCESS;
      case ondemand::json_type::null:
        return Trimmed(value) == "null";
    }
    return false;
  }

 private:
  static JsonValue::Members& MembersOf(JsonValue& value) {
    if (value.members == nullptr) {
      value.members = std::make_unique<JsonValue::Members>();
    }
    return *value.members;
  }

  // raw_json_token() includes the white space behind the token.
  static std::string_view Trimmed(ondemand::value& value) {
    const std::string_view token = value.raw_json_token();
    return token.substr(0, token.find_last_not_of(" \t\r\n") + 1);
  }

  bool Array(ondemand::value& value, JsonValue& out) {
    out.kind = JsonValue::Kind::kArray;
    ondemand::array array;
    if (value.get_array().get(array) != simdjson::SUCCESS) {
      return false;
    }
    ++level_;
    for (auto element : array) {
      ondemand::value item;
      if (std::move(element).get(item) != simdjson::SUCCESS ||
          !Value(item, MembersOf(out).items.emplace_back())) {
        return false;
      }
    }
    --level_;
    return true;
  }

  bool Object(ondemand::value& value, JsonValue& out) {
    out.kind = JsonValue::Kind::kObject;
    ondemand::object object;
    if (value.get_object().get(object) != simdjson::SUCCESS) {
      return false;
    }
    // A map and not a search per member: an object may have as many members as the document has
    // values.
    absl::flat_hash_map<std::string_view, size_t> places;
    ++level_;
    for (auto element : object) {
      ondemand::field field;
      if (std::move(element).get(field) != simdjson::SUCCESS) {
        return false;
      }
      const auto name = Unescape(From(field.key().raw()), arena_);
      JsonValue item;
      if (!name || !Value(field.value(), item)) {
        return false;
      }
      JsonValue::Members& members = MembersOf(out);
      const auto [place, is_new] = places.try_emplace(*name, members.items.size());
      if (is_new) {
        members.names.push_back(*name);
        members.items.push_back(std::move(item));
      } else {
        // The last value of a repeated name wins, in the place of the first, as in Jackson's
        // ObjectNode.
        members.items[place->second] = std::move(item);
      }
    }
    --level_;
    return true;
  }

  bool String(ondemand::value& value, JsonValue& out) {
    out.kind = JsonValue::Kind::kString;
    const std::string_view token = Trimmed(value);
    const auto text = Unescape(token.substr(1), arena_);
    out.text = text.value_or("");
    return text.has_value();
  }

  bool Number(ondemand::value& value, JsonValue& out) {
    out.kind = JsonValue::Kind::kNumber;
    out.text = Trimmed(value);
    return IsJsonNumber(out.text);
  }

  std::string_view From(const char* begin) const {
    return text_.substr(static_cast<size_t>(begin - text_.data()));
  }

  std::string_view text_;
  Arena& arena_;
  size_t values_left_;
  bool too_many_ = false;
  int level_ = 0;
};

}  // namespace

struct JsonDocument::Parser {
  ondemand::parser parser;
};

// simdjson's parser keeps its buffers between documents.
JsonDocument::JsonDocument(size_t most_values)
    : most_values_(most_values), parser_(std::make_unique<Parser>()) {}
JsonDocument::JsonDocument(JsonDocument&&) noexcept = default;
JsonDocument& JsonDocument::operator=(JsonDocument&&) noexcept = default;
JsonDocument::~JsonDocument() = default;

absl::StatusOr<const JsonValue*> JsonDocument::Parse(std::string_view text) {
  arena_.Clear();
  root_ = JsonValue();
  if (padded_.capacity() > kMaxKept) {
    std::string().swap(padded_);  // an assignment would keep the capacity
    parser_ = std::make_unique<Parser>();
  }
  const auto first = FirstValue(text);
  // Scalars are not documents here: Debezium expands objects and arrays only.
  if (!first || (text[0] != '{' && text[0] != '[')) {
    return nullptr;
  }
  // simdjson reads beyond the end of the text, up to SIMDJSON_PADDING bytes.
  padded_.reserve(first->size() + simdjson::SIMDJSON_PADDING);
  padded_ = *first;
  const std::string_view stable(padded_);
  ondemand::document document;
  ondemand::value value;
  TreeBuilder builder(stable, arena_, most_values_);
  const bool read =
      parser_->parser.iterate(simdjson::padded_string_view(stable, padded_.capacity()))
              .get(document) == simdjson::SUCCESS &&
      document.get_value().get(value) == simdjson::SUCCESS && builder.Value(value, root_);
  if (builder.too_many()) {
    root_ = JsonValue();
    return Error(ErrorCode::kRecordTooLarge,
                 fmt::format("its JSON has more than {} values", most_values_));
  }
  return read ? &root_ : nullptr;
}

}  // namespace walrelay
