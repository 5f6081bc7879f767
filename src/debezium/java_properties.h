// The text of a Java .properties file: the configuration of a standalone worker, its connectors and
// Debezium Server.
//
// Strict, unlike encode/properties_text.h: an operator's file should not be guessed at.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace walrelay {

using JavaProperties = std::vector<std::pair<std::string, std::string>>;

// Parses like java.util.Properties (comments, continued lines, escapes), in the order of the file,
// but strict: a name given twice is an error. Errors: WR-1001, with the line.
absl::StatusOr<JavaProperties> ParseJavaProperties(std::string_view text);

}  // namespace walrelay
