// Text as two of Connect's converters write it.
//
// Source: org.apache.kafka.connect.storage.StringConverter and SimpleHeaderConverter;
// org.apache.kafka.connect.data.Values.convertToString.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "encode/schema.h"

namespace walrelay {

// StringConverter: Java's toString, "[a, b]" for an array. Errors: WR-3007 for bytes and structs,
// of which that is the text of a Java object and not of the value. REQUIRES: the datum is not null.
absl::Status AppendJavaText(const Schema& schema, const Datum& datum, std::string& out);

// SimpleHeaderConverter: raw text; bytes in base64; arrays and structs with their texts quoted.
// REQUIRES: the datum is not null.
void AppendHeaderText(const Schema& schema, const Datum& datum, std::string& out);

}  // namespace walrelay
