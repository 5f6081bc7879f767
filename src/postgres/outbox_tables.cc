#include "postgres/outbox_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>

#include "base/check.h"
#include "base/quote.h"
#include "pgoutput/type_oids.h"
#include "walrelay/config/outbox_table.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

constexpr int kListsVersion = 150000;      // row filters, column lists, FOR TABLES IN SCHEMA
constexpr int kGeneratedVersion = 180000;  // publish_generated_columns

// Whether the publication `p` contains the row of pg_class `{0}`, itself or by its schema. Before
// version 15 pg_publication_namespace does not exist.
constexpr std::string_view kIsListed = R"(EXISTS (
  SELECT 1 FROM pg_catalog.pg_publication_rel m
  WHERE m.prpubid OPERATOR(pg_catalog.=) p.oid AND m.prrelid OPERATOR(pg_catalog.=) {0}.oid))";
constexpr std::string_view kIsInSchema = R"(EXISTS (
  SELECT 1 FROM pg_catalog.pg_publication_namespace m
  WHERE m.pnpubid OPERATOR(pg_catalog.=) p.oid
    AND m.pnnspid OPERATOR(pg_catalog.=) {0}.relnamespace))";

// {0}: rows (number, schema, name) of the configured tables. {1}: the publication. {2}: whether the
// publication contains the row `a` of pg_class; {3}: the same of `c`. {4}: whether it lists `c`.
// {5}: whether it has a row filter for `c`.
//
// `top` is the topmost partitioned table above the table that the publication contains. `sent_as`
// follows get_rel_sync_entry() in pgoutput.c: with publish_via_partition_root, rows are sent under
// the name of `top`. For a partitioned table, it is the table under whose name the rows of its
// partitions are sent.
//
// A table that was never rewritten has its OID as relfilenode. Temporary tables may inherit; their
// rows belong to one session.
constexpr std::string_view kTreeQuery = R"(
WITH RECURSIVE wanted(n, schema, name) AS (VALUES {0}),
tree(n, oid, age, xid) AS (
  SELECT w.n, c.oid, 2147483647, 0::pg_catalog.int8
  FROM wanted w
  JOIN pg_catalog.pg_namespace s ON s.nspname OPERATOR(pg_catalog.=) w.schema
  JOIN pg_catalog.pg_class c ON c.relnamespace OPERATOR(pg_catalog.=) s.oid
    AND c.relname OPERATOR(pg_catalog.=) w.name
  WHERE c.relkind OPERATOR(pg_catalog.=) ANY (ARRAY['r', 'p']::pg_catalog."char"[])
  UNION
  SELECT t.n, i.inhrelid, LEAST(t.age, pg_catalog.age(i.xmin)),
         CASE WHEN pg_catalog.age(i.xmin) OPERATOR(pg_catalog.<) t.age
              THEN i.xmin::pg_catalog.text::pg_catalog.int8 ELSE t.xid END
  FROM tree t
  JOIN pg_catalog.pg_inherits i ON i.inhparent OPERATOR(pg_catalog.=) t.oid)
SELECT t.n, c.oid, s.nspname AS schema, c.relname AS name, c.relkind, c.relpersistence,
       c.relispartition, c.relfilenode, t.xid, p.oid IS NOT NULL AS published,
       CASE WHEN p.oid IS NULL THEN 0
            WHEN p.pubviaroot AND top.oid IS NOT NULL THEN top.oid::pg_catalog.int8
            WHEN p.puballtables OR top.oid IS NOT NULL OR {3} THEN c.oid::pg_catalog.int8
            ELSE 0 END AS sent_as,
       top.name AS top_name, p.oid IS NOT NULL AND NOT p.puballtables AND {4} AS listed,
       p.oid IS NOT NULL AND NOT p.puballtables AND {5} AS filtered
