// Text as written by two of Connect's converters.
//
// Source: org.apache.kafka.connect.storage.StringConverter and SimpleHeaderConverter;
// org.apache.kafka.connect.data.Values.convertToString.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "encode/schema.h"

namespace walrelay {

// StringConverter: Java's toString, "[a, b]" for an array. Errors: WR-3007 for bytes and structs,
// because their toString is a Java object reference and not the value, and for Connect's own dates
// and times, whose toString depends on the time zone of the JVM. A null becomes "null", as in
// an array; callers omit a part that is null as a whole.
absl::Status AppendJavaText(const Schema& schema, const Datum& datum, std::string& out);

// SimpleHeaderConverter: plain text; bytes in base64; arrays and structs with quoted texts.
// A null becomes "null", as above.
void AppendHeaderText(const Schema& schema, const Datum& datum, std::string& out);

}  // namespace walrelay
