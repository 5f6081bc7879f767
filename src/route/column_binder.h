// ColumnBinder: looks up the columns of one description of a table by name, gives them their
// transforms and their shapes, and notes the first problem.
//
// For table_binding.h. Not thread-safe; no I/O.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "encode/connect_column_type.h"
#include "encode/value_transform.h"
#include "pgoutput/relation_cache.h"
#include "route/bound_column.h"
#include "walrelay/config/format.h"
#include "walrelay/config/outbox_table.h"
#include "walrelay/replication_source.h"

namespace walrelay {

class ColumnBinder {
 public:
  // All references must outlive the binder. `info`: what the catalog adds to the description, such
  // as NOT NULL, defaults and enum labels; nullptr: unknown. `status` receives the first problem:
  // WR-3001 for a missing column, WR-3002 for a type that its purpose does not permit.
  ColumnBinder(const pgoutput::CachedRelation& relation, const TableInfo* info,
               const TypeModes& modes, absl::Status& status)
      : relation_(relation), info_(info), modes_(modes), status_(status) {}

  // The columns that the rule transforms, wherever they are used: call it before any column is
  // looked up. `optional`: all may be missing.
  void BindTransform(const ColumnTransform& rule, bool optional);
  const std::vector<BoundColumn>& transformed() const { return transformed_; }
  // The enums among the columns that a schema describes. The list names a column twice if the row
  // uses it for two purposes.
  const std::vector<EnumColumn>& enums() const { return enums_; }

  // The first column that the description has. Find() accepts that it has none, Named() notes an
  // error.
  BoundColumn Find(const ColumnNames& names) const;
  BoundColumn Named(const ColumnNames& names, std::string_view purpose);

  // A part whose column has default names: walrelay's first, then Debezium's.
  BoundColumn Part(const std::optional<ColumnNames>& configured, std::string_view purpose,
                   std::span<const std::string_view> usual, bool optional);

  // Sets the part's shape in Connect's model. Nothing for a part that is absent.
  void Shape(BoundColumn& column);

  // Notes an error if the column is present and does not fit its purpose.
  void RequireType(bool fits, std::string_view purpose, const BoundColumn& column);

  // REQUIRES: the column is present.
  const std::string& NameIn(const BoundColumn& column) const;

 private:
  std::shared_ptr<const ValueTransform> TransformOf(int index) const;
  std::string NameOf(const BoundColumn& column) const;
  ColumnTraits TraitsOf(const BoundColumn& column) const;
  BoundColumn FindOne(std::string_view name) const;
  std::string ColumnNamesOfRelation() const;
  bool IsInCatalog(std::string_view name) const;

  const pgoutput::CachedRelation& relation_;
  const TableInfo* info_;
  const TypeModes& modes_;
  absl::Status& status_;
  std::vector<BoundColumn> transformed_;
  std::vector<EnumColumn> enums_;
};

}  // namespace walrelay