FROM tree t
JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) t.oid
JOIN pg_catalog.pg_namespace s ON s.oid OPERATOR(pg_catalog.=) c.relnamespace
LEFT JOIN pg_catalog.pg_publication p ON p.pubname OPERATOR(pg_catalog.=) {1}
LEFT JOIN LATERAL (
  SELECT a.oid, pg_catalog.format('%I.%I', n.nspname, a.relname) AS name
  FROM pg_catalog.pg_partition_ancestors(c.oid) WITH ORDINALITY u(relid, level)
  JOIN pg_catalog.pg_class a ON a.oid OPERATOR(pg_catalog.=) u.relid::pg_catalog.oid
  JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) a.relnamespace
  WHERE a.oid OPERATOR(pg_catalog.<>) c.oid AND (p.puballtables OR {2})
  ORDER BY u.level DESC LIMIT 1) top ON true
WHERE c.relpersistence OPERATOR(pg_catalog.<>) 't'
ORDER BY t.n, c.oid)";

// {0}: rows (number, OID) of the tables. {1}: the publication. {2}: the column list of table `w` in
// the publication `p`; {3}: whether column `a` is sent; {4}: whether `p` publishes generated
// columns.
//
// One row per column, or one row per label for a column of an enum type. A domain may be of a
// domain: the innermost one has the base type and the type modifier (getBaseTypeAndTypmod() in
// lsyscache.c). The expression of a generated column is not a default: pg_attrdef holds both.
// Labels come in their own order (enumsortorder), which is not that of their OIDs. An enum may have
// no labels; it counts as one whose only label is empty, because Debezium describes both in the
// same way. The stream shows neither the name of a type nor what a domain declares.
constexpr std::string_view kColumnQuery = R"(
WITH RECURSIVE wanted(n, oid) AS (VALUES {0}),
listed AS (
  SELECT w.n, w.oid, {2} AS list, {4} AS generated
  FROM wanted w
  LEFT JOIN pg_catalog.pg_publication p ON p.pubname OPERATOR(pg_catalog.=) {1}),
base(attrelid, attnum, type, modifier, depth) AS (
  SELECT a.attrelid, a.attnum, a.atttypid, '-1'::pg_catalog.int4, 0
  FROM wanted w
  JOIN pg_catalog.pg_attribute a ON a.attrelid OPERATOR(pg_catalog.=) w.oid
  WHERE a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped
  UNION ALL
  SELECT b.attrelid, b.attnum, t.typbasetype, t.typtypmod, b.depth OPERATOR(pg_catalog.+) 1
  FROM base b
  JOIN pg_catalog.pg_type t ON t.oid OPERATOR(pg_catalog.=) b.type
  WHERE t.typtype OPERATOR(pg_catalog.=) 'd')
SELECT w.n, a.attname, a.attnotnull AS not_null, a.atttypid, a.atttypmod,
       CASE WHEN t.typtype OPERATOR(pg_catalog.=) 'e' AND b.depth OPERATOR(pg_catalog.=) 0
            THEN COALESCE(e.enumlabel, '') END AS enumlabel,
       b.depth OPERATOR(pg_catalog.>) 0 AS is_domain, b.modifier, t.typname,
       s.nspname OPERATOR(pg_catalog.=) 'pg_catalog' AS built_in,
       t.typtype OPERATOR(pg_catalog.=) 'e'
         OR t.typcategory OPERATOR(pg_catalog.=) 'A' AS unnamed,
       CASE WHEN a.attgenerated OPERATOR(pg_catalog.=) ''
            THEN pg_catalog.pg_get_expr(d.adbin, d.adrelid) END AS expression,
       {3} AS sent, w.list IS NOT NULL AS has_list
FROM listed w
JOIN pg_catalog.pg_attribute a ON a.attrelid OPERATOR(pg_catalog.=) w.oid
JOIN base b ON b.attrelid OPERATOR(pg_catalog.=) a.attrelid
  AND b.attnum OPERATOR(pg_catalog.=) a.attnum
