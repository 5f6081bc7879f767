// How Debezium represents the dates, times, timestamps and intervals of Postgres, by the modes of
// time.precision.mode and interval.handling.mode.
//
// For connect_column_type.h. Pure.
//
// Source: TemporalPrecisionMode of io.debezium.jdbc and PostgresValueConverter, Debezium 3.7.
#pragma once

#include <cstdint>

#include "encode/connect_column_type.h"
#include "encode/schema.h"
#include "walrelay/config/format.h"

namespace walrelay {

// Sets the form, the digits and the schema of a value of this type. False if the type is none of
// these: form and schema are unchanged. `modifier`: as declared; negative: without a precision.
bool SetTemporalType(uint32_t type_oid, int32_t modifier, const TypeModes& modes,
                     ConnectColumnType& out, Schema& schema);

}  // namespace walrelay
