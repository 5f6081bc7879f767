// JSON as written by Kafka Connect's JsonConverter.
//
// Members are in the order of the schema's fields, absent ones are null, and a default replaces
// null; bytes and decimals are in base64; characters beyond the BMP are escaped surrogates. Appends
// only.
//
// Source: org.apache.kafka.connect.json.JsonConverter (decimal.format=BASE64,
// replace.null.with.default=true); Jackson's UTF8JsonGenerator.
#pragma once

#include <string>
#include <string_view>

#include "encode/schema.h"

namespace walrelay {

// {"type":…,"optional":…}, and the schema's other attributes.
void AppendConnectSchema(const Schema& schema, std::string& out);

// The value alone, without its schema. A struct's members are those of its schema.
void AppendConnectJson(const Schema& schema, const Datum& datum, std::string& out);

// A JSON string, including the quotes. A lone surrogate, encoded in the three bytes that UTF-8
// would use for it, becomes an escape.
void AppendJacksonString(std::string_view text, std::string& out);
// The same as Jackson writes it to a String, not to bytes: characters beyond the BMP are unchanged.
void AppendJacksonText(std::string_view text, std::string& out);

}  // namespace walrelay
