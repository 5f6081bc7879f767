#include "config/table_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "walrelay/config/outbox_table.h"

namespace walrelay {
namespace {

// Reads one part of a table's name from the front of `text`, in quotes as in SQL or as it is;
// nullopt for a quote that is not closed.
std::optional<std::string> NamePart(std::string_view& text) {
  if (!text.starts_with('"')) {
    const size_t end = std::min(text.find('.'), text.size());
    std::string part(text.substr(0, end));
    text.remove_prefix(end);
    return part;
  }
  std::string part;
  for (size_t i = 1; i < text.size(); ++i) {
    // A quote inside of a name is doubled.
    if (text[i] == '"' && !text.substr(i + 1).starts_with('"')) {
      text.remove_prefix(i + 1);
      return part;
    }
    part += text[i];
    i += text[i] == '"' ? size_t{1} : size_t{0};
  }
  return std::nullopt;
}

// The parts of a table's name: one or two in a valid one.
std::vector<std::string> NameParts(std::string_view text) {
  std::vector<std::string> parts;
  for (;;) {
    auto part = NamePart(text);
    if (!part || part->empty()) {
      return {};  // as identifiers they would be empty
    }
    parts.push_back(*std::move(part));
    if (text.empty()) {
      return parts;
    }
    if (text.front() != '.') {
      return {};  // text behind a quoted name
    }
    text.remove_prefix(1);
  }
}

// As in SQL, but only where the name would be read differently without quotes.
std::string QuotedIfNeeded(const std::string& name) {
  if (name.find_first_of(".\"") == std::string::npos) {
    return name;
  }
  std::string quoted = "\"";
  for (const char c : name) {
    quoted += c == '"' ? "\"\"" : std::string(1, c);
  }
  return quoted + '"';
}

}  // namespace

std::optional<TableName> ParseTableName(std::string_view text) {
  std::vector<std::string> parts = NameParts(text);
  if (parts.empty() || parts.size() > 2) {
    return std::nullopt;
  }
  return TableName{.schema = parts.size() == 2 ? std::move(parts.front()) : "public",
                   .name = std::move(parts.back())};
}

std::string QualifiedName(const OutboxTable& table) {
  return fmt::format("{}.{}", QuotedIfNeeded(table.schema), QuotedIfNeeded(table.name));
}

}  // namespace walrelay
