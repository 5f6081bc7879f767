#include "route/java_regex.h"

#include <algorithm>

#include "walrelay/error.h"

namespace walrelay {
namespace {

// A single pass over the expression, which copies everything that both engines read alike.
class Translator {
 public:
  explicit Translator(std::string_view java) : rest_(java) {}

  absl::StatusOr<std::string> Run() {
    while (!rest_.empty()) {
      // RE2 reads quotations like Java.
      if (rest_.starts_with("\\Q")) {
        CopyQuotation();
        // An escape and what it escapes: neither opens a class nor a group.
      } else if (rest_[0] == '\\') {
        Copy(2);
      } else if (in_class_) {
        WR_RETURN_IF_ERROR(CopyOfClass());
      } else if (rest_[0] == '[') {
        EnterClass();
      } else {
        WR_RETURN_IF_ERROR(CopyOutsideClass());
      }
    }
    return std::move(out_);
  }

 private:
  static absl::Status Differs(std::string_view what) {
    return Error(ErrorCode::kConfigValue,
                 std::string(what) + " has different meanings in Java and RE2");
  }

  void Copy(size_t count) {
    out_ += rest_.substr(0, count);
    rest_.remove_prefix(std::min(count, rest_.size()));
  }

  // \Q…\E, or up to the end.
  void CopyQuotation() {
    const size_t end = rest_.find("\\E", 2);
    Copy(end == std::string_view::npos ? rest_.size() : end + 2);
  }

  // A "]" directly after the bracket is a literal.
  void EnterClass() {
    in_class_ = true;
    Copy(rest_.starts_with("[^") ? 2 : 1);
    if (rest_.starts_with(']')) {
      Copy(1);
    }
  }

  // Java has unions, [a[b]], and intersections, [a-z&&[^b]]; in RE2 these are literal characters.
  absl::Status CopyOfClass() {
    if (rest_[0] == '[') {
      return Differs("\"[\" inside a character class");
    }
    if (rest_.starts_with("&&")) {
      return Differs("\"&&\" inside a character class");
    }
    in_class_ = rest_[0] != ']';
    Copy(1);
    return absl::OkStatus();
  }

  // RE2 before 2023-09 requires (?P<name>…).
  absl::Status CopyOutsideClass() {
    const bool look_behind = rest_.starts_with("(?<=") || rest_.starts_with("(?<!");
    if (rest_.starts_with("(?<") && !look_behind) {
      out_ += "(?P<";
      rest_.remove_prefix(3);
      return absl::OkStatus();
    }
    // U means Unicode character classes in Java, and ungreedy in RE2.
    if (FlagsHere().find('U') != std::string_view::npos) {
      return Differs("flag U");
    }
    Copy(1);
    return absl::OkStatus();
  }

  // "i-s" of "(?i-s)" and "(?i-s:".
  std::string_view FlagsHere() const {
    if (!rest_.starts_with("(?")) {
      return {};
    }
    const std::string_view flags = rest_.substr(2);
    return flags.substr(
        0, flags.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-"));
  }

  std::string_view rest_;
  std::string out_;
  bool in_class_ = false;
};

}  // namespace

absl::StatusOr<std::string> ToRe2Syntax(std::string_view java) {
  return Translator(java).Run();
}

}  // namespace walrelay
