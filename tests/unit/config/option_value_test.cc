#include "config/option_value.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "config/toml_writer.h"
#include "fakes/status_matchers.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

using std::chrono::milliseconds;

// The value that `raw` is taken as, or the default of its type after an error.
template <typename T>
T Taken(const RawValue& raw) {
  T out{};
  EXPECT_THAT(ParseInto(raw, out), IsOk());
  return out;
}
template <typename T>
absl::Status Refusal(const RawValue& raw) {
  T out{};
  return ParseInto(raw, out);
}

TEST(OptionValueTest, TextIsConvertedByType) {
  EXPECT_EQ(std::get<bool>(*FromText(OptionType::kBoolean, "true")), true);
  EXPECT_EQ(std::get<int64_t>(*FromText(OptionType::kInteger, "42")), 42);
  EXPECT_EQ(std::get<std::string>(*FromText(OptionType::kDuration, "5s")), "5s");
  EXPECT_EQ(std::get<std::vector<std::string>>(*FromText(OptionType::kList, "a,b")),
            (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(std::get<std::vector<std::string>>(*FromText(OptionType::kList, "")),
            std::vector<std::string>());
}

// One name is text, so that "" can stand for no column.
TEST(OptionValueTest, NamesAreATextOrAList) {
  using List = std::vector<std::string>;
  EXPECT_EQ(Taken<ColumnNames>(*FromText(OptionType::kNames, "a")), "a");
  EXPECT_EQ(Taken<ColumnNames>(*FromText(OptionType::kNames, "")), ColumnNames());
  EXPECT_EQ(Taken<ColumnNames>(*FromText(OptionType::kNames, "b,a")), ColumnNames(List{"b", "a"}));
  EXPECT_EQ(ToToml(ColumnNames(List{"b", "a"})), R"(["b", "a"])");
  EXPECT_EQ(ToToml(ColumnNames(List{"a"})), R"("a")");
  EXPECT_EQ(ToToml(ColumnNames()), R"("")");
  for (const List& list : {List{}, List{""}, List{"a", ""}, List{"a", "a"}}) {
    EXPECT_THAT(Refusal<ColumnNames>(list),
                HasError(ErrorCode::kConfigValue, "a list of distinct names"));
  }
  EXPECT_THAT(Refusal<ColumnNames>(List{std::string("a\0", 2)}),
              HasError(ErrorCode::kConfigValue, "zero byte"));
}

TEST(OptionValueTest, TextOfAnotherTypeIsRefused) {
  for (const char* text : {"", "yes", "TRUE", "1"}) {
    EXPECT_THAT(FromText(OptionType::kBoolean, text), HasError(ErrorCode::kConfigValue)) << text;
  }
  for (const char* text : {"", "x", "1x", "99999999999999999999"}) {
    EXPECT_THAT(FromText(OptionType::kInteger, text), HasError(ErrorCode::kConfigValue)) << text;
  }
}

TEST(OptionValueTest, ValueIsTakenAsItsType) {
  EXPECT_EQ(Taken<std::string>("x"), "x");
  EXPECT_EQ(Taken<std::optional<ColumnNames>>("x"), "x");
  EXPECT_EQ(Taken<std::optional<ColumnNames>>(""), ColumnNames());
  EXPECT_EQ(Taken<Secret>("x").Reveal(), "x");
  EXPECT_EQ(Taken<bool>(true), true);
  EXPECT_EQ(Taken<int64_t>(int64_t{7}), 7);
  EXPECT_EQ(Taken<Micros>("250ms"), milliseconds(250));
  EXPECT_EQ(Taken<OnGap>("exit"), OnGap::kExit);
}

TEST(OptionValueTest, ValueOfAnotherTypeIsRefused) {
  EXPECT_THAT(Refusal<std::string>(true), HasError(ErrorCode::kConfigValue, "expected a string"));
  EXPECT_THAT(Refusal<std::string>(std::string("a\0b", 3)),
              HasError(ErrorCode::kConfigValue, "zero byte"));
  EXPECT_THAT(Refusal<bool>("true"), HasError(ErrorCode::kConfigValue));
  EXPECT_THAT(Refusal<int64_t>(int64_t{0}), HasError(ErrorCode::kConfigValue, "from 1 up"));
  EXPECT_THAT(Refusal<Micros>("5"), HasError(ErrorCode::kConfigValue, "a duration"));
  EXPECT_THAT(Refusal<Micros>(int64_t{5}), HasError(ErrorCode::kConfigValue, "a duration"));
  EXPECT_THAT(Refusal<std::vector<std::string>>("a"), HasError(ErrorCode::kConfigValue, "a list"));
  EXPECT_THAT(Refusal<OnGap>("leave"), HasError(ErrorCode::kConfigValue));
}

TEST(OptionValueTest, ValuesAreShownAsToml) {
  EXPECT_EQ(ToToml(std::string("a\"b")), R"("a\"b")");
  EXPECT_EQ(ToToml(std::optional<std::string>()), "auto");
  EXPECT_EQ(ToToml(std::optional<std::string>("x")), R"("x")");
  EXPECT_EQ(ToToml(true), "true");
  EXPECT_EQ(ToToml(int64_t{7}), "7");
  EXPECT_EQ(ToToml(Micros(milliseconds(1500))), R"("1500ms")");
  EXPECT_EQ(ToToml(std::vector<std::string>{"a", "b"}), R"(["a", "b"])");
  EXPECT_EQ(ToToml(OnGap::kExit), R"("exit")");
}

TEST(OptionValueTest, SecretsAreMasked) {
  EXPECT_EQ(ToToml(Secret("hush")), "\"***\"");
  EXPECT_EQ(ToToml(Secret()), "\"\"");
}

}  // namespace
}  // namespace walrelay
