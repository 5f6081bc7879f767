#include "debezium/column_mappers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <re2/re2.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "base/text.h"
#include "config/choices.h"
#include "debezium/debezium_rules.h"
#include "route/java_regex.h"
#include "walrelay/config/outbox_table.h"

namespace walrelay {
namespace {

using TransformKind = ColumnTransform::Kind;

constexpr PropertyRule kMappers[] = {{"column.mask.*", ""}, {"column.truncate.*", ""}};
constexpr std::string_view kHash = "column.mask.hash.";
constexpr std::string_view kSalt = ".with.salt.";
constexpr std::string_view kPropagation = "column.propagate.source.type";
constexpr std::string_view kTypePropagation = "datatype.propagate.source.type";

// The order in which Debezium looks for the mapper of a column. Those of one rank are in the order
// of a hash map.
constexpr int kPropagationRank = 2;
int RankOf(TransformKind kind) {
  switch (kind) {
    case TransformKind::kTruncate:
      return 0;
    case TransformKind::kMask:
      return 1;
    case TransformKind::kHashSerialized:
      return 3;
    case TransformKind::kHash:
      return 4;
  }
  return 4;
}

// A property without the columns that it applies to.
struct Mapper {
  ColumnTransform transform;
  std::string error;  // why walrelay cannot apply it; "": it can
};

// The part of `name` between two others.
std::optional<std::string_view> Between(std::string_view name, std::string_view begin,
                                        std::string_view end) {
  if (!name.starts_with(begin) || !name.ends_with(end) || name.size() < begin.size() + end.size()) {
    return std::nullopt;
  }
  return name.substr(begin.size(), name.size() - begin.size() - end.size());
}

Mapper OfLength(TransformKind kind, std::string_view digits) {
  int32_t length = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), length);
  Mapper mapper{.transform = {.kind = kind, .length = length}};
  if (error != std::errc() || end != digits.data() + digits.size() || length < 0) {
    mapper.error =
        fmt::format("expected a length of 0 to 2147483647, got \"{}\"", Printable(digits, 40));
  }
  return mapper;
}

// As java.security.MessageDigest finds it: in any case, and by its aliases.
std::optional<HashAlgorithm> AlgorithmNamed(std::string_view name) {
  const std::string wanted = JavaLower(name);
  for (const auto& [known, algorithm] : kChoices<HashAlgorithm>) {
    const std::string lower = JavaLower(known);
    // "SHA-256" has the alias "SHA256"; "SHA3-256" has none.
    const bool alias = lower.starts_with("sha-") && wanted == "sha" + lower.substr(4);
    if (wanted == lower || alias) {
      return algorithm;
    }
  }
  return wanted == "sha" ? std::optional(HashAlgorithm::kSha1) : std::nullopt;
}

// `rest`: "ALGORITHM.with.salt.SALT".
Mapper OfHash(TransformKind kind, std::string_view rest) {
  Mapper mapper{.transform = {.kind = kind}};
  const size_t dot = rest.find('.');
  if (dot == 0 || dot == std::string_view::npos || !rest.substr(dot).starts_with(kSalt) ||
      rest.size() == dot + kSalt.size()) {
    mapper.error =
        "expected column.mask.hash.ALGORITHM.with.salt.SALT or "
        "column.mask.hash.v2.ALGORITHM.with.salt.SALT";
    return mapper;
  }
  const std::string_view name = rest.substr(0, dot);
  mapper.transform.salt = Secret(std::string(rest.substr(dot + kSalt.size())));
  if (const auto algorithm = AlgorithmNamed(name)) {
    mapper.transform.algorithm = *algorithm;
  } else {
    mapper.error = fmt::format("unknown algorithm \"{}\"; expected one of {}", Printable(name, 40),
                               fmt::join(kChoiceNames<HashAlgorithm>, ", "));
  }
  return mapper;
}

// nullopt: not a mapper.
std::optional<Mapper> MapperOf(std::string_view name) {
  constexpr std::string_view kVersion2 = "v2.";
  if (FindRule(kMappers, name) == nullptr) {
    return std::nullopt;
  }
  if (const auto digits = Between(name, "column.truncate.to.", ".chars")) {
    return OfLength(TransformKind::kTruncate, *digits);
  }
  if (const auto digits = Between(name, "column.mask.with.", ".chars")) {
    return OfLength(TransformKind::kMask, *digits);
  }
  if (!name.starts_with(kHash)) {
    return Mapper{.error =
                      "expected column.mask.with.N.chars, column.mask.hash.* or "
                      "column.truncate.to.N.chars"};
  }
  const std::string_view rest = name.substr(kHash.size());
  // "v2.with.salt.x" names the algorithm "v2".
  const bool version2 = rest.starts_with(kVersion2) && !rest.substr(2).starts_with(kSalt);
  return version2 ? OfHash(TransformKind::kHash, rest.substr(kVersion2.size()))
                  : OfHash(TransformKind::kHashSerialized, rest);
}

