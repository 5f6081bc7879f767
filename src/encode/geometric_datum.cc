#include "encode/geometric_datum.h"

#include <array>
#include <bit>
#include <charconv>
#include <optional>
#include <span>
#include <utility>

#include "encode/temporal_datum.h"

namespace walrelay {
namespace {

constexpr uint32_t kWkbPoint = 1;
constexpr uint32_t kWkbLineString = 2;
constexpr uint32_t kWkbPolygon = 3;

// The coordinates in the order of the text, whose brackets say nothing about a valid value.
std::optional<std::vector<double>> Coordinates(std::string_view text) {
  std::vector<double> out;
  while (!text.empty()) {
    if (std::string_view("()[]{}<>,").find(text[0]) != std::string_view::npos) {
      text.remove_prefix(1);
      continue;
    }
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc()) {
      return std::nullopt;
    }
    out.push_back(number);
    text.remove_prefix(static_cast<size_t>(end - text.data()));
  }
  return out;
}

bool IsPlausible(ColumnForm form, size_t count) {
  switch (form) {
    case ColumnForm::kPoint:
      return count == 2;
    case ColumnForm::kLine:
    case ColumnForm::kCircle:
      return count == 3;
    case ColumnForm::kBox:
    case ColumnForm::kLineSegment:
      return count == 4;
    default:
      return count > 0 && count % 2 == 0;
  }
}

template <typename Unsigned>
void AppendLittleEndian(Unsigned number, std::string& out) {
  for (size_t i = 0; i < sizeof(number); ++i) {
    out += static_cast<char>(number >> 8 * i & 0xFF);
  }
}

void AppendHeader(uint32_t type, std::string& out) {
  out += '\x01';
  AppendLittleEndian(type, out);
}

void AppendDoubles(std::span<const double> numbers, std::string& out) {
  for (const double number : numbers) {
    AppendLittleEndian(std::bit_cast<uint64_t>(number), out);
  }
}

void AppendPoints(std::span<const double> points, std::string& out) {
  AppendLittleEndian(static_cast<uint32_t>(points.size() / 2), out);
  AppendDoubles(points, out);
}

Datum PointOf(double x, double y, Arena& arena) {
  std::string wkb;
  AppendHeader(kWkbPoint, wkb);
  AppendDoubles(std::array{x, y}, wkb);
  return Datum{DatumList{Datum{x}, Datum{y}, Datum{Bytes{Keep(wkb, arena)}}, Datum{Null()}}};
}

// Postgres' name of the type is in an extension, as WKB does not have all of them.
Datum GeometryOf(std::string_view wkb, std::string_view type, DatumList more, Arena& arena) {
  DatumList extensions{Datum{std::string_view("type")}, Datum{type}};
  for (Datum& each : more) {
    extensions.push_back(std::move(each));
  }
  return Datum{
      DatumList{Datum{Bytes{Keep(wkb, arena)}}, Datum{Null()}, Datum{std::move(extensions)}}};
}

Datum LineString(std::span<const double> points, std::string_view type, DatumList more,
                 Arena& arena) {
  std::string wkb;
  AppendHeader(kWkbLineString, wkb);
  AppendPoints(points, wkb);
  return GeometryOf(wkb, type, std::move(more), arena);
}

// A ring ends where it begins; a single point is left as it is.
std::vector<double> Closed(std::vector<double> points) {
  const size_t last = points.size() - 2;
  const bool closed = points[0] == points[last] && points[1] == points[last + 1];
  if (last > 0 && !closed) {
    points.insert(points.end(), {points[0], points[1]});
  }
  return points;
}

// A polygon of one ring.
Datum Ring(std::span<const double> points, std::string_view type, Arena& arena) {
  std::string wkb;
  AppendHeader(kWkbPolygon, wkb);
  AppendLittleEndian(uint32_t{1}, wkb);
  AppendPoints(points, wkb);
  return GeometryOf(wkb, type, {}, arena);
}

Datum BoxOf(std::span<const double> at, Arena& arena) {
  const std::array corners{at[0], at[1], at[0], at[3], at[2], at[3], at[2], at[1], at[0], at[1]};
  return Ring(corners, "box", arena);
}

SchemaPtr PlainSchema(SchemaType type, bool optional = false) {
  return std::make_shared<const Schema>(Schema{.type = type, .optional = optional});
}

Schema GeometrySchema(std::string name, int32_t version, std::string doc,
                      std::vector<SchemaField> fields) {
  return {.type = SchemaType::kStruct,
          .name = "io.debezium.data.geometry." + std::move(name),
          .version = version,
          .doc = std::move(doc),
          .fields = std::move(fields)};
}

Schema PointSchema() {
  return GeometrySchema("Point", 1, "Geometry (POINT)",
                        {{"x", PlainSchema(SchemaType::kFloat64)},
                         {"y", PlainSchema(SchemaType::kFloat64)},
                         {"wkb", PlainSchema(SchemaType::kBytes, true)},
                         {"srid", PlainSchema(SchemaType::kInt32, true)}});
}

Schema AnyGeometrySchema() {
  const Schema extensions{.type = SchemaType::kMap,
                          .optional = true,
                          .keys = PlainSchema(SchemaType::kString),
                          .items = PlainSchema(SchemaType::kString)};
  return GeometrySchema("Geometry", 2, "Geometry",
                        {{"wkb", PlainSchema(SchemaType::kBytes)},
                         {"srid", PlainSchema(SchemaType::kInt32, true)},
                         {"extensions", std::make_shared<const Schema>(extensions)}});
}

Schema CircleSchema() {
  return GeometrySchema("Circle", 1, "Geometry (CIRCLE)",
                        {{"center", std::make_shared<const Schema>(PointSchema())},
                         {"radius", PlainSchema(SchemaType::kFloat64)}});
}

Schema LineSchema() {
  return GeometrySchema("Line", 1, "Geometry (LINE)",
                        {{"a", PlainSchema(SchemaType::kFloat64)},
                         {"b", PlainSchema(SchemaType::kFloat64)},
                         {"c", PlainSchema(SchemaType::kFloat64)}});
}

}  // namespace

Schema GeometricSchema(ColumnForm form) {
  Schema schema = form == ColumnForm::kPoint    ? PointSchema()
                  : form == ColumnForm::kCircle ? CircleSchema()
                  : form == ColumnForm::kLine   ? LineSchema()
                                                : AnyGeometrySchema();
  schema.optional = form != ColumnForm::kPoint;
  return schema;
}

absl::StatusOr<Datum> GeometricDatum(std::string_view text, ColumnForm form, Arena& arena) {
  auto found = Coordinates(text);
  if (!found || !IsPlausible(form, found->size())) {
    return NotShown(text, "geometric value");
  }
  const std::vector<double>& at = *found;
  switch (form) {
    case ColumnForm::kPoint:
      return PointOf(at[0], at[1], arena);
    case ColumnForm::kLine:
      return Datum{DatumList{Datum{at[0]}, Datum{at[1]}, Datum{at[2]}}};
    case ColumnForm::kCircle:
      return Datum{DatumList{PointOf(at[0], at[1], arena), Datum{at[2]}}};
    case ColumnForm::kBox:
      return BoxOf(at, arena);
    case ColumnForm::kPolygon:
      return Ring(Closed(*std::move(found)), "polygon", arena);
    case ColumnForm::kLineSegment:
      return LineString(at, "lseg", {}, arena);
    default: {
      const std::string_view closed = text.starts_with('(') ? "true" : "false";
      return LineString(at, "path", {Datum{std::string_view("closed")}, Datum{closed}}, arena);
    }
  }
}

}  // namespace walrelay
