#include "postgres/synchronous_standbys.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace walrelay {
namespace {

bool IsSpace(char c) {
  return std::isspace(static_cast<unsigned char>(c)) != 0;
}

// As pg_strcasecmp() in SyncRepGetStandbyPriority().
bool EqualsIgnoringCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

// Removes one name and the comma or parenthesis after it from the front of a list.
// As syncrep_scanner.l: a quoted name may contain commas and doubled quotes.
std::string TakeName(std::string_view& list) {
  std::string name;
  bool quoted = false;
  while (!list.empty()) {
    const char c = list.front();
    list.remove_prefix(1);
    if (quoted) {
      if (c != '"') {
        name += c;
      } else if (list.starts_with('"')) {
        name += c;
        list.remove_prefix(1);
      } else {
        quoted = false;
      }
    } else if (c == '"') {
      quoted = true;
    } else if (c == ',' || c == ')') {
      break;
    } else if (!IsSpace(c)) {
      name += c;
    }
  }
  return name;
}

}  // namespace

// The counts and methods do not matter: any standby in the list may be waited for.
bool NamesStandby(std::string_view setting, std::string_view application_name) {
  // "FIRST 2 (a, b)", "ANY 1 (a, b)", "2 (a, b)" or "a, b". A name with a parenthesis is quoted.
  const size_t open = setting.find('(');
  const size_t quote = setting.find('"');
  if (open != std::string_view::npos && (quote == std::string_view::npos || open < quote)) {
    setting.remove_prefix(open + 1);
  }
  while (!setting.empty()) {
    const std::string name = TakeName(setting);
    if (name == "*" || (!name.empty() && EqualsIgnoringCase(name, application_name))) {
      return true;
    }
  }
  return false;
}

}  // namespace walrelay
