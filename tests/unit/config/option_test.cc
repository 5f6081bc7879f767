// Tests the table of options itself; loader_test.cc tests how its rows handle values.
#include "config/option.h"

#include <gtest/gtest.h>

#include <set>

#include "fakes/status_matchers.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

constexpr OptionType kTypes[] = {OptionType::kString,  OptionType::kSecret,   OptionType::kBoolean,
                                 OptionType::kInteger, OptionType::kDuration, OptionType::kSize,
                                 OptionType::kList,    OptionType::kNames,    OptionType::kChoice};

TEST(OptionTest, EachOptionIsUniqueAndFoundByName) {
  std::set<std::string> names;
  for (const Option& option : Options()) {
    EXPECT_TRUE(names.insert(option.Name()).second) << option.Name();
    EXPECT_EQ(FindOption(option.section, option.key), &option);
  }
}

TEST(OptionTest, UnknownOptionsAreNotFound) {
  EXPECT_EQ(FindOption("source", "slott"), nullptr);
  EXPECT_EQ(FindOption("kafka", "slot"), nullptr);
  EXPECT_EQ(FindOption("", ""), nullptr);
}

TEST(OptionTest, OnlyChoiceOptionsHaveChoices) {
  for (const Option& option : Options()) {
    EXPECT_EQ(option.type == OptionType::kChoice, !option.choices.empty()) << option.Name();
  }
}

TEST(OptionTest, EveryTypeHasAName) {
  std::set<std::string_view> names;
  for (const OptionType type : kTypes) {
    EXPECT_TRUE(names.insert(TypeName(type)).second) << TypeName(type);
    EXPECT_NE(TypeName(type), "?");
  }
}

// Every option rejects values of another type, and keeps its value.
TEST(OptionTest, ValueOfTheWrongTypeIsRejected) {
  for (const Option& option : Options()) {
    Config config;
    const std::string before = option.show(config);
    const bool list = option.type == OptionType::kList || option.type == OptionType::kNames;
    const RawValue wrong = list ? RawValue(true) : RawValue(std::vector<std::string>{"a"});
    EXPECT_THAT(option.set(config, wrong), HasError(ErrorCode::kConfigValue)) << option.Name();
    if (option.section != "source.columns") {  // there "auto" and "" have different meanings
      EXPECT_EQ(option.show(config), before);
    }
  }
}

TEST(OptionTest, SecretsAreNeverShown) {
  for (const Option& option : Options()) {
    if (option.type == OptionType::kSecret) {
      Config config;
      EXPECT_EQ(option.show(config), "\"\"");
      EXPECT_THAT(option.set(config, RawValue(std::string("hunter2"))), IsOk());
      EXPECT_EQ(option.show(config), "\"***\"") << option.Name();
    }
  }
}

// C libraries would truncate the value at the zero byte.
TEST(OptionTest, ZeroByteIsRejected) {
  for (const char* key : {"dsn", "password", "slot"}) {
    Config config;
    EXPECT_THAT(FindOption("source", key)->set(config, RawValue(std::string("a\0b", 3))),
                HasError(ErrorCode::kConfigValue, "zero byte"));
  }
}

TEST(OptionTest, TextIsParsedByTheTypeOfTheOption) {
  EXPECT_EQ(FromText(OptionType::kString, "true").value(), RawValue(std::string("true")));
  EXPECT_EQ(FromText(OptionType::kBoolean, "true").value(), RawValue(true));
  EXPECT_EQ(FromText(OptionType::kInteger, "-7").value(), RawValue(int64_t{-7}));
  EXPECT_EQ(FromText(OptionType::kList, "a,,b").value(),
            RawValue(std::vector<std::string>{"a", "", "b"}));
  for (const char* number : {"", " 1", "1 ", "+1", "0x1", "1e3", "9223372036854775808"}) {
    EXPECT_THAT(FromText(OptionType::kInteger, number), HasError(ErrorCode::kConfigValue))
        << number;
  }
}

}  // namespace
}  // namespace walrelay