JOIN pg_catalog.pg_type t ON t.oid OPERATOR(pg_catalog.=) b.type
  AND t.typtype OPERATOR(pg_catalog.<>) 'd'
JOIN pg_catalog.pg_namespace s ON s.oid OPERATOR(pg_catalog.=) t.typnamespace
LEFT JOIN pg_catalog.pg_attrdef d
  ON d.adrelid OPERATOR(pg_catalog.=) a.attrelid AND d.adnum OPERATOR(pg_catalog.=) a.attnum
LEFT JOIN pg_catalog.pg_enum e ON e.enumtypid OPERATOR(pg_catalog.=) a.atttypid
ORDER BY w.n, a.attnum, e.enumsortorder)";

// The column list of table `w` in publication `p`; NULL: it has none. A publication of all tables
// has no lists.
constexpr std::string_view kListOf = R"((
  SELECT r.prattrs::pg_catalog.int2[] FROM pg_catalog.pg_publication_rel r
  WHERE r.prpubid OPERATOR(pg_catalog.=) p.oid AND r.prrelid OPERATOR(pg_catalog.=) w.oid
    AND NOT p.puballtables))";
// As logicalrep_should_publish_column() in proto.c.
constexpr std::string_view kIsSent = R"(CASE
  WHEN w.list IS NOT NULL THEN a.attnum OPERATOR(pg_catalog.=) ANY (w.list)
  ELSE a.attgenerated OPERATOR(pg_catalog.=) ''
       OR (a.attgenerated OPERATOR(pg_catalog.=) 's' AND w.generated) END)";

// A publication that contains the schema of a table has no filter for it.
std::string HasFilter(int server_version) {
  return server_version < kListsVersion
             ? "false"
             : fmt::format(
                   "EXISTS (SELECT 1 FROM pg_catalog.pg_publication_rel m "
                   "WHERE m.prpubid OPERATOR(pg_catalog.=) p.oid "
                   "AND m.prrelid OPERATOR(pg_catalog.=) c.oid AND m.prqual IS NOT NULL) "
                   "AND NOT {}",
                   fmt::format(kIsInSchema, "c"));
}

std::string IsMember(std::string_view relation, int server_version) {
  const std::string listed = fmt::format(kIsListed, relation);
  return server_version < kListsVersion
             ? listed
             : fmt::format("({} OR {})", listed, fmt::format(kIsInSchema, relation));
}

uint32_t Unsigned(const PgResult& rows, int row, const char* column) {
  return static_cast<uint32_t>(rows.Int(row, column));
}

// A configured table, or a table below it.
struct Node {
  TableLeaf leaf;
  char kind = 'r';
  bool unlogged = false;
  std::string schema;
  std::string name;
  std::string top_name;
  uint32_t storage = 0;
  bool listed = false;  // the publication lists it, by its own name
  bool filtered = false;
  bool root = false;  // the configured table
};

using Trees = std::vector<std::vector<Node>>;

// `configured`: the OIDs of the configured tables.
LeafStream StreamOf(const Node& node, const std::vector<uint32_t>& configured) {
  if (node.kind == 'f') {
    return LeafStream::kForeign;
  }
  if (node.unlogged) {
    return LeafStream::kUnlogged;
  }
  if (node.leaf.sent_as == 0) {
    return LeafStream::kUnpublished;
  }
  return std::find(configured.begin(), configured.end(), node.leaf.sent_as) != configured.end()
             ? LeafStream::kSent
             : LeafStream::kOtherName;
}

Node NodeOf(const PgResult& rows, int row, const OutboxTable& table) {
  const std::string_view schema = rows.Text(row, "schema");
  const std::string_view name = rows.Text(row, "name");
  return {.leaf = {.oid = Unsigned(rows, row, "oid"),
                   .name = fmt::format("{}.{}", schema, name),
                   .sent_as = Unsigned(rows, row, "sent_as"),
                   .partition = rows.Bool(row, "relispartition"),
                   .attached_by = Unsigned(rows, row, "xid")},
          .kind = rows.Text(row, "relkind").front(),
          .unlogged = rows.Text(row, "relpersistence") == "u",
          .schema = std::string(schema),
          .name = std::string(name),
          .top_name = std::string(rows.Text(row, "top_name")),
          .storage = Unsigned(rows, row, "relfilenode"),
          .listed = rows.Bool(row, "listed"),
          .filtered = rows.Bool(row, "filtered"),
          .root = schema == table.schema && name == table.name};
}

