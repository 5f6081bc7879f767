#include "debezium/json_mistake.h"

#include <algorithm>

namespace walrelay {
namespace {

constexpr int kMaxJsonLevels = 64;
constexpr std::string_view kEscaped = "\"\\/bfnrtu";

// Each function reads one construct and returns false after the first mistake.
class JsonScanner {
 public:
  explicit JsonScanner(std::string_view text) : text_(text) {}

  std::optional<JsonMistake> Run() {
    if (Value(0) && (Blanks(), at_ < text_.size())) {
      Fail("the end of the file");
    }
    return mistake_;
  }

 private:
  bool Fail(std::string_view expected) {
    mistake_ = JsonMistake{at_, expected};
    return false;
  }

  char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  void Blanks() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }

  bool Skip(char c) {
    Blanks();
    const bool found = Peek() == c && at_ < text_.size();
    at_ += found ? 1 : 0;
    return found;
  }

  bool Value(int level) {
    if (level > kMaxJsonLevels) {
      return Fail("fewer levels");
    }
    if (Skip('{')) {
      return List('}', "a comma or }", [&] { return Member(level); });
    }
    if (Skip('[')) {
      return List(']', "a comma or ]", [&] { return Value(level + 1); });
    }
    return Peek() == '"' ? String() : Scalar();
  }

  // After the opening bracket.
  template <typename Element>
  bool List(char close, std::string_view expected, Element element) {
    if (Skip(close)) {
      return true;
    }
    do {
      if (!element()) {
        return false;
      }
    } while (Skip(','));
    return Skip(close) || Fail(expected);
  }

  bool Member(int level) {
    Blanks();
    if (Peek() != '"') {
      return Fail("a name in double quotes");
    }
    return String() && (Skip(':') || Fail("a colon")) && Value(level + 1);
  }

  // A mistake in a string that is not closed is reported at its beginning: the next quote may be
  // many lines away.
  bool String() {
    const size_t begin = at_++;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (static_cast<unsigned char>(text_[at_]) < 0x20) {
        at_ = begin;
        return Fail("a closing quote on the same line");
      }
      if (text_[at_++] == '\\' && kEscaped.find(at_ < text_.size() ? text_[at_++] : 'n') == kNone) {
        --at_;
        return Fail("one of \"\\/bfnrtu after the backslash");
      }
    }
    if (at_ >= text_.size()) {
      at_ = begin;
      return Fail("a closing quote");
    }
    ++at_;
    return true;
  }

  bool Scalar() {
    const size_t begin = at_;
    at_ = std::min(text_.find_first_of(" \t\r\n,:{}[]\"", at_), text_.size());
    const std::string_view word = text_.substr(begin, at_ - begin);
    if (word == "true" || word == "false" || word == "null" || IsNumber(word)) {
      return true;
    }
    at_ = begin;
    return Fail("a value: text in double quotes, a number, true, false, null, { or [");
  }

  static bool IsNumber(std::string_view word) {
    const auto digits = [&] {
      const size_t count = std::min(word.find_first_not_of("0123456789"), word.size());
      word.remove_prefix(count);
      return count > 0;
    };
    const auto take = [&](std::string_view any) {
      const bool found = !word.empty() && any.find(word.front()) != kNone;
      word.remove_prefix(found ? 1 : 0);
      return found;
    };
    take("-");
    const bool whole = take("0") || digits();
    const bool fraction = !take(".") || digits();
    const bool exponent = !take("eE") || (take("+-"), digits());
    return whole && fraction && exponent && word.empty();
  }

  static constexpr size_t kNone = std::string_view::npos;
  std::string_view text_;
  size_t at_ = 0;
  std::optional<JsonMistake> mistake_;
};

}  // namespace

std::optional<JsonMistake> FindJsonMistake(std::string_view text) {
  return JsonScanner(text).Run();
}

}  // namespace walrelay
