#include "route/event_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "encode/connect_json.h"
#include "encode/converter.h"
#include "encode/json_expansion.h"
#include "pgoutput/type_oids.h"
#include "walrelay/config/format.h"
#include "walrelay/config/route.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// Row data determines the number of payload kinds and the size of their schemas.
constexpr size_t kMaxEnvelopeBytes = size_t{4} << 20;
// The memory for a larger value is released before the next one.
constexpr size_t kMaxKept = size_t{1} << 20;

// Blank in the sense of Java's trim().
bool IsBlank(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) <= 0x20; });
}

// Whether Debezium's route.tombstone.on.empty.payload treats the value as empty.
bool IsEmpty(const Datum& datum) {
  const auto* text = std::get_if<std::string_view>(&datum.value);
  return datum.is_null() || (text != nullptr && IsBlank(*text));
}

// Formats that write a value as Java's toString() does, which need no schema.
bool IsString(const PartFormat& format) {
  return format.format == Format::kString ||
         (format.format == Format::kBytes && format.delegate == Delegate::kString);
}

absl::Status Unfit(std::string_view what) {
  return Error(ErrorCode::kValueInvalid,
               fmt::format("the payload's JSON cannot be expanded into {}", what),
               "Publish the payload unchanged: format.expand_json = false.");
}

}  // namespace

// Raw values take a short path: they are views of the row, and nothing is allocated.
absl::StatusOr<OptionalBytes> EventValue::Encode(pgoutput::Tuple row, const TableBinding& table,
                                                 std::string_view aggregate_type, Arena& arena) {
  if (out_.capacity() > kMaxKept) {
    std::string().swap(out_);  // an assignment would keep the capacity
  }
  if (table.payload.shape == nullptr) {
    WR_ASSIGN_OR_RETURN(const OptionalBytes bytes, BytesOf(row, table.payload, arena));
    const bool tombstone = route_->tombstone_on_empty && bytes && IsBlank(*bytes) &&
                           table.payload.type_oid != pgoutput::kByteaOid;
    return tombstone ? std::nullopt : bytes;
  }
  WR_ASSIGN_OR_RETURN(Shown shown, BuildPayload(row, table, arena));
  const bool tombstone = route_->tombstone_on_empty && IsEmpty(shown.datum);
  if (table.enveloped) {
    // Also for a tombstone: the first envelope of a kind names all later ones.
    WR_ASSIGN_OR_RETURN(shown, BuildEnvelope(row, table, aggregate_type, std::move(shown), arena));
  }
  if (tombstone) {
    return std::nullopt;
  }
  if (!shown.fits && !IsString(format_->value)) {
    return Unfit(
        "one schema (a number of more than 64 bits, an array at the top, or members of "
        "several types)");
  }
  return Convert(format_->value, shown.schema.get(), shown.datum, out_);
}

// The payload alone, in Connect's model, before an envelope is put around it.
absl::StatusOr<EventValue::Shown> EventValue::BuildPayload(pgoutput::Tuple row,
                                                           const TableBinding& table,
                                                           Arena& arena) {
  const ConnectColumnType& shape = *table.payload.shape;
  Shown shown{.schema = shape.schema};
  WR_ASSIGN_OR_RETURN(shown.datum, DatumOf(row, table.payload, arena));
  shown.datum = OrDefault(*shown.schema, shown.datum);
  if (table.payload_is_json) {
    WR_RETURN_IF_ERROR(ExpandMember(table, shown));
  } else if (format_->expand_json) {
    WR_RETURN_IF_ERROR(ExpandInto(table, shown));
  }
  return shown;
}

// Debezium's table.expand.json.payload: text that is not JSON is passed on as text.
absl::Status EventValue::ExpandInto(const TableBinding& table, Shown& shown) {
  const auto* text = std::get_if<std::string_view>(&shown.datum.value);
  if (text == nullptr) {
    return absl::OkStatus();
  }
  WR_ASSIGN_OR_RETURN(const JsonValue* root, document_.Parse(*text));
  if (root == nullptr) {
    return absl::OkStatus();
  }
  WR_ASSIGN_OR_RETURN(Expansion expansion, Expand(table.payload_name, *root, *format_, limits_));
  switch (expansion.kind) {
    case Expansion::Kind::kUnchanged:
      break;
    case Expansion::Kind::kExpanded:
      shown.schema = std::move(expansion.schema);
      shown.datum = std::move(expansion.datum);
      break;
    // `[]`: Connect has no schema for it, so the text is passed on without one.
    case Expansion::Kind::kSchemaless:
      shown.schema = nullptr;
      break;
    case Expansion::Kind::kMismatch:
      shown.fits = false;
      break;
  }
  return absl::OkStatus();
}