// The columns that a record is built from, by the names in the connector's file.
std::vector<std::string> PublishedColumns(const DebeziumTranslation& translation) {
  constexpr std::string_view kColumns = "source.columns.";
  constexpr std::string_view kTimestamp = "column:";
  std::vector<std::string> columns;
  const auto add = [&](const std::string& name) {
    if (!name.empty() && std::find(columns.begin(), columns.end(), name) == columns.end()) {
      columns.push_back(name);
    }
  };
  for (const auto& [setting, value] : translation.settings) {
    if (setting.starts_with(kColumns)) {
      add(value);
    }
    if (setting == "route.timestamp" && value.starts_with(kTimestamp)) {
      add(value.substr(kTimestamp.size()));
    }
  }
  for (const Placement& placement : translation.placements) {
    add(placement.column.preferred());
  }
  add("tracingspancontext");
  return columns;
}

// The outbox tables, without others of the connector's list if they were selected. nullopt: the
// connector does not name its tables one by one.
std::optional<std::vector<std::string>> OutboxTables(const DebeziumOptions& connector,
                                                     const DebeziumTranslation& translation) {
  if (!translation.tables.empty()) {
    return translation.tables;
  }
  const auto selected = translation.settings.find("source.table");
  if (selected != translation.settings.end() && !selected->second.empty()) {
    return std::vector{selected->second};
  }
  std::vector<std::string> tables;
  for (const std::string& entry : JavaSplit(ValueOr(connector, "table.include.list", ""), ',')) {
    tables.push_back(LiteralOf(JavaTrim(entry)));
    if (tables.back().empty()) {
      return std::nullopt;
    }
  }
  return tables;
}

// Strings.RegExSplitter: a comma that a backslash escapes belongs to the expression.
std::vector<std::string> Expressions(std::string_view list) {
  std::vector<std::string> parts(1);
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i] == ',') {
      parts.emplace_back();
    } else if (list[i] == '\\' && i + 1 < list.size()) {
      parts.back() += list[i + 1] == ',' ? "" : "\\";
      parts.back() += list[++i];
    } else {
      parts.back() += list[i];
    }
  }
  std::erase(parts, "");
  std::transform(parts.begin(), parts.end(), parts.begin(), JavaTrim);
  return parts;
}

// Whether an expression matches a column of the tables. kSome: of some tables, but not of others.
// kUnknown: it cannot be evaluated here.
enum class Match : uint8_t { kNone, kSome, kAll, kUnknown };

bool IsAscii(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](unsigned char c) { return c >= 0x80; });
}

// As Debezium matches: the whole name, and ASCII letters in any case.
std::optional<bool> Matches(const std::string& expression, const std::string& name) {
  const auto translated = ToRe2Syntax(expression);
  if (!translated.ok()) {
    return std::nullopt;
  }
  RE2::Options options;
  options.set_log_errors(false);
  const RE2 exact(*translated, options);
  options.set_case_sensitive(false);
  const RE2 folded(*translated, options);
  if (!exact.ok() || !folded.ok()) {
    return std::nullopt;
  }
  const bool matches = RE2::FullMatch(name, folded);
  // RE2 folds other letters, too.
  if (matches && !RE2::FullMatch(name, exact) && !(IsAscii(name) && IsAscii(expression))) {
    return std::nullopt;
  }
  return matches;
}

bool AsksConfigProvider(const std::string& value) {
  return value.find("${") != std::string::npos;
}

Match MatchOf(const std::string& expressions, const std::vector<std::string>& tables,
              const std::string& column) {
  if (AsksConfigProvider(expressions)) {
    return Match::kUnknown;  // its value is not known here
  }
  size_t matched = 0;
  for (const std::string& table : tables) {
    bool of_table = false;
    for (const std::string& expression : Expressions(expressions)) {
      const auto matches = Matches(expression, fmt::format("{}.{}", table, column));
      if (!matches) {
        return Match::kUnknown;
      }
      of_table = of_table || *matches;
    }
    matched += of_table ? 1 : 0;
  }
  return matched == 0 ? Match::kNone : matched == tables.size() ? Match::kAll : Match::kSome;
}

