#include "encode/geometric_datum.h"

#include <gtest/gtest.h>

#include <string>

#include "encode/column_datum.h"
#include "encode/connect_json.h"
#include "fakes/status_matchers.h"
#include "pgoutput/type_oids.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

// Expected values: Debezium 3.7.0.Final.
class GeometricDatumTest : public ::testing::Test {
 protected:
  // The value as JSON, or the error code.
  std::string Json(uint32_t type_oid, std::string_view text) {
    const auto shape = ShapeOf({.type_oid = type_oid, .nullable = false}, modes_);
    if (!shape.ok()) {
      return ToString(CodeOf(shape.status()));
    }
    const auto datum = DatumOfText(text, *shape, arena_);
    if (!datum.ok()) {
      return ToString(CodeOf(datum.status()));
    }
    std::string out;
    AppendConnectJson(*shape->schema, *datum, out);
    return out;
  }
  static bool IsOptional(uint32_t type_oid) {
    const auto shape = ShapeOf({.type_oid = type_oid, .nullable = false});
    EXPECT_THAT(shape, IsOk());
    return shape->schema->optional;
  }

  Arena arena_;
  TypeModes modes_;
};

TEST_F(GeometricDatumTest, PointsHaveCoordinatesAndWkb) {
  EXPECT_EQ(Json(pgoutput::kPointOid, "(1,2)"),
            R"({"x":1.0,"y":2.0,"wkb":"AQEAAAAAAAAAAADwPwAAAAAAAABA","srid":null})");
  EXPECT_EQ(Json(pgoutput::kPointOid, "(Infinity,NaN)"),
            R"({"x":"Infinity","y":"NaN","wkb":"AQEAAAAAAAAAAADwfwAAAAAAAPh/","srid":null})");
}

TEST_F(GeometricDatumTest, LinesAndCirclesHaveNumbers) {
  EXPECT_EQ(Json(pgoutput::kLineOid, "{0,-1,1e-07}"), R"({"a":0.0,"b":-1.0,"c":1.0E-7})");
  EXPECT_EQ(Json(pgoutput::kCircleOid, "<(1,2),3>"),
            R"({"center":{"x":1.0,"y":2.0,"wkb":"AQEAAAAAAAAAAADwPwAAAAAAAABA","srid":null},)"
            R"("radius":3.0})");
}

TEST_F(GeometricDatumTest, BoxesAreRingsOfFivePoints) {
  EXPECT_EQ(Json(pgoutput::kBoxOid, "(3,4),(1,2)"),
            R"({"wkb":"AQMAAAABAAAABQAAAAAAAAAAAAhAAAAAAAAAEEAAAAAAAAAIQAAAAAAAAABAAAAAAAAA8D8AAAA)"
            R"(AAAAAQAAAAAAAAPA/AAAAAAAAEEAAAAAAAAAIQAAAAAAAABBA","srid":null,)"
            R"("extensions":{"type":"box"}})");
}

TEST_F(GeometricDatumTest, SegmentsAndPathsAreLineStrings) {
  EXPECT_EQ(Json(pgoutput::kLineSegmentOid, "[(1,2),(3,4)]"),
            R"({"wkb":"AQIAAAACAAAAAAAAAAAA8D8AAAAAAAAAQAAAAAAAAAhAAAAAAAAAEEA=","srid":null,)"
            R"("extensions":{"type":"lseg"}})");
  EXPECT_EQ(Json(pgoutput::kPathOid, "[(1,2)]"),
            R"({"wkb":"AQIAAAABAAAAAAAAAAAA8D8AAAAAAAAAQA==","srid":null,)"
            R"("extensions":{"type":"path","closed":"false"}})");
  EXPECT_EQ(Json(pgoutput::kPathOid, "((1,2))"),
            R"({"wkb":"AQIAAAABAAAAAAAAAAAA8D8AAAAAAAAAQA==","srid":null,)"
            R"("extensions":{"type":"path","closed":"true"}})");
}

TEST_F(GeometricDatumTest, PolygonsAreClosed) {
  const std::string closed = Json(pgoutput::kPolygonOid, "((1,2),(3,4),(1,2))");
  EXPECT_EQ(closed,
            R"({"wkb":"AQMAAAABAAAAAwAAAAAAAAAAAPA/AAAAAAAAAEAAAAAAAAAIQAAAAAAAABBAAAAAAAAA8D8AAAA)"
            R"(AAAAAQA==","srid":null,"extensions":{"type":"polygon"}})");
  EXPECT_EQ(Json(pgoutput::kPolygonOid, "((1,2),(3,4))"), closed);
  EXPECT_EQ(Json(pgoutput::kPolygonOid, "((1,2))"),
            R"({"wkb":"AQMAAAABAAAAAQAAAAAAAAAAAPA/AAAAAAAAAEA=","srid":null,)"
            R"("extensions":{"type":"polygon"}})");
}

TEST_F(GeometricDatumTest, AllButPointsAreOptional) {
  EXPECT_FALSE(IsOptional(pgoutput::kPointOid));
  EXPECT_TRUE(IsOptional(pgoutput::kBoxOid));
  EXPECT_TRUE(IsOptional(pgoutput::kCircleOid));
}

TEST_F(GeometricDatumTest, OtherTextIsAnError) {
  for (const char* text : {"", "()", "(1)", "(1,2,3)", "(1,x)", "1;2"}) {
    EXPECT_EQ(Json(pgoutput::kPointOid, text), "WR-3007") << text;
  }
  EXPECT_EQ(Json(pgoutput::kPolygonOid, "()"), "WR-3007");
  EXPECT_EQ(Json(pgoutput::kPathOid, "[(1,2),(3)]"), "WR-3007");
}

TEST_F(GeometricDatumTest, Debezium36KnowsOnlyPoints) {
  modes_.version = DebeziumVersion::k3_6;
  EXPECT_EQ(Json(pgoutput::kBoxOid, "(3,4),(1,2)"), "WR-3002");
  EXPECT_EQ(Json(pgoutput::kPointOid, "(0,0)"),
            R"({"x":0.0,"y":0.0,"wkb":"AQEAAAAAAAAAAAAAAAAAAAAAAAAA","srid":null})");
}

}  // namespace
}  // namespace walrelay
