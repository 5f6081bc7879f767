#include "route/column_binder.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// Behind the parameters of the type itself.
void AddParameter(const ValueTransform& transform, ConnectColumnType& shape) {
  if (auto parameter = transform.SchemaParameter()) {
    Schema schema = *shape.schema;
    schema.parameters.push_back(*std::move(parameter));
    shape.schema = std::make_shared<const Schema>(std::move(schema));
  }
}

}  // namespace

BoundColumn ColumnBinder::BindTransform(const ColumnTransform& rule, bool optional) {
  BoundColumn column = optional ? Find(rule.column) : Named(rule.column, "transform");
  if (column.present()) {
    const ColumnTraits traits = TraitsOf(column);
    const auto shape = ShapeOf(traits, modes_);
    column.transform =
        std::make_shared<const ValueTransform>(rule, traits, shape.ok() ? &*shape : nullptr);
    transformed_.push_back(column);
  }
  return column;
}

BoundColumn ColumnBinder::Find(std::string_view name) const {
  for (size_t i = 0; i < relation_.columns.size(); ++i) {
    if (relation_.columns[i].name == name) {
      return {static_cast<int>(i), relation_.columns[i].type_oid, nullptr,
              TransformOf(static_cast<int>(i))};
    }
  }
  return {};
}

BoundColumn ColumnBinder::Named(std::string_view name, std::string_view purpose) {
  const BoundColumn column = Find(name);
  if (!column.present() && IsInCatalog(name)) {
    FailForOldRow(name, purpose);
  } else if (!column.present()) {
    status_.Update(
        Error(ErrorCode::kColumnMissing,
              fmt::format("{}.{} has no column \"{}\" ({}); it has {}", relation_.schema,
                          relation_.name, Printable(name, 63), purpose, ColumnNamesOfRelation())));
  }
  return column;
}

BoundColumn ColumnBinder::Part(const std::optional<std::string>& configured,
                               std::string_view purpose, std::span<const std::string_view> usual,
                               bool optional) {
  // "" means "no such column", also where a column with a default name exists.
  if (configured) {
    return configured->empty() ? BoundColumn() : Named(*configured, purpose);
  }
  for (const std::string_view name : usual) {
    if (const BoundColumn column = Find(name); column.present()) {
      return column;
    }
  }
  return optional ? BoundColumn() : Named(usual.front(), purpose);
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

// The mapping suits the table, and not the rows that were written before the table was changed.
// Only the first problem is reported.
void ColumnBinder::FailForOldRow(std::string_view name, std::string_view purpose) {
  status_.Update(Error(
      ErrorCode::kColumnMissing,
      fmt::format("{}.{} has column \"{}\" ({}) now, but not when this row was written: then it "
                  "had {}",
                  relation_.schema, relation_.name, Printable(name, 63), purpose,
                  ColumnNamesOfRelation()),
      fmt::format("Map the {0} to the column that the row has, in [source.columns], and restart "
                  "walrelay: it publishes the rows from before the change of the table, and is "
                  "blocked (WR-3001) at the first one after it. Then map the {0} to \"{1}\" "
                  "again, and restart walrelay.",
                  purpose, Printable(name, 63))));
}

}  // namespace walrelay