// The trees of the tables, in their order. A table that inherits from two others of the same tree
// is in it once.
absl::StatusOr<Trees> ReadTrees(PgConnection& connection, std::string_view publication,
                                const std::vector<OutboxTable>& tables, Micros timeout) {
  Trees trees(tables.size());
  std::string wanted;
  for (size_t i = 0; i < tables.size(); ++i) {
    if (!tables[i].name.empty()) {
      wanted += fmt::format("{}({}, {}::pg_catalog.name, {}::pg_catalog.name)",
                            wanted.empty() ? "" : ", ", i, QuoteLiteral(tables[i].schema),
                            QuoteLiteral(tables[i].name));
    }
  }
  if (wanted.empty()) {
    return trees;  // all events are logical messages
  }
  const int version = connection.server_version_num();
  WR_ASSIGN_OR_RETURN(const PgResult rows,
                      connection.Query(fmt::format(kTreeQuery, wanted, QuoteLiteral(publication),
                                                   IsMember("a", version), IsMember("c", version),
                                                   fmt::format(kIsListed, "c"), HasFilter(version)),
                                       timeout));
  for (int row = 0; row < rows.rows(); ++row) {
    const auto n = static_cast<size_t>(rows.Int(row, "n"));
    Node node = NodeOf(rows, row, tables[n]);
    if (trees[n].empty() || trees[n].back().leaf.oid != node.leaf.oid) {
      trees[n].push_back(std::move(node));
    }
  }
  std::vector<uint32_t> configured;
  for (const auto& tree : trees) {
    for (const Node& node : tree) {
      if (node.root) {
        configured.push_back(node.leaf.oid);
      }
    }
  }
  for (auto& tree : trees) {
    for (Node& node : tree) {
      node.leaf.stream = StreamOf(node, configured);
    }
  }
  return trees;
}

bool StoresRows(const Node& node) {
  return node.kind != 'p';
}

TableLeaves LeavesOf(const std::vector<Node>& tree) {
  TableLeaves out;
  for (const Node& node : tree) {
    if (!StoresRows(node)) {
      continue;
    }
    out.leaves.push_back(node.leaf);
    if (!node.listed && node.storage != node.leaf.oid) {
      out.rewritten.push_back({node.leaf.oid, node.storage});
    }
  }
  return out;
}

TableInfo InfoOf(const OutboxTable& table, const std::vector<Node>& tree) {
  TableInfo info{.schema = table.schema, .name = table.name};
  const auto root =
      std::find_if(tree.begin(), tree.end(), [](const Node& node) { return node.root; });
  if (root == tree.end()) {
    return info;  // neither a table nor a partitioned table
  }
  info.oid = root->leaf.oid;
  info.unlogged = root->unlogged;
  info.partitioned = root->kind == 'p';
  info.published = root->leaf.sent_as == info.oid;
  info.sent_as = root->leaf.sent_as == 0 || info.published ? "" : root->top_name;
  info.row_filter = root->filtered;
  info.leaves = LeavesOf(tree).leaves;
  return info;
}

