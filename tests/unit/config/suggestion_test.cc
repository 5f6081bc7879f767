#include "config/suggestion.h"

#include <gtest/gtest.h>

#include <array>

namespace walrelay {
namespace {

std::string NearestTo(std::string_view name) {
  const Option* option = NearestOption(name);
  return option == nullptr ? "" : option->Name();
}

std::string CorrectionOf(std::string_view option, const RawValue& value) {
  return Correction(*FindOption(option), value);
}

TEST(SuggestionTest, OnlyANearNameIsSuggested) {
  constexpr std::array<std::string_view, 2> kNames = {"slot", "publication"};
  EXPECT_EQ(DidYouMean("slott", kNames), "; did you mean \"slot\"?");
  EXPECT_EQ(DidYouMean("colour", kNames), "");
}

TEST(SuggestionTest, OptionIsFoundByItsSpellingOrByItsKey) {
  EXPECT_EQ(NearestTo("source.slott"), "source.slot");
  EXPECT_EQ(NearestTo("compression"), "kafka.compression");
  EXPECT_EQ(NearestTo("compresion"), "kafka.compression");
  EXPECT_EQ(NearestTo("source.compression"), "kafka.compression");
  EXPECT_EQ(NearestTo("kafka.slot"), "source.slot");
  EXPECT_EQ(NearestTo("nonsense"), "");
  EXPECT_EQ(NearestTo("log.colour"), "");
  EXPECT_EQ(NearestTo(""), "");
}

TEST(SuggestionTest, ValueIsCorrected) {
  EXPECT_EQ(CorrectionOf("kafka.compression", "lz5"), "; did you mean \"lz4\"?");
  EXPECT_EQ(CorrectionOf("kafka.compression", "brotli"), "");
  EXPECT_EQ(CorrectionOf("on_error.null_key", "dlq"), "; did you mean \"dead_letter\"?");
  EXPECT_EQ(CorrectionOf("pipeline.drain_timeout", "25 sec"), "; did you mean \"25s\"?");
  EXPECT_EQ(CorrectionOf("pipeline.drain_timeout", int64_t{25}), "; did you mean \"25s\"?");
  EXPECT_EQ(CorrectionOf("pipeline.drain_timeout", "soon"), "");
  EXPECT_EQ(CorrectionOf("kafka.max_record_bytes", "1 MB"), "; did you mean \"1MiB\"?");
  EXPECT_EQ(CorrectionOf("source.create_slot", "yes"), "; did you mean \"true\"?");
  EXPECT_EQ(CorrectionOf("source.create_slot", "maybe"), "");
  EXPECT_NE(CorrectionOf("format.value", "avro").find("from-debezium.md"), std::string::npos);
}

TEST(SuggestionTest, SecretIsNotRepeated) {
  EXPECT_EQ(CorrectionOf("source.password", int64_t{25}), "");
  EXPECT_EQ(CorrectionOf("source.dsn", "hunter2"), "");
}

}  // namespace
}  // namespace walrelay
