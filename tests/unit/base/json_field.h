// Fields of JSON lines, for the tests of the log.
#pragma once

#include <gtest/gtest.h>
#include <simdjson.h>

#include <string>

namespace walrelay {

// A field of a JSON line as text; "" when the line is not JSON.
inline std::string FieldOf(const std::string& line, const std::string& key) {
  simdjson::dom::parser parser;
  simdjson::dom::element document;
  simdjson::dom::element field;
  if (parser.parse(line).get(document) != simdjson::SUCCESS) {
    ADD_FAILURE() << line;
    return "";
  }
  if (document[key].get(field) != simdjson::SUCCESS) {
    return "absent";
  }
  return field.is_string() ? std::string(field.get_string().value()) : simdjson::minify(field);
}

}  // namespace walrelay
