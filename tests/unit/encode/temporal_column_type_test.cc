#include "encode/temporal_column_type.h"

#include <gtest/gtest.h>

#include <string>

#include "pgoutput/type_oids.h"

namespace walrelay {
namespace {

class TemporalColumnTypeTest : public ::testing::Test {
 protected:
  ConnectColumnType TypeOf(uint32_t type_oid, const TypeModes& modes, int32_t modifier) {
    ConnectColumnType type;
    schema_ = {};
    EXPECT_TRUE(SetTemporalType(type_oid, modifier, modes, type, schema_));
    return type;
  }
  ColumnForm FormOf(uint32_t type_oid, int32_t modifier = -1) {
    return TypeOf(type_oid, {}, modifier).form;
  }
  // The name of the schema.
  std::string NameOf(uint32_t type_oid, const TypeModes& modes, int32_t modifier = -1) {
    TypeOf(type_oid, modes, modifier);
    return schema_.name;
  }

  Schema schema_;
};

TEST_F(TemporalColumnTypeTest, PrecisionDecidesTheUnitOfATime) {
  EXPECT_EQ(FormOf(pgoutput::kTimestampOid), ColumnForm::kTimestampMicros);
  EXPECT_EQ(FormOf(pgoutput::kTimestampOid, 3), ColumnForm::kTimestampMillis);
  EXPECT_EQ(FormOf(pgoutput::kTimestampOid, 4), ColumnForm::kTimestampMicros);
  EXPECT_EQ(FormOf(pgoutput::kTimeOid, 0), ColumnForm::kTimeMillis);
  EXPECT_EQ(TypeOf(pgoutput::kTimestamptzOid, {}, 3).fraction_digits, 3);
}

TEST_F(TemporalColumnTypeTest, TimeModeDecidesTheNamesOfDatesAndTimes) {
  using pgoutput::kDateOid;
  using pgoutput::kTimeOid;
  using pgoutput::kTimestampOid;
  const TypeModes connect{.time = TimeMode::kConnect};
  EXPECT_EQ(NameOf(kDateOid, connect), "org.apache.kafka.connect.data.Date");
  EXPECT_EQ(NameOf(kTimeOid, connect), "org.apache.kafka.connect.data.Time");
  EXPECT_EQ(NameOf(kTimestampOid, connect), "org.apache.kafka.connect.data.Timestamp");
  const TypeModes iso{.time = TimeMode::kIsoString};
  EXPECT_EQ(NameOf(kDateOid, iso), "io.debezium.time.IsoDate");
  EXPECT_EQ(NameOf(kTimeOid, iso), "io.debezium.time.IsoTime");
  EXPECT_EQ(NameOf(kTimestampOid, iso), "io.debezium.time.IsoTimestamp");
  const TypeModes micros{.time = TimeMode::kMicroseconds};
  EXPECT_EQ(NameOf(kDateOid, micros), "io.debezium.time.Date");
  EXPECT_EQ(NameOf(kTimeOid, micros, 3), "io.debezium.time.MicroTime");
  EXPECT_EQ(NameOf(kTimestampOid, micros, 3), "io.debezium.time.MicroTimestamp");
  const TypeModes nanos{.time = TimeMode::kNanoseconds};
  EXPECT_EQ(NameOf(kTimeOid, nanos), "io.debezium.time.NanoTime");
  EXPECT_EQ(NameOf(kTimestampOid, nanos), "io.debezium.time.NanoTimestamp");
  const TypeModes adaptive{.time = TimeMode::kAdaptiveTimeMicroseconds};
  EXPECT_EQ(NameOf(kTimeOid, adaptive, 3), "io.debezium.time.MicroTime");
  EXPECT_EQ(NameOf(kTimestampOid, adaptive, 3), "io.debezium.time.Timestamp");
}

TEST_F(TemporalColumnTypeTest, OtherTypesAreNotTemporal) {
  ConnectColumnType type;
  EXPECT_FALSE(SetTemporalType(pgoutput::kTextOid, -1, {}, type, schema_));
}

}  // namespace
}  // namespace walrelay
