#include "encode/stored_dead_letter.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "walrelay/events/v1/dead_letter.pb.h"

namespace walrelay {
namespace {

// The whole of `text`; nullopt: not a number of this type, or negative.
template <typename Number>
std::optional<Number> Parse(std::string_view text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number >= 0
             ? std::optional(number)
             : std::nullopt;
}

}  // namespace

std::string ToString(const DeadLetterId& id) {
  return fmt::format("{}/{}", id.partition, id.offset);
}

std::optional<DeadLetterId> ParseDeadLetterId(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) {
    return std::nullopt;
  }
  const auto partition = Parse<int32_t>(text.substr(0, slash));
  const auto offset = Parse<int64_t>(text.substr(slash + 1));
  return partition && offset ? std::optional(DeadLetterId{*partition, *offset}) : std::nullopt;
}

bool StoredDeadLetter::truncated() const {
  return std::any_of(columns.begin(), columns.end(),
                     [](const Column& column) { return column.cut_from > 0; });
}

// A dead letter has a code. Other bytes may parse as a message without one.
std::optional<StoredDeadLetter> DecodeDeadLetter(std::string_view bytes) {
  events::v1::DeadLetter letter;
  if (!letter.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) ||
      (letter.code().empty() && letter.retried().empty())) {
    return std::nullopt;
  }
  StoredDeadLetter out{.code = letter.code(),
                       .reason = letter.reason(),
                       .schema = letter.schema(),
                       .table = letter.table()};
  out.position = {.row = {.commit_lsn = Lsn(letter.commit_lsn()),
                          .row_lsn = Lsn(letter.row_lsn()),
                          .index = letter.row_index()},
                  .ordinal = letter.ordinal(),
                  .xid = letter.transaction_id(),
                  .commit_time = WallTime(Micros(letter.commit_time_us()))};
  for (const auto& column : letter.columns()) {
    out.columns.push_back(
        {.name = column.name(),
         .type_oid = column.type_oid(),
         .value = column.has_value() ? std::optional(column.value()) : std::nullopt,
         .binary = column.binary(),
         .cut_from = column.cut_from()});
  }
  for (const auto& place : letter.retried()) {
    out.retried.push_back({.partition = place.partition(), .offset = place.offset()});
  }
  return out;
}

std::string EncodeRetriedMark(std::span<const DeadLetterId> letters) {
  events::v1::DeadLetter mark;
  for (const DeadLetterId& letter : letters) {
    auto* place = mark.add_retried();
    place->set_partition(letter.partition);
    place->set_offset(letter.offset);
  }
  return mark.SerializeAsString();
}

}  // namespace walrelay
