#include "route/column_binder.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// "a" or "b".
std::string Quoted(const ColumnNames& names) {
  std::string out;
  for (const std::string& name : names.all()) {
    out += fmt::format("{}\"{}\"", out.empty() ? "" : " or ", Printable(name, 63));
  }
  return out;
}

// Behind the parameters of the type itself.
void AddParameter(const ValueTransform& transform, ConnectColumnType& shape) {
  if (auto parameter = transform.SchemaParameter()) {
    Schema schema = *shape.schema;
    schema.parameters.push_back(*std::move(parameter));
    shape.schema = std::make_shared<const Schema>(std::move(schema));
  }
}

}  // namespace

// A table may have both the old and the new column while an application moves from one to the
// other. Both have the same secret, so the transform changes both.
void ColumnBinder::BindTransform(const ColumnTransform& rule, bool optional) {
  if (!optional) {
    Named(rule.column, "transform");
  }
  for (const std::string& name : rule.column.all()) {
    if (BoundColumn column = FindOne(name); column.present()) {
      const ColumnTraits traits = TraitsOf(column);
      const auto shape = ShapeOf(traits, modes_);
      column.transform =
          std::make_shared<const ValueTransform>(rule, traits, shape.ok() ? &*shape : nullptr);
      transformed_.push_back(std::move(column));
    }
  }
}

BoundColumn ColumnBinder::Find(const ColumnNames& names) const {
  for (const std::string& name : names.all()) {
    if (BoundColumn column = FindOne(name); column.present()) {
      return column;
    }
  }
  return {};
}

BoundColumn ColumnBinder::FindOne(std::string_view name) const {
  for (size_t i = 0; i < relation_.columns.size(); ++i) {
    if (relation_.columns[i].name == name) {
      return {static_cast<int>(i), relation_.columns[i].type_oid, nullptr,
              TransformOf(static_cast<int>(i))};
    }
  }
  return {};
}

// A mapping may suit the table, and not the rows that were written before the table was changed.
// Only the first problem is reported.
BoundColumn ColumnBinder::Named(const ColumnNames& names, std::string_view purpose) {
  BoundColumn column = Find(names);
  if (column.present()) {
    return column;
  }
  const auto present = std::find_if(names.all().begin(), names.all().end(),
                                    [&](const std::string& name) { return IsInCatalog(name); });
  const std::string table = fmt::format("{}.{}", relation_.schema, relation_.name);
  if (present == names.all().end()) {
    status_.Update(Error(ErrorCode::kColumnMissing,
                         fmt::format("{} has no column {} ({}); it has {}", table, Quoted(names),
                                     purpose, ColumnNamesOfRelation())));
  } else {
    status_.Update(Error(
        ErrorCode::kColumnMissing,
        fmt::format("{} has column \"{}\" ({}) now, but not when this row was written: then it "
                    "had {}",
                    table, Printable(*present, 63), purpose, ColumnNamesOfRelation()),
        fmt::format(
            "Give the column both names, the present one first, and restart walrelay: "
            "[\"{}\", \"OLD\"] instead of \"{}\", where OLD is the {} of the columns that the "
            "row has. Each row is published with the name that its table had.",
            Printable(*present, 63), Printable(*present, 63), purpose)));
  }
  return column;
}

BoundColumn ColumnBinder::Part(const std::optional<ColumnNames>& configured,
                               std::string_view purpose, std::span<const std::string_view> usual,
                               bool optional) {
  // No name means "no such column", also where a column with a default name exists.
  if (configured) {
    return configured->empty() ? BoundColumn() : Named(*configured, purpose);
  }
  for (const std::string_view name : usual) {
    if (BoundColumn column = FindOne(name); column.present()) {
      return column;
    }
  }
  return optional ? BoundColumn() : Named(std::string(usual.front()), purpose);
}

void ColumnBinder::Shape(BoundColumn& column) {
  if (!column.present()) {
    return;
  }
  const ColumnTraits traits = TraitsOf(column);
  auto shape = ShapeOf(traits, modes_);
  if (shape.ok()) {
    if (!traits.enum_labels.empty()) {
      enums_.push_back({static_cast<size_t>(column.index), traits.enum_labels});
    }
    if (column.transform != nullptr) {
      AddParameter(*column.transform, *shape);
    }
    column.shape = std::make_shared<const ConnectColumnType>(*std::move(shape));
  } else {
    status_.Update(Annotate(shape.status(), fmt::format("column \"{}\"", NameOf(column))));
  }
}

void ColumnBinder::RequireType(bool fits, std::string_view purpose, const BoundColumn& column) {
  if (column.present() && !fits) {
    status_.Update(Error(
        ErrorCode::kColumnType,
        fmt::format("column \"{}\" of {}.{} has type {}, which cannot be the {}", NameOf(column),
                    relation_.schema, relation_.name, column.type_oid, purpose)));
  }
}

const std::string& ColumnBinder::NameIn(const BoundColumn& column) const {
  return relation_.columns[static_cast<size_t>(column.index)].name;
}

std::shared_ptr<const ValueTransform> ColumnBinder::TransformOf(int index) const {
  const auto found = std::find_if(transformed_.begin(), transformed_.end(),
                                  [&](const auto& column) { return column.index == index; });
  return found == transformed_.end() ? nullptr : found->transform;
}

std::string ColumnBinder::NameOf(const BoundColumn& column) const {
  return Printable(NameIn(column), 63);
}

ColumnTraits ColumnBinder::TraitsOf(const BoundColumn& column) const {
  ColumnTraits traits{
      .type_oid = column.type_oid,
      .type_modifier = relation_.columns[static_cast<size_t>(column.index)].type_modifier};
  // The stream describes names and types only. Nullability, defaults and enum labels come from
  // the catalog; without them every column counts as nullable.
  if (info_ != nullptr) {
    for (const ColumnInfo& known : info_->columns) {
      if (known.name == NameIn(column)) {
        traits.nullable = !known.not_null;
        traits.default_expression = known.default_expression;
        traits.enum_labels = known.enum_labels;
        traits.type_name = known.type_name;
        if (known.is_domain) {
          // Debezium ignores the default of a column whose type is a domain.
          traits.type_modifier = known.domain_modifier;
          traits.default_expression.clear();
        }
      }
    }
  }
  return traits;
}

// The message lists the columns that exist: a wrong name is usually a spelling of one of them.
std::string ColumnBinder::ColumnNamesOfRelation() const {
  std::string names;
  for (const auto& column : relation_.columns) {
    names += (names.empty() ? "" : ", ") + Printable(column.name, 63);
  }
  return names;
}

// Whether the table has the column now, whatever it had when the row was written.
bool ColumnBinder::IsInCatalog(std::string_view name) const {
  return info_ != nullptr &&
         std::any_of(info_->columns.begin(), info_->columns.end(),
                     [&](const ColumnInfo& known) { return known.name == name; });
}

}  // namespace walrelay
