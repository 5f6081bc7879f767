#include "config/masked_dsn.h"

#include <algorithm>

namespace walrelay {
namespace {

// The length is fixed, so that it does not show the length of the password.
constexpr std::string_view kMask = "***";
constexpr std::string_view kBlanks = " \t\n\v\f\r";  // separators that libpq accepts between pairs

// Also true for "sslpassword", and for a name written with %-escapes or capitals.
bool IsPassword(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; });
  return lower.find("password") != std::string::npos || lower.find('%') != std::string::npos;
}

// The part of a URI between "//" and "/" or "?": user:password@hosts.
// The password may contain "@", so the last one before the hosts counts.
std::string MaskedAuthority(std::string_view authority) {
  const size_t at = authority.rfind('@');
  const size_t colon = authority.find(':');
  // A colon after the "@" precedes a port.
  if (at == std::string_view::npos || colon > at) {
    return std::string(authority);
  }
  return std::string(authority.substr(0, colon + 1)).append(kMask).append(authority.substr(at));
}

// name=value&name=value
// libpq accepts any parameter in a URI's query, passwords included.
std::string MaskedQuery(std::string_view query) {
  std::string out;
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, std::min(query.find('&'), query.size() - 1) + 1);
    const size_t equals = pair.find('=');
    if (equals != std::string_view::npos && IsPassword(pair.substr(0, equals))) {
      out.append(pair.substr(0, equals + 1)).append(kMask).append(pair.ends_with('&') ? "&" : "");
    } else {
      out += pair;
    }
    query.remove_prefix(pair.size());
  }
  return out;
}

// As libpq parses it: the user is the text before an "@" that no "/" precedes. An "@" only behind
// a "/" is probably behind a password that is not encoded, so everything before it is masked.
std::string MaskedUri(std::string_view uri) {
  const size_t start = uri.find("//") + 2;
  const size_t slash = std::min(uri.find('/', start), uri.size());
  const size_t last_at = uri.rfind('@');
  const bool has_user = uri.substr(start, slash - start).find('@') != std::string_view::npos;
  if (last_at != std::string_view::npos && last_at > slash &&
      (!has_user ||
       uri.substr(slash, uri.find('?', slash) - slash).find('@') != std::string_view::npos)) {
    return std::string(uri.substr(0, start)).append(kMask) + MaskedQuery(uri.substr(last_at));
  }
  // A "?" in the password does not begin the query: the search starts after the user.
  const size_t user_end = uri.substr(0, slash).rfind('@');
  const size_t question = uri.find('?', user_end == std::string_view::npos ? start : user_end);
  const size_t authority_end = std::min(slash, question);
  const size_t query = std::min(question, uri.size() - 1) + 1;
  return std::string(uri.substr(0, start)) +
         MaskedAuthority(uri.substr(start, authority_end - start)) +
         std::string(uri.substr(authority_end, query - authority_end)) +
         MaskedQuery(uri.substr(query));
}

// The length of a value: '…' or up to a blank; a backslash escapes the next character.
size_t ValueLength(std::string_view text) {
  const bool quoted = text.starts_with('\'');
  for (size_t i = quoted ? 1 : 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (quoted ? text[i] == '\'' : kBlanks.find(text[i]) != std::string_view::npos) {
      return quoted ? i + 1 : i;
    }
  }
  return text.size();
}

// name = value, separated by blanks.
// Backslashes and quotes are interpreted as libpq does it: a quoted password may contain blanks.
std::string MaskedPairs(std::string_view pairs) {
  std::string out;
  while (!pairs.empty()) {
    // A text without "=" is not a valid pair. It is copied unchanged, and libpq rejects it.
    const size_t equals = std::min(pairs.find('='), pairs.size() - 1);
    const size_t value = std::min(pairs.find_first_not_of(kBlanks, equals + 1), pairs.size());
    const size_t end = value + ValueLength(pairs.substr(value));
    out += pairs.substr(0, value);
    out += IsPassword(pairs.substr(0, equals)) ? kMask : pairs.substr(value, end - value);
    pairs.remove_prefix(end);
  }
  return out;
}

}  // namespace

// Keywords that look like a password are masked, whether or not libpq knows them. A URI with
// another scheme, such as "jdbc:postgresql", is masked like one of libpq's.
std::string MaskedDsn(std::string_view dsn) {
  const size_t equals = dsn.find('=');
  if (dsn.find("://") < equals) {
    return MaskedUri(dsn);
  }
  if (equals == std::string_view::npos && !dsn.empty()) {
    // Neither form: "user:password@host", or a password in the wrong place.
    return std::string(kMask).append(dsn.substr(std::min(dsn.rfind('@'), dsn.size())));
  }
  return MaskedPairs(dsn);
}

}  // namespace walrelay
