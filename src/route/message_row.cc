#include "route/message_row.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "encode/json_inference.h"
#include "pgoutput/type_oids.h"
#include "walrelay/config/format.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using Kind = JsonValue::Kind;

constexpr size_t kMaxColumns = 1600;  // the limit of a Postgres table

absl::Status Unusable(std::string_view what) {
  return Error(ErrorCode::kValueInvalid, what,
               "Write a JSON object: SELECT pg_logical_emit_message(true, 'PREFIX', "
               "'{\"id\": …, \"aggregate_type\": …, \"aggregate_id\": …, \"payload\": …}'); or set "
               "on_error.value to \"skip\" or \"dead_letter\".");
}

// Half of a surrogate pair, which UTF-8 cannot encode.
bool HasLoneSurrogate(std::string_view text) {
  for (size_t at = text.find('\xED'); at != std::string_view::npos;
       at = text.find('\xED', at + 1)) {
    // U+D800 to U+DFFF would be ED A0 80 to ED BF BF. The JSON parser lets them through, because an
    // escape can write them.
    if (at + 1 < text.size() && static_cast<unsigned char>(text[at + 1]) >= 0xA0) {
      return true;
    }
  }
  return false;
}

// 0: more than 64 bits.
// As Debezium infers it from JSON: the smallest integer type that has room; a fraction or an
// exponent makes a double.
uint32_t TypeOfNumber(std::string_view text) {
  const SchemaType type = NumberType(text);
  if (type == SchemaType::kInt32) {
    return pgoutput::kInt4Oid;
  }
  if (type == SchemaType::kInt64) {
    return pgoutput::kInt8Oid;
  }
  const bool is_integer = text.find_first_of(".eE") == std::string_view::npos;
  return is_integer ? uint32_t{0} : uint32_t{pgoutput::kFloat8Oid};
}

}  // namespace

// The row of content that is not usable has the content as its only column: it can be blocked,
// skipped or dead-lettered like any row.
absl::Status MessageRow::Read(std::string_view prefix, std::string_view content) {
  prefix_ = prefix;
  columns_.clear();
  values_.clear();
  const absl::Status status = ReadObject(content);
  if (!status.ok()) {
    columns_.clear();
    values_.clear();
    Add("content", pgoutput::kTextOid, content);
  }
  Compare();
  return status;
}

absl::Status MessageRow::ReadObject(std::string_view content) {
  // Before parsing: any role that may write messages chooses the size.
  if (content.size() > most_bytes_) {
    return Error(ErrorCode::kRecordTooLarge,
                 fmt::format("the message's content has {} bytes; the limit is {}, four times "
                             "kafka.max_record_bytes",
                             content.size(), most_bytes_));
  }
  WR_ASSIGN_OR_RETURN(const JsonValue* root, document_.Parse(content));
  if (root == nullptr || root->kind != Kind::kObject) {
    return Unusable("the message's content is not a JSON object");
  }
  if (root->items().size() > kMaxColumns) {
    return Unusable(fmt::format("the message's content has {} members; the limit is {}",
                                root->items().size(), kMaxColumns));
  }
  for (size_t i = 0; i < root->items().size(); ++i) {
    WR_RETURN_IF_ERROR(AddMember(root->names()[i], root->items()[i]));
  }
  return absl::OkStatus();
}

absl::Status MessageRow::AddMember(std::string_view name, const JsonValue& value) {
  switch (value.kind) {
    case Kind::kNull:
      if (nulls_ == NullMembers::kOptionalBytes) {
        // Unlike text, a NULL has no type in JSON. Debezium shows it as optional bytes.
        Add(name, pgoutput::kByteaOid, {});
        values_.back() = {};
      }
      break;
    case Kind::kBoolean:
      Add(name, pgoutput::kBoolOid, value.boolean ? "t" : "f");
      break;
    case Kind::kNumber: {
      const uint32_t type = TypeOfNumber(value.text);
      if (type == 0) {
        return Unusable(
            fmt::format("member \"{}\" is an integer of more than 64 bits", Printable(name, 63)));
      }
      Add(name, type, value.text);
      break;
    }
    case Kind::kString:
      if (HasLoneSurrogate(value.text)) {
        return Unusable(
            fmt::format("member \"{}\" contains a lone surrogate", Printable(name, 63)));
      }
      Add(name, pgoutput::kTextOid, value.text);
      break;
    case Kind::kArray:
    case Kind::kObject:
      // No column of a table can have this pseudo-type, so it marks a member that is JSON itself.
      Add(name, pgoutput::kRecordOid, value.text);
      break;
  }
  return absl::OkStatus();
}

// All values are in text form, as the server would send them for these types.
void MessageRow::Add(std::string_view name, uint32_t type_oid, std::string_view text) {
  columns_.push_back({.name = name, .type_oid = type_oid});
  values_.push_back({pgoutput::TupleValue::Kind::kText, text});
}

// A description is built only when the columns differ: most messages of an application have the
// same.
void MessageRow::Compare() {
  const bool same =
      knows_any_ && prefix_ == known_prefix_ &&
      std::equal(columns_.begin(), columns_.end(), known_.begin(), known_.end(),
                 [](const pgoutput::Column& column, const Known& known) {
                   return column.name == known.name && column.type_oid == known.type_oid;
                 });
  has_new_columns_ = !same;
  if (same) {
    return;
  }
  knows_any_ = true;
  known_prefix_ = prefix_;
  known_.clear();
  for (const pgoutput::Column& column : columns_) {
    known_.push_back({std::string(column.name), column.type_oid});
  }
}

pgoutput::Relation MessageRow::relation() const {
  return {.oid = kMessageRelation,
          .schema = "pg_logical_emit_message",
          .name = prefix_,
          .columns = columns_};
}

}  // namespace walrelay
