// JSON as Kafka Connect's JsonConverter writes it.
//
// Members in the order of the schema's fields, an absent one as null, a default in place of null;
// bytes and decimals in base64; characters beyond the BMP as escaped surrogates. Appends only.
//
// Source: org.apache.kafka.connect.json.JsonConverter (decimal.format=BASE64,
// replace.null.with.default=true); Jackson's UTF8JsonGenerator.
#pragma once

#include <string>
#include <string_view>

#include "encode/schema.h"

namespace walrelay {

// {"type":…,"optional":…}, and what else the schema has.
void AppendConnectSchema(const Schema& schema, std::string& out);

void AppendConnectJson(const Schema& schema, const Datum& datum, std::string& out);

// A JSON string, quotes included. A lone surrogate, in the three bytes that UTF-8 would have for
// it, becomes an escape.
void AppendJacksonString(std::string_view text, std::string& out);

}  // namespace walrelay
