#include "encode/hstore_text.h"

#include <algorithm>
#include <cstdint>

namespace walrelay {
namespace {

// java.util.HashMap: the first size, the load at which it doubles, and the length of a chain from
// which it resorts to other means.
constexpr size_t kFirstBuckets = 16;
constexpr size_t kLongestChain = 8;
constexpr size_t kBucketsForTrees = 64;

// Adds one UTF-16 unit to a java.lang.String's hash.
void AddUnit(uint32_t unit, uint32_t& hash) {
  hash = hash * 31 + unit;
}

// The hash of the UTF-16 form, with HashMap's mixing of the upper half. The server sends valid
// UTF-8; a sequence that is cut ends the text.
uint32_t JavaHash(std::string_view text) {
  uint32_t hash = 0;
  for (size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const size_t size = byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
    if (i + size > text.size()) {
      break;
    }
    uint32_t point = size == 1 ? byte : byte & (0xFFu >> (size + 1));
    for (size_t k = 1; k < size; ++k) {
      point = point << 6 | (static_cast<unsigned char>(text[i + k]) & 0x3Fu);
    }
    if (point >= 0x10000) {
      AddUnit(0xD800 + ((point - 0x10000) >> 10), hash);
      AddUnit(0xDC00 + ((point - 0x10000) & 0x3FF), hash);
    } else {
      AddUnit(point, hash);
    }
    i += size;
  }
  return hash ^ hash >> 16;
}

// The bucket order of a HashMap, without its storage. Within a bucket, entries are in the order of
// insertion, which a larger table does not change.
class HashOrder {
 public:
  // False: the map would turn the entry's bucket into a tree, whose order is another one.
  bool Add(uint32_t hash) {
    hashes_.push_back(hash);
    const size_t chain = ++chains_[hash & (chains_.size() - 1)];
    if (chain > kLongestChain) {
      if (chains_.size() >= kBucketsForTrees) {
        return false;
      }
      Grow();
    }
    if (hashes_.size() > chains_.size() / 4 * 3) {
      Grow();
    }
    return true;
  }

  // The indices of the entries.
  std::vector<size_t> Sorted() const {
    std::vector<size_t> order(hashes_.size());
    for (size_t i = 0; i < order.size(); ++i) {
      order[i] = i;
    }
    const size_t mask = chains_.size() - 1;
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return (hashes_[a] & mask) < (hashes_[b] & mask); });
    return order;
  }

 private:
  void Grow() {
    chains_.assign(chains_.size() * 2, 0);
    for (const uint32_t hash : hashes_) {
      ++chains_[hash & (chains_.size() - 1)];
    }
  }

  std::vector<uint32_t> hashes_;
  std::vector<size_t> chains_ = std::vector<size_t>(kFirstBuckets);  // the length of each
};

// Consumes a quoted text. Quotes and backslashes in it are escaped by a backslash; a text with
// escapes is written to `to`, which has room for it, and advances.
std::optional<std::string_view> TakeHstoreText(std::string_view& text, char*& to) {
  if (!text.starts_with('"')) {
    return std::nullopt;
  }
  text.remove_prefix(1);
  const size_t plain = text.find_first_of("\"\\");
  if (plain != std::string_view::npos && text[plain] == '"') {
    const std::string_view taken = text.substr(0, plain);
    text.remove_prefix(plain + 1);
    return taken;
  }
  const char* const begin = to;
  while (!text.empty() && text[0] != '"') {
    text.remove_prefix(text[0] == '\\' ? 1 : 0);
    if (text.empty()) {
      return std::nullopt;
    }
    *to++ = text[0];
    text.remove_prefix(1);
  }
  if (text.empty()) {
    return std::nullopt;
  }
  text.remove_prefix(1);
  return std::string_view(begin, static_cast<size_t>(to - begin));
}

bool TakeWord(std::string_view word, std::string_view& text) {
  const bool found = text.starts_with(word);
  text.remove_prefix(found ? word.size() : 0);
  return found;
}

std::optional<HstorePair> TakePair(std::string_view& text, char*& to) {
  const auto key = TakeHstoreText(text, to);
  if (!key || !TakeWord("=>", text)) {
    return std::nullopt;
  }
  if (TakeWord("NULL", text)) {
    return HstorePair{*key, std::nullopt};
  }
  const auto value = TakeHstoreText(text, to);
  return value ? std::optional(HstorePair{*key, *value}) : std::nullopt;
}

}  // namespace

std::optional<std::vector<HstorePair>> ParseHstore(std::string_view text, Arena& arena) {
  std::vector<HstorePair> pairs;
  HashOrder map;
  char* to = arena.Allocate(text.size());
  while (!text.empty()) {
    if (!pairs.empty() && !TakeWord(", ", text)) {
      return std::nullopt;
    }
    const auto pair = TakePair(text, to);
    if (!pair || !map.Add(JavaHash(pair->first))) {
      return std::nullopt;
    }
    pairs.push_back(*pair);
  }
  std::vector<HstorePair> ordered;
  ordered.reserve(pairs.size());
  for (const size_t index : map.Sorted()) {
    ordered.push_back(pairs[index]);
  }
  return ordered;
}

}  // namespace walrelay