// There is no text to fall back on: Debezium rejects a message without a schema, too.
absl::Status EventValue::ExpandMember(const TableBinding& table, Shown& shown) {
  WR_ASSIGN_OR_RETURN(const JsonValue* root,
                      document_.Parse(std::get<std::string_view>(shown.datum.value)));
  WR_CHECK(root != nullptr, "it was parsed as part of the message");
  WR_ASSIGN_OR_RETURN(Expansion expansion,
                      Expand(table.payload_name, *root, message_format_, limits_, RootOf::kMember));
  if (expansion.kind != Expansion::Kind::kExpanded) {
    return Unfit("one schema (an empty array, elements or members of several types)");
  }
  shown.schema = std::move(expansion.schema);
  shown.datum = std::move(expansion.datum);
  return absl::OkStatus();
}

// The payload comes first, then the placements as configured.
absl::StatusOr<EventValue::Shown> EventValue::BuildEnvelope(pgoutput::Tuple row,
                                                            const TableBinding& table,
                                                            std::string_view aggregate_type,
                                                            Shown payload, Arena& arena) {
  if (!payload.fits || payload.schema == nullptr) {
    return Unfit("a member of an envelope");
  }
  Schema schema{.type = SchemaType::kStruct};
  DatumList members;
  if (table.version.present()) {
    WR_ASSIGN_OR_RETURN(const Datum version, DatumOf(row, table.version, arena));
    if (!version.is_null()) {
      schema.version = static_cast<int32_t>(std::get<int64_t>(version.value));
    }
  }
  WR_ASSIGN_OR_RETURN(schema.name,
                      EnvelopeName(table, aggregate_type, *payload.schema, schema.version));
  schema.fields.push_back({"payload", std::move(payload.schema)});
  members.push_back(std::move(payload.datum));
  for (const TableBinding::NamedColumn& member : table.members) {
    WR_ASSIGN_OR_RETURN(Datum datum, DatumOf(row, member.column, arena));
    schema.fields.push_back({member.name, member.column.shape->schema});
    members.push_back(std::move(datum));
  }
  return Shown{std::make_shared<const Schema>(std::move(schema)), Datum{std::move(members)}};
}

// Debezium creates an envelope's schema once per payload schema, or per version, and the first
// aggregate type determines its name for all later ones.
absl::StatusOr<std::string> EventValue::EnvelopeName(const TableBinding& table,
                                                     std::string_view aggregate_type,
                                                     const Schema& payload,
                                                     std::optional<int32_t> version) {
  std::string payload_schema;
  AppendConnectSchema(payload, payload_schema);
  std::string kind = version ? fmt::format("version {}", *version) : payload_schema;
  // The next envelope of each kind determines its name again.
  if (envelope_bytes_ >= kMaxEnvelopeBytes) {
    envelopes_.clear();
    envelope_bytes_ = 0;
  }
  const auto [found, is_new] = envelopes_.try_emplace(std::move(kind));
  Envelope& envelope = found->second;
  if (is_new) {
    envelope.name = table.of_messages
                        ? std::string(aggregate_type)
                        : fmt::format("{}.{}.Value", table.schema_name, aggregate_type);
    envelope.payload_schema = std::move(payload_schema);
    envelope_bytes_ += found->first.size() + envelope.name.size() + envelope.payload_schema.size();
  } else if (envelope.payload_schema != payload_schema) {
    return Error(
        ErrorCode::kValueInvalid,
        fmt::format("the payload's schema differs from the first one of version {}", *version),
        "Write a new version with each change of the payload's schema.");
  }
  return envelope.name;
}

}  // namespace walrelay