// Type messages name the base type of a domain, so the relation cache knows it only if it is built
// in.
ColumnInfo ColumnOf(const PgResult& rows, int row) {
  const bool domain = rows.Bool(row, "is_domain");
  const std::string_view type = rows.Text(row, "typname");
  const uint32_t built_in = rows.Bool(row, "built_in") ? pgoutput::OidOfType(type) : 0;
  return {.name = std::string(rows.Text(row, "attname")),
          .not_null = rows.Bool(row, "not_null"),
          .default_expression = std::string(rows.Text(row, "expression")),
          .type_name = rows.Bool(row, "unnamed") ? "" : std::string(type),
          .is_domain = domain,
          .domain_modifier = static_cast<int32_t>(rows.Int(row, "modifier")),
          .type_oid = domain && built_in != 0 ? built_in : Unsigned(rows, row, "atttypid"),
          .type_modifier = static_cast<int32_t>(rows.Int(row, "atttypmod")),
          .sent = rows.Bool(row, "sent")};
}

absl::Status ReadColumnsOf(PgConnection& connection, std::string_view publication, Micros timeout,
                           std::vector<TableInfo>& tables) {
  std::string wanted;
  for (size_t i = 0; i < tables.size(); ++i) {
    if (tables[i].oid != 0) {
      wanted +=
          fmt::format("{}({}, {}::pg_catalog.oid)", wanted.empty() ? "" : ", ", i, tables[i].oid);
    }
  }
  if (wanted.empty()) {
    return absl::OkStatus();
  }
  const int version = connection.server_version_num();
  const std::string_view list = version < kListsVersion ? "NULL::pg_catalog.int2[]" : kListOf;
  const std::string_view generated =
      version < kGeneratedVersion ? "false"
                                  : "COALESCE(p.pubgencols OPERATOR(pg_catalog.=) 's', false)";
  WR_ASSIGN_OR_RETURN(const PgResult rows,
                      connection.Query(fmt::format(kColumnQuery, wanted, QuoteLiteral(publication),
                                                   list, kIsSent, generated),
                                       timeout));
  for (int row = 0; row < rows.rows(); ++row) {
    TableInfo& table = tables[static_cast<size_t>(rows.Int(row, "n"))];
    if (table.columns.empty() || table.columns.back().name != rows.Text(row, "attname")) {
      table.columns.push_back(ColumnOf(rows, row));
      table.column_list =
          table.column_list || (rows.Bool(row, "has_list") && !rows.Bool(row, "sent"));
    }
    if (const auto label = rows.Get(row, "enumlabel")) {
      table.columns.back().enum_labels.emplace_back(*label);
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::string IsPublished(std::string_view relation, int server_version) {
  return fmt::format("(p.puballtables OR {})", IsMember(relation, server_version));
}

absl::StatusOr<std::vector<TableLeaves>> ReadLeaves(PgConnection& connection,
                                                    std::string_view publication,
                                                    const std::vector<OutboxTable>& tables,
                                                    Micros timeout) {
  WR_ASSIGN_OR_RETURN(const Trees trees, ReadTrees(connection, publication, tables, timeout));
  std::vector<TableLeaves> out;
  std::transform(trees.begin(), trees.end(), std::back_inserter(out), LeavesOf);
  return out;
}

absl::StatusOr<std::vector<TableInfo>> ReadTableInfo(PgConnection& connection,
                                                     std::string_view publication,
                                                     const std::vector<OutboxTable>& tables,
                                                     Micros timeout) {
  WR_ASSIGN_OR_RETURN(const Trees trees, ReadTrees(connection, publication, tables, timeout));
  std::vector<TableInfo> out;
  for (size_t i = 0; i < tables.size(); ++i) {
    out.push_back(tables[i].name.empty() ? TableInfo() : InfoOf(tables[i], trees[i]));
  }
  WR_RETURN_IF_ERROR(ReadColumnsOf(connection, publication, timeout, out));
  return out;
}

pgoutput::CachedRelation RelationOf(const TableInfo& table) {
  WR_CHECK(table.oid != 0, "the table exists");
  pgoutput::CachedRelation relation{.oid = table.oid, .schema = table.schema, .name = table.name};
  for (const ColumnInfo& column : table.columns) {
    if (column.sent) {
      relation.columns.push_back({column.name, column.type_oid, column.type_modifier});
    }
  }
  return relation;
}

}  // namespace walrelay
