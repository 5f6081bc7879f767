#include "postgres/temporary_slot.h"

#include <fmt/format.h>

#include "absl/strings/escaping.h"
#include "base/quote.h"
#include "postgres/slot_error.h"
#include "walrelay/config/source.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// The queries of a print may decode for hours.
constexpr std::chrono::hours kDecodingTimeout{24};
// An SQL expression, so that client and server cannot disagree about the process id.
constexpr std::string_view kName =
    "'walrelay_print_' OPERATOR(pg_catalog.||) "
    "pg_catalog.pg_backend_pid()::pg_catalog.text";

}  // namespace

// The name contains the process id, so that two processes do not collide.
absl::StatusOr<TemporarySlot> TemporarySlot::Create(PgConnection connection,
                                                    const SourceConfig& source,
                                                    const std::string& function) {
  // Decoding a large backlog takes long.
  WR_RETURN_IF_ERROR(
      connection.Query("SET statement_timeout = 0", source.connect_timeout).status());
  const absl::Status created =
      connection.Query("SELECT pg_catalog." + function, kDecodingTimeout).status();
  if (!created.ok()) {
    return WithCauseAtSlot(connection, source.slot, created, source.connect_timeout);
  }
  return TemporarySlot(std::move(connection), source);
}

absl::StatusOr<TemporarySlot> TemporarySlot::OfSlot(PgConnection connection,
                                                    const SourceConfig& source) {
  return Create(std::move(connection), source,
                fmt::format("pg_copy_logical_replication_slot({}, {}, true)",
                            QuoteLiteral(source.slot), kName));
}

absl::StatusOr<TemporarySlot> TemporarySlot::FromNow(PgConnection connection,
                                                     const SourceConfig& source) {
  return Create(std::move(connection), source,
                fmt::format("pg_create_logical_replication_slot({}, 'pgoutput', true)", kName));
}

absl::StatusOr<std::vector<std::string>> TemporarySlot::Next(size_t max_messages) {
  return Read(max_messages, "", kDecodingTimeout);
}

// 82 and 89: "R" and "Y", pgoutput's types of these messages.
absl::StatusOr<std::vector<std::string>> TemporarySlot::NextDescriptions(size_t max_messages,
                                                                         Micros limit) {
  // The server would continue to decode for a client that has left.
  WR_RETURN_IF_ERROR(
      connection_
          .Query(fmt::format("SET statement_timeout = {}", limit / std::chrono::milliseconds(1)),
                 limit)
          .status());
  return Read(max_messages,
              " WHERE pg_catalog.get_byte(data, 0) OPERATOR(pg_catalog.=) ANY (ARRAY[82, 89])",
              2 * limit);
}

// Consumes what it returns: the temporary slot advances, and memory stays bounded. Hexadecimal,
// because libpq returns text, in which bytea would be escaped in one of two ways.
absl::StatusOr<std::vector<std::string>> TemporarySlot::Read(size_t max_messages,
                                                             std::string_view where, Micros limit) {
  const auto rows = connection_.Query(
      fmt::format("SELECT pg_catalog.encode(data, 'hex') AS data FROM "
                  "pg_catalog.pg_logical_slot_get_binary_changes({}, NULL, {}, 'proto_version', "
                  "'1', 'publication_names', {}{}){}",
                  kName, max_messages, QuoteLiteral(QuoteIdentifier(publication_)),
                  messages_ ? ", 'messages', 'true'" : "", where),
      limit);
  if (!rows.ok()) {
    // The slot exists, so the undefined object is the publication.
    return connection_.last_sqlstate() == "42704"
               ? Error(ErrorCode::kPublicationTooNew, MessageOf(rows.status()))
               : rows.status();
  }
  std::vector<std::string> messages;
  messages.reserve(static_cast<size_t>(rows->rows()));
  for (int row = 0; row < rows->rows(); ++row) {
    const std::string_view hex = rows->Text(row, "data");
// Abseil in Debian 13 deprecates the only form that Abseil in Debian 12 has.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    messages.push_back(absl::HexStringToBytes({hex.data(), hex.size()}));
#pragma GCC diagnostic pop
  }
  return messages;
}

}  // namespace walrelay
