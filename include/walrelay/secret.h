// Secret: a password or token.
//
// Has no stream operator and no formatter, so that printing one does not compile. The destructor
// wipes the memory. Reveal() marks the places that pass the secret to a library.
#pragma once

#include <cstring>
#include <string>
#include <utility>

namespace walrelay {

// Copies are independent: each is wiped when it is destroyed.
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string value) : value_(std::move(value)) {}
  Secret(const Secret&) = default;
  // std::string may keep short values inside itself, so a move copies them: the source is wiped.
  Secret(Secret&& other) noexcept : value_(other.value_) { other.Wipe(); }
  Secret& operator=(const Secret& other) {
    if (this != &other) {
      Wipe();
      value_ = other.value_;
    }
    return *this;
  }
  Secret& operator=(Secret&& other) noexcept {
    if (this != &other) {
      Wipe();
      value_ = other.value_;
      other.Wipe();
    }
    return *this;
  }
  ~Secret() { Wipe(); }

  // Valid as long as the secret. Do not copy it into an object that is not a Secret.
  bool empty() const { return value_.empty(); }
  const std::string& Reveal() const { return value_; }
  // Not in constant time: for two configurations of the same operator, never for a login.
  bool operator==(const Secret& other) const = default;

 private:
  // Wipes the present value only: memory that the string released earlier (by growing) is the
  // caller's concern, which is why ReadToEnd() allocates the full size at once.
  void Wipe() {
    // The optimiser does not remove explicit_bzero; it would remove memset before a destructor.
    explicit_bzero(value_.data(), value_.size());
    value_.clear();
  }

  std::string value_;
};

}  // namespace walrelay
