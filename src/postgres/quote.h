// Quoting for SQL that is printed or run. (The replication commands have a grammar of their own, in
// which names are validated instead: see config/validate.cc.)
#pragma once

#include <string>
#include <string_view>

namespace walrelay {

// "name", with quotes inside doubled; always quoted, so that case and keywords stay what they are.
std::string QuoteIdentifier(std::string_view name);

// 'text'; with backslashes in it E'text', which means the same whatever standard_conforming_strings
// is.
std::string QuoteLiteral(std::string_view text);

}  // namespace walrelay
