#include "outbox/table_mapping.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "outbox/column_names.h"
#include "outbox/known_tables.h"
#include "pgoutput/type_oids.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

bool IsText(const DescribedColumn& column) {
  return column.type_oid == pgoutput::kTextOid || column.type_oid == pgoutput::kVarcharOid ||
         column.type_oid == pgoutput::kBpcharOid;
}

// Types whose bytes are an event's value.
bool IsDocument(const DescribedColumn& column) {
  return column.type_oid == pgoutput::kJsonbOid || column.type_oid == pgoutput::kJsonOid ||
         column.type_oid == pgoutput::kByteaOid || column.type_oid == pgoutput::kXmlOid;
}

bool IsPointInTime(const DescribedColumn& column) {
  return column.type_oid == pgoutput::kTimestamptzOid || column.type_oid == pgoutput::kTimestampOid;
}

// Values of other types are a choice of a few words, or a number: enum types included.
bool IsName(const DescribedColumn& column) {
  return !IsDocument(column) && !IsPointInTime(column) && column.type_oid != pgoutput::kBoolOid;
}

bool IsPayload(const DescribedColumn& column) {
  return IsDocument(column) || IsText(column) || column.type_oid == pgoutput::kOidOid;
}

bool IsAnything(const DescribedColumn&) {
  return true;
}

std::string Shown(const DescribedColumn& column) {
  return Printable(column.name, 63);
}

absl::Status Unsuitable(const TableDescription& table, std::string_view why) {
  return Error(ErrorCode::kTableUnsuitable, fmt::format("{}.{}: {}", Printable(table.schema, 63),
                                                        Printable(table.name, 63), why));
}

class Mapper {
 public:
  explicit Mapper(const TableDescription& table) : table_(table), known_(FindKnownTable(table)) {}

  absl::StatusOr<TableMapping> Run() {
    WR_RETURN_IF_ERROR(CheckKind());
    if (known_ != nullptr && known_->unsuitable) {
      return Unsuitable(
          table_, fmt::format("it is a table of {}, of which {}", known_->name, known_->note));
    }
    if (known_ != nullptr) {
      Decide(fmt::format("This is a table of {}. {}", known_->name, known_->note));
      out_.rows_belong_to = known_->needs_rows ? known_->name : "";
    }
    WR_RETURN_IF_ERROR(MapPayload());
    MapId();
    MapAggregateId();
    MapTypes();
    MapTracing();
    MapTime();
    MapMark();
    MapHeaders();
    CheckEncoding();
    ListUnpublished();
    return std::move(out_);
  }

 private:
  using Column = const DescribedColumn*;
  using Accept = bool (*)(const DescribedColumn&);

  absl::Status CheckKind() const {
    switch (table_.kind) {
      case TableDescription::Kind::kOther:
        return Unsuitable(table_, "it is not a table, so no row of it is written to the WAL");
      case TableDescription::Kind::kPartition:
        return Unsuitable(table_, fmt::format("it is a partition; name the partitioned table, {}",
                                              Printable(table_.root, 130)));
      default:
        break;
    }
    return table_.unlogged
               ? Error(ErrorCode::kTableUnlogged, fmt::format("{}.{}", Printable(table_.schema, 63),
                                                              Printable(table_.name, 63)))
               : absl::OkStatus();
  }

  // The columns with this use that no other part has, in the order of the usual names.
  std::vector<Column> All(ColumnUse use, Accept accept) const {
    std::vector<Column> found;
    for (const std::string_view name : UsualNames(use)) {
      for (const DescribedColumn& column : table_.columns) {
        if (NormalizedName(column.name) == name && accept(column) && !used_.contains(&column)) {
          found.push_back(&column);
        }
      }
    }
    return found;
  }

  // The first of them; the others are a decision of the operator.
  Column Take(ColumnUse use, Accept accept, std::string_view part) {
    const std::vector<Column> found = All(use, accept);
    if (found.empty()) {
      return nullptr;
    }
    used_.insert(found.front());
    std::string others;
    for (size_t i = 1; i < found.size(); ++i) {
      others += (i == 1 ? "" : ", ") + Shown(*found[i]);
    }
    if (!others.empty() && !part.empty()) {
      Decide(fmt::format("{} is the {}; by their names these could be it, too: {}.",
                         Shown(*found.front()), part, others));
    }
    return found.front();
  }

  void Decide(std::string text) { out_.decisions.push_back(std::move(text)); }

  static MappedColumn Mapped(Column column, std::string reason) {
    return {.column = column->name, .reason = std::move(reason)};
  }
  static MappedColumn ByName(Column column) {
    return Mapped(column, fmt::format("by its name; {}", column->type));
  }

