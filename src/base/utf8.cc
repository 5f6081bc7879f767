#include "base/utf8.h"

#include <algorithm>
#include <charconv>

#include "base/check.h"

namespace walrelay {

Utf8Character FirstCharacter(std::string_view text) {
  WR_CHECK(!text.empty(), "a first character exists");
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const auto continues = [&](size_t i) { return i < text.size() && (byte(i) & 0xC0) == 0x80; };
  const auto tail = [&](size_t i) { return static_cast<uint32_t>(byte(i) & 0x3F); };
  // RFC 3629. C0, C1 and F5 to FF never occur; overlong forms, surrogates and values above U+10FFFF
  // are invalid. A form that is accepted although it is overlong could hide a control character.
  const uint32_t lead = byte(0);
  if (lead < 0x80) {
    return {lead, 1};
  }
  if (lead >= 0xC2 && lead <= 0xDF && continues(1)) {
    return {(lead & 0x1F) << 6 | tail(1), 2};
  }
  if (lead >= 0xE0 && lead <= 0xEF && continues(1) && continues(2)) {
    const uint32_t point = (lead & 0x0F) << 12 | tail(1) << 6 | tail(2);
    const bool surrogate = point >= 0xD800 && point <= 0xDFFF;
    return point < 0x800 || surrogate ? Utf8Character() : Utf8Character{point, 3};
  }
  if (lead >= 0xF0 && lead <= 0xF4 && continues(1) && continues(2) && continues(3)) {
    const uint32_t point = (lead & 0x07) << 18 | tail(1) << 12 | tail(2) << 6 | tail(3);
    return point < 0x10000 || point > 0x10FFFF ? Utf8Character() : Utf8Character{point, 4};
  }
  return {};
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = FirstCharacter(text).length;
    if (length == 0) {
      return false;
    }
    text.remove_prefix(length);
  }
  return true;
}

char* PutUtf8(uint32_t point, char* to) {
  const auto tail = [&](int shift) { return static_cast<char>(0x80u | (point >> shift & 0x3Fu)); };
  if (point < 0x80) {
    *to++ = static_cast<char>(point);
  } else if (point < 0x800) {
    *to++ = static_cast<char>(0xC0u | point >> 6);
    *to++ = tail(0);
  } else if (point < 0x10000) {
    *to++ = static_cast<char>(0xE0u | point >> 12);
    *to++ = tail(6);
    *to++ = tail(0);
  } else {
    *to++ = static_cast<char>(0xF0u | point >> 18);
    *to++ = tail(12);
    *to++ = tail(6);
    *to++ = tail(0);
  }
  return to;
}

std::optional<uint32_t> TakeCodeUnit(std::string_view& text) {
  uint32_t unit = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + std::min<size_t>(text.size(), 4), unit, 16);
  // Exactly four digits, as in JSON and in .properties files.
  if (error != std::errc() || end != text.data() + 4) {
    return std::nullopt;
  }
  text.remove_prefix(4);
  return unit;
}

}  // namespace walrelay
