// Wait: why a record, a row or a message of the stream cannot be handled now.
//
// The caller offers it again later, and nothing behind it before. A failure is not a wait but
// a Status. waits.def has a row for each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace walrelay {

enum class Wait : uint8_t {
  kNone,  // handled
#define WALRELAY_WAIT(name, ends_transaction, text) k##name,
#include "walrelay/waits.def"
};

// A row of waits.def. The text is a literal.
struct WaitEntry {
  bool ends_transaction = false;
  std::string_view text;
};

inline const WaitEntry& Describe(Wait wait) {
  static constexpr WaitEntry kEntries[] = {
      {},
#define WALRELAY_WAIT(name, ends_transaction, text) {ends_transaction, text},
#include "walrelay/waits.def"
  };
  return kEntries[static_cast<size_t>(wait)];
}

// The result of offering a record to a sink.
class Offered {
 public:
  constexpr Offered(Wait wait) : wait_(wait) {}  // NOLINT(google-explicit-constructor)
  // Handled without a report: the topic has the record's event already, and nothing is sent.
  static constexpr Offered Stored() {
    Offered offered(Wait::kNone);
    offered.stored_ = true;
    return offered;
  }

  // kNone: accepted, and a report follows, unless it is stored.
  constexpr Wait wait() const { return wait_; }
  constexpr bool handled() const { return wait_ == Wait::kNone; }
  constexpr bool stored() const { return stored_; }

  friend constexpr bool operator==(const Offered&, const Offered&) = default;

 private:
  Wait wait_;
  bool stored_ = false;
};

}  // namespace walrelay