// Debezium keeps the schema of the first envelope, be it of a message or of a row; a mapper changes
// only that of rows.
bool SharesEnvelopeWithMessages(const std::string& column, const DebeziumOptions& connector,
                                const DebeziumTranslation& translation) {
  const bool in_envelope = std::any_of(translation.placements.begin(), translation.placements.end(),
                                       [&](const Placement& placement) {
                                         return placement.column == column &&
                                                placement.where == Placement::Where::kEnvelope;
                                       });
  return in_envelope && connector.contains("message.prefix.include.list");
}

// The properties that change a column before this one, by name; "": none.
struct Precedence {
  std::string first;      // it applies instead
  std::string ambiguous;  // it may apply instead
};

Precedence PrecedenceOf(std::string_view name, const Mapper& mapper,
                        const DebeziumOptions& connector, const std::vector<std::string>& tables,
                        const std::string& column) {
  Precedence out;
  const int rank = RankOf(mapper.transform.kind);
  for (const auto& [other, expressions] : connector) {
    const auto other_mapper = other == name ? std::nullopt : MapperOf(other);
    const bool propagates = other == kPropagation && rank > kPropagationRank;
    if (other == kTypePropagation && rank > kPropagationRank) {
      out.ambiguous = other;
    }
    const bool maps = other_mapper && RankOf(other_mapper->transform.kind) <= rank;
    if ((!maps && !propagates) || MatchOf(expressions, tables, column) == Match::kNone) {
      continue;
    }
    if (propagates || RankOf(other_mapper->transform.kind) < rank) {
      out.first = WithoutSalt(other);
    } else {
      out.ambiguous = WithoutSalt(other);
    }
  }
  return out;
}

}  // namespace

std::optional<PropertyResult> TranslateColumnMapper(std::string_view name, const std::string& value,
                                                    const DebeziumOptions& connector,
                                                    DebeziumTranslation& translation) {
  const auto mapper = MapperOf(name);
  if (!mapper) {
    return std::nullopt;
  }
  const auto tables = OutboxTables(connector, translation);
  if (!tables) {
    return Refused(
        "walrelay cannot determine its columns: table.include.list does not name each table");
  }
  std::vector<ColumnTransform> transforms;
  std::vector<std::string> changed;  // for the report
  std::string preceded;
  for (const std::string& column : PublishedColumns(translation)) {
    const Match match = MatchOf(value, *tables, column);
    if (match == Match::kNone) {
      continue;
    }
    const std::string shown = Printable(column, 63);
    if (match == Match::kUnknown) {
      return Refused(fmt::format("walrelay cannot determine whether it matches \"{}\"", shown));
    }
    if (match == Match::kSome) {
      return Refused(fmt::format(
          "matches \"{}\" of some tables only; write [[source.tables]] with a transform "
          "for each",
          shown));
    }
    if (!mapper->error.empty()) {
      return Refused(mapper->error);
    }
    if (SharesEnvelopeWithMessages(column, connector, translation)) {
      return Refused(fmt::format(
          "\"{}\" is a member of the envelopes of rows and of logical messages, which Debezium "
          "describes with one schema",
          shown));
    }
    const Precedence precedence = PrecedenceOf(name, *mapper, connector, *tables, column);
    if (precedence.first.empty() && !precedence.ambiguous.empty()) {
      return Refused(
          fmt::format("{} may match \"{}\", too: which of them Debezium applies is not "
                      "defined",
                      Printable(precedence.ambiguous, 120), shown));
    }
    if (!precedence.first.empty()) {
      preceded = fmt::format("{} precedes it", Printable(precedence.first, 120));
      continue;
    }
    changed.push_back(shown);
    transforms.push_back(mapper->transform);
    transforms.back().column = column;
  }
  if (changed.empty()) {
    return Meaningless(preceded.empty() ? "concerns no published column" : preceded);
  }
  translation.transforms.insert(translation.transforms.end(), transforms.begin(), transforms.end());
  return Translated("[[source.transform]]", fmt::format("{}", fmt::join(changed, ", ")));
}

std::string WithoutSalt(std::string_view name) {
  const size_t salt = name.find(kSalt);
  return name.find(kHash) == std::string_view::npos || salt == std::string_view::npos
             ? std::string(name)
             : fmt::format("{}***", name.substr(0, salt + kSalt.size()));
}

}  // namespace walrelay
