// Quoting for SQL that is printed or executed. (Replication commands have a different grammar;
// their names are validated instead: see config/source_section.cc.)
//
// Pure. REQUIRES: the text has no zero byte and is in the session's encoding.
#pragma once

#include <string>
#include <string_view>

namespace walrelay {

// "name" with inner quotes doubled. Always quoted, which preserves case and allows keywords.
std::string QuoteIdentifier(std::string_view name);

// "schema"."name".
std::string QuoteQualified(std::string_view schema, std::string_view name);

// 'text', or E'text' if it contains backslashes, which does not depend on
// standard_conforming_strings.
std::string QuoteLiteral(std::string_view text);

}  // namespace walrelay