  absl::Status MapPayload() {
    // A column of a document's type before one of text, which may hold a name.
    Column payload = Take(ColumnUse::kPayload, IsDocument, "payload");
    payload = payload != nullptr ? payload : Take(ColumnUse::kPayload, IsPayload, "payload");
    if (payload != nullptr) {
      out_.payload = ByName(payload);
    } else if (payload = OnlyDocument(); payload != nullptr) {
      used_.insert(payload);
      out_.payload = Mapped(payload, fmt::format("the only column of type {}", payload->type));
    } else {
      return Unsuitable(table_,
                        "no column holds the event itself: none has a usual name such as "
                        "payload, and not exactly one is json, jsonb, xml or bytea");
    }
    if (payload->type_oid == pgoutput::kOidOid) {
      return Unsuitable(
          table_, fmt::format("{} has type oid: the event is a large object, of which the WAL of "
                              "this table has only the number. Map it to bytea, jsonb or text "
                              "(Hibernate: @JdbcTypeCode, or @Column(columnDefinition))",
                              Shown(*payload)));
    }
    out_.payload.reason += payload->type_oid == pgoutput::kByteaOid
                               ? ", published byte for byte"
                               : ", published as Postgres prints it";
    return absl::OkStatus();
  }

  Column OnlyDocument() const {
    Column only = nullptr;
    for (const DescribedColumn& column : table_.columns) {
      if (IsDocument(column)) {
        if (only != nullptr) {
          return nullptr;
        }
        only = &column;
      }
    }
    return only;
  }

  void MapId() {
    if (Column id = Take(ColumnUse::kId, IsName, "event id"); id != nullptr) {
      out_.id = ByName(id);
    } else if (id = Named(table_.primary_key.empty() ? "" : table_.primary_key.front());
               id != nullptr) {
      used_.insert(id);
      out_.id = Mapped(id, "the primary key");
    } else {
      out_.id.reason = "no column identifies an event";
      Decide("No column identifies an event: consumers cannot recognize one that is repeated.");
    }
  }

  Column Named(std::string_view name) const {
    const auto found = std::find_if(table_.columns.begin(), table_.columns.end(),
                                    [&](const auto& column) { return column.name == name; });
    return found == table_.columns.end() ? nullptr : &*found;
  }

  void MapAggregateId() {
    const Column key = Take(ColumnUse::kAggregateId, IsName, "aggregate id");
    if (key == nullptr) {
      out_.aggregate_id = {out_.id.column.empty() ? table_.columns.front().name : out_.id.column,
                           "no column has the id of an aggregate"};
      Decide(
          fmt::format("No column has the id of an aggregate. {} is the record's key, so each "
                      "event has its own key and events have no order: choose a column by which "
                      "consumers need them in order, if there is one.",
                      Printable(out_.aggregate_id.column, 63)));
      return;
    }
    out_.aggregate_id = ByName(key);
    NoteNull(key, "aggregate id", "null_key");
  }

  void NoteNull(Column column, std::string_view part, std::string_view option) {
    if (!column->not_null) {
      Decide(
          fmt::format("{}, the {}, may be NULL: such a row blocks publishing, unless "
                      "on_error.{} says otherwise.",
                      Shown(*column), part, option));
    }
  }

  // The aggregate type decides the topic. Without one, the topic is fixed.
  void MapTypes() {
    Column type = Take(ColumnUse::kAggregateType, IsName, "aggregate type");
    const bool is_topic = type == nullptr;
    if (is_topic) {
      type = KnownTopic();
    }
    if (type == nullptr) {
      type = Take(ColumnUse::kTopic, IsName, "column with the topic");
    }
    if (type != nullptr) {
      SetAggregateType(type, fmt::format("by its name; {}", type->type), is_topic);
    } else if (type = TypeBesideEventType(); type != nullptr) {
      SetAggregateType(type, "another column has the type of the event", /*is_topic=*/false);
    }
    MapEventType();
    if (type == nullptr) {
      FixTopic();
    }
  }

  Column KnownTopic() {
    if (known_ == nullptr || known_->topic_column.empty()) {
      return nullptr;
    }
    for (const DescribedColumn& column : table_.columns) {
      if (NormalizedName(column.name) == known_->topic_column) {
        used_.insert(&column);
        return &column;
      }
    }
    return nullptr;
  }

  // If two columns have types, "type" may be the aggregate's type, as in Axon's event store.
  Column TypeBesideEventType() {
    const std::vector<Column> types = All(ColumnUse::kEventType, IsName);
    for (const Column column : types) {
      if (column != types.front() && NormalizedName(column->name) == "type") {
        used_.insert(column);
        Decide(fmt::format("{} is the aggregate type, because {} is the event type: check both.",
                           Shown(*column), Shown(*types.front())));
        return column;
      }
    }
    return nullptr;
  }

