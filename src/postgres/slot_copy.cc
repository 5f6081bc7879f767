#include "postgres/slot_copy.h"

#include <fmt/format.h>

#include "absl/strings/escaping.h"
#include "postgres/quote.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

constexpr std::chrono::hours kPatience{24};
constexpr std::string_view kName = "'walrelay_print_' || pg_backend_pid()";

}  // namespace

absl::StatusOr<SlotCopy> SlotCopy::Create(PgConnection connection, const SourceConfig& source,
                                          const std::string& function) {
  // A long log takes its time to decode.
  WR_RETURN_IF_ERROR(
      connection.Query("SET statement_timeout = 0", source.connect_timeout).status());
  WR_RETURN_IF_ERROR(connection.Query("SELECT " + function, kPatience).status());
  return SlotCopy(std::move(connection), source.publication);
}

absl::StatusOr<SlotCopy> SlotCopy::OfSlot(PgConnection connection, const SourceConfig& source) {
  return Create(std::move(connection), source,
                fmt::format("pg_copy_logical_replication_slot({}, {}, true)",
                            QuoteLiteral(source.slot), kName));
}

absl::StatusOr<SlotCopy> SlotCopy::FromNow(PgConnection connection, const SourceConfig& source) {
  return Create(std::move(connection), source,
                fmt::format("pg_create_logical_replication_slot({}, 'pgoutput', true)", kName));
}

absl::StatusOr<std::vector<std::string>> SlotCopy::Next(size_t max_messages) {
  WR_ASSIGN_OR_RETURN(
      const PgResult rows,
      connection_.Query(
          fmt::format("SELECT encode(data, 'hex') AS data FROM "
                      "pg_logical_slot_get_binary_changes({}, NULL, {}, 'proto_version', '1', "
                      "'publication_names', {})",
                      kName, max_messages, QuoteLiteral(QuoteIdentifier(publication_))),
          kPatience));
  std::vector<std::string> messages;
  messages.reserve(static_cast<size_t>(rows.rows()));
  for (int row = 0; row < rows.rows(); ++row) {
    const std::string_view hex = rows.Text(row, "data");
    messages.push_back(absl::HexStringToBytes({hex.data(), hex.size()}));
  }
  return messages;
}

}  // namespace walrelay
