// StoredDeadLetter: a record of the dead-letter topic as it is read again. Contract:
// proto/walrelay/events/v1/dead_letter.proto.
//
// Pure.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "encode/dead_letter.h"

namespace walrelay {

// Where a dead letter is in its topic.
struct DeadLetterId {
  int32_t partition = 0;
  int64_t offset = 0;

  friend auto operator<=>(const DeadLetterId&, const DeadLetterId&) = default;
};

// "3/1042": partition and offset.
std::string ToString(const DeadLetterId& id);
// nullopt: the text is not such an id.
std::optional<DeadLetterId> ParseDeadLetterId(std::string_view text);

// Owns its bytes. Text is as it was written: it comes from rows and servers.
struct StoredDeadLetter {
  struct Column {
    std::string name;
    uint32_t type_oid = 0;
    std::optional<std::string> value;  // nullopt: NULL
    bool binary = false;
    uint64_t cut_from = 0;  // the full size of a truncated value, else 0
  };

  std::string code;
  std::string reason;
  std::string schema;
  std::string table;
  DeadLetterPosition position;
  std::vector<Column> columns;
  std::vector<DeadLetterId> retried;  // not empty: this is a mark, and no dead letter

  bool truncated() const;
};

// nullopt: the bytes are neither a dead letter nor a mark.
std::optional<StoredDeadLetter> DecodeDeadLetter(std::string_view bytes);

// The value of a mark: these dead letters were published.
std::string EncodeRetriedMark(std::span<const DeadLetterId> letters);

}  // namespace walrelay