  void SetAggregateType(Column column, std::string reason, bool is_topic) {
    out_.aggregate_type = Mapped(column, std::move(reason));
    out_.topic = is_topic ? "${routedByValue}" : "outbox.event.${routedByValue}";
    out_.topic_reason = is_topic ? fmt::format("{} holds the topic", Shown(*column))
                                 : "the default, which is also Debezium's";
    if (is_topic) {
      Decide(
          fmt::format("The value of {} is the topic. Who may insert rows may write to every "
                      "topic that walrelay may write to: set route.allow.",
                      Shown(*column)));
    }
    NoteNull(column, "aggregate type", "null_route");
  }

  void MapEventType() {
    const Column type = Take(ColumnUse::kEventType, IsName, "event type");
    if (type != nullptr) {
      out_.event_type = ByName(type);
    } else {
      out_.event_type.reason = "no column has the type of the event";
    }
  }

  // Any column that is not NULL: the topic does not contain its value.
  void FixTopic() {
    out_.aggregate_type = {NeverNull(),
                           "no column has the type of an aggregate; the topic is fixed"};
    out_.topic = FixedTopic();
    out_.topic_reason = "one topic for all events of the table";
    Decide(fmt::format(
        "No column has the type of an aggregate, so all events go to the topic {}. {}", out_.topic,
        out_.event_type.column.empty() ? "Choose its name."
                                       : "For a topic per type of event: topic = "
                                         "\"outbox.event.${routedByValue}\" in [route], "
                                         "and aggregate_type = the column of event_type."));
  }

  std::string NeverNull() const {
    for (const MappedColumn* part : {&out_.event_type, &out_.aggregate_id, &out_.id}) {
      if (const Column column = Named(part->column); column != nullptr && column->not_null) {
        return column->name;
      }
    }
    const auto found = std::find_if(table_.columns.begin(), table_.columns.end(),
                                    [](const auto& column) { return column.not_null; });
    return found == table_.columns.end() ? out_.aggregate_id.column : found->name;
  }

  // The characters that Kafka permits.
  std::string FixedTopic() const {
    std::string topic = "outbox.event.";
    for (const char c : table_.name) {
      const bool permitted = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                             (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
      topic += permitted ? c : '_';
    }
    return topic;
  }

  void MapTracing() {
    const auto map = [&](ColumnUse use, MappedColumn& part) {
      if (const Column column = Take(use, IsName, ""); column != nullptr) {
        part = ByName(column);
      }
    };
    map(ColumnUse::kTraceId, out_.trace_id);
    map(ColumnUse::kTraceparent, out_.traceparent);
    map(ColumnUse::kTracestate, out_.tracestate);
  }

  void MapTime() {
    const std::vector<Column> times = All(ColumnUse::kTime, IsPointInTime);
    if (times.empty()) {
      return;
    }
    const bool zoned = times.front()->type_oid == pgoutput::kTimestamptzOid;
    out_.time = Mapped(times.front(), zoned ? "by its name"
                                            : "by its name; without a time zone, it counts as UTC");
    used_.insert(times.front());
  }

  void MapMark() {
    const auto is_mark = [](const DescribedColumn& column) {
      return IsPointInTime(column) || column.type_oid == pgoutput::kBoolOid;
    };
    const Column mark = Take(ColumnUse::kMark, is_mark, "");
    if (mark != nullptr) {
      out_.mark = ByName(mark);
    }
    const bool polled = mark != nullptr || !All(ColumnUse::kState, IsAnything).empty() ||
                        !All(ColumnUse::kMark, IsAnything).empty();
    if (polled && out_.rows_belong_to.empty()) {
      Decide(
          "The table has columns in which a process that polls it notes what it has published. "
          "Stop that process when walrelay starts, or every event is published twice. walrelay "
          "ignores updates of rows.");
    }
  }

  void MapHeaders() {
    for (const Column column : All(ColumnUse::kHeader, IsAnything)) {
      used_.insert(column);
      out_.headers.push_back(column->name);
    }
  }

  void CheckEncoding() {
    for (const Column column : All(ColumnUse::kEncoding, IsAnything)) {
      used_.insert(column);
      out_.headers.push_back(column->name);
      Decide(
          fmt::format("{} suggests that payloads are compressed or encrypted. walrelay publishes "
                      "them as they are, with {} as a header: consumers must decode them.",
                      Shown(*column), Shown(*column)));
    }
  }

  void ListUnpublished() {
    for (const DescribedColumn& column : table_.columns) {
      const bool published = used_.contains(&column) &&
                             !(out_.mark && out_.mark->column == column.name) &&
                             !(out_.time && out_.time->column == column.name);
      if (!published && column.name != out_.aggregate_type.column &&
          column.name != out_.aggregate_id.column) {
        out_.unpublished.push_back(column.name);
      }
    }
  }

  const TableDescription& table_;
  const KnownTable* known_;
  std::set<Column> used_;
  TableMapping out_;
};

}  // namespace

absl::StatusOr<TableMapping> MapTable(const TableDescription& table) {
  return Mapper(table).Run();
}

}  // namespace walrelay
