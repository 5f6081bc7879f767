#include "config/masked_dsn.h"
#include "config/option_rows.h"
#include "config/section.h"

namespace walrelay {
namespace {

using enum OptionType;
constexpr auto kPrune = &Config::prune;

constexpr Option kPruneRows[] = {
    ChoiceRow<kPrune, &PruneConfig::mode>(
        "prune", "mode",
        "What to do with rows of the outbox tables that are proven to be published and older than "
        "`keep`: `delete` them, `mark` them in `mark_column` (docs/guides/pruning.md), or `drop` "
        "the partitions that have only such rows, and create partitions ahead "
        "(docs/guides/partitioning.md). Rows for which there is no proof are kept, however old. "
        "Requires `pipeline.progress`, and a role that may do so."),
    Row<kPrune, &PruneConfig::keep>("prune", "keep", kDuration,
                                    "The age up to which published rows are kept."),
    Within(Row<kPrune, &PruneConfig::interval>("prune", "interval", kDuration,
                                               "The time between two passes over the tables."),
           "at least \"1s\"",
           [](const Config& config) { return config.prune.interval >= std::chrono::seconds(1); }),
    // A statement with more rows would hold its locks for long.
    Within(Row<kPrune, &PruneConfig::batch_rows>(
               "prune", "batch_rows", kInteger,
               "About how many rows one statement deletes or marks, in a transaction of its own."),
           "1 to 100000 rows",
           [](const Config& config) {
             return config.prune.batch_rows >= 1 && config.prune.batch_rows <= 100'000;
           }),
    Within(Row<kPrune, &PruneConfig::max_rows_per_second>(
               "prune", "max_rows_per_second", kInteger,
               "Limit for the rows that are deleted or marked, and for the pages that are read."),
           "at least 1",
           [](const Config& config) { return config.prune.max_rows_per_second >= 1; }),
    Row<kPrune, &PruneConfig::time_column>(
        "prune", "time_column", kString,
        "The column with the time when a row was inserted: timestamptz, or timestamp in UTC. Its "
        "default should be `now()`."),
    Row<kPrune, &PruneConfig::mark_column>(
        "prune", "mark_column", kString,
        "With `mode = \"mark\"`: the column to set. A timestamp is set to `now()` where it is "
        "NULL, a boolean to true where it is not."),
    ChoiceRow<kPrune, &PruneConfig::partitions>(
        "prune", "partitions",
        "With `mode = \"drop\"`: the time that one new partition covers, in UTC."),
    Within(Row<kPrune, &PruneConfig::partitions_ahead>(
               "prune", "partitions_ahead", kInteger,
               "With `mode = \"drop\"`: how many partitions to create ahead of the present one. "
               "Enough for a weekend, during which walrelay may be down: 96 with hourly "
               "partitions."),
           "1 to 1000",
           [](const Config& config) {
             return config.prune.partitions_ahead >= 1 && config.prune.partitions_ahead <= 1'000;
           }),
    {"prune",
     "dsn",
     kString,
     {},
     "Another login for pruning, with the privilege to delete or update; the same database. "
     "Default: `source.dsn`.",
     [](Config& config, const RawValue& value) { return ParseInto(value, config.prune.dsn); },
     [](const Config& config) { return TomlString(MaskedDsn(config.prune.dsn)); }},
    Row<kPrune, &PruneConfig::password_file>("prune", "password_file", kString,
                                             "The file with the password for `prune.dsn`."),
};

void CheckPruning(const Config& config, ConfigNeeds /*needs*/, ConfigErrors& errors) {
  const PruneConfig& prune = config.prune;
  if (prune.time_column.empty()) {
    errors.Reject("prune.time_column", "prune.time_column is empty: no age can be compared");
  }
  if (prune.mode == PruneMode::kOff) {
    return;
  }
  if (config.source.origin == OriginFilter::kNone) {
    errors.Reject(
        "prune.mode", "prune.mode excludes source.origin \"none\"",
        "Rows of other origins are not published by this relay, and their xmin does not tell "
        "them from its own. Delete rows with a job of your own.");
  }
  if (prune.mode == PruneMode::kMark && config.source.on_update == OnUpdate::kFail) {
    errors.Reject("prune.mode", "prune.mode \"mark\" excludes source.on_update \"fail\"",
                  "To mark a row is an UPDATE of it.");
  }
  if ((prune.mode == PruneMode::kMark) != !prune.mark_column.empty()) {
    errors.Reject("prune.mark_column", prune.mark_column.empty()
                                           ? "prune.mode \"mark\" requires prune.mark_column"
                                           : "prune.mark_column requires prune.mode \"mark\"");
  }
}

}  // namespace

const Section kPruneSection = {kPruneRows, CheckPruning};

}  // namespace walrelay
