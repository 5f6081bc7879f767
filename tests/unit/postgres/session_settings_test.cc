#include "postgres/session_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "fakes/status_matchers.h"

namespace walrelay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr ConnectionPurpose kPurposes[] = {ConnectionPurpose::kReplication, ConnectionPurpose::kSql,
                                           ConnectionPurpose::kSetup};

// A session with the required settings, except those that a test changes.
class CheckSettingsTest : public ::testing::Test {
 protected:
  absl::Status Check(ConnectionPurpose purpose) {
    return CheckSessionSettings(purpose,
                                [&](std::string_view name) -> std::optional<std::string_view> {
                                  if (const auto it = changed_.find(name); it != changed_.end()) {
                                    return it->second;
                                  }
                                  for (const SessionSetting& setting : SessionSettings()) {
                                    if (setting.name == name && setting.IsFor(purpose)) {
                                      return setting.shown;
                                    }
                                  }
                                  return "whatever";
                                });
  }

  std::map<std::string, std::optional<std::string_view>, std::less<>> changed_;
};

TEST(SessionSettingsTest, EachSettingIsPinnedOncePerPurposeAndHasAReason) {
  for (const ConnectionPurpose purpose : kPurposes) {
    std::set<std::string_view> names;
    for (const SessionSetting& setting : SessionSettings()) {
      EXPECT_FALSE(setting.reason.empty()) << setting.name;
      if (setting.IsFor(purpose)) {
        EXPECT_TRUE(names.insert(setting.name).second) << setting.name;
      }
    }
    for (const char* name : {"search_path", "client_min_messages", "extra_float_digits",
                             "datestyle", "timezone", "row_security", "transaction_timeout"}) {
      EXPECT_TRUE(names.contains(name)) << name;
    }
  }
}

// A server rejects a connection with an unknown option.
TEST(SessionSettingsTest, SettingsUnknownToOldServersAreSetLater) {
  const std::string options = StartupSettings(ConnectionPurpose::kReplication);
  EXPECT_THAT(options, HasSubstr("-c search_path=pg_catalog"));
  EXPECT_THAT(options, HasSubstr("-c default_transaction_isolation=read\\ committed"));
  EXPECT_THAT(options, Not(HasSubstr("idle_session_timeout")));
  EXPECT_THAT(options, Not(HasSubstr("transaction_timeout=")));
  EXPECT_THAT(LaterSettings(ConnectionPurpose::kReplication, 130023), IsEmpty());
  EXPECT_THAT(LaterSettings(ConnectionPurpose::kSql, 160014),
              ElementsAre("SET idle_session_timeout = '0'"));
  EXPECT_THAT(LaterSettings(ConnectionPurpose::kReplication, 180004),
              ElementsAre("SET idle_session_timeout = '0'", "SET transaction_timeout = '0'"));
}

TEST(SessionSettingsTest, LaterSettingsCanBeColumnsOfAQuery) {
  EXPECT_EQ(LaterSettingColumns(ConnectionPurpose::kSql, 130023), "");
  EXPECT_EQ(LaterSettingColumns(ConnectionPurpose::kSql, 140000),
            ", pg_catalog.set_config('idle_session_timeout', '0', false)");
}

TEST(SessionSettingsTest, OnlySetupMayWrite) {
  EXPECT_THAT(StartupSettings(ConnectionPurpose::kSql),
              HasSubstr("-c default_transaction_read_only=on"));
  EXPECT_THAT(StartupSettings(ConnectionPurpose::kReplication),
              HasSubstr("-c default_transaction_read_only=on"));
  EXPECT_THAT(StartupSettings(ConnectionPurpose::kSetup),
              HasSubstr("-c default_transaction_read_only=off"));
}

TEST_F(CheckSettingsTest, SessionAsRequestedIsAccepted) {
  for (const ConnectionPurpose purpose : kPurposes) {
    EXPECT_THAT(Check(purpose), IsOk());
  }
}

TEST_F(CheckSettingsTest, EveryOtherValueIsRejectedAndNamed) {
  for (const ConnectionPurpose purpose : kPurposes) {
    for (const SessionSetting& setting : SessionSettings()) {
      if (setting.IsFor(purpose)) {
        changed_ = {{std::string(setting.name), "something else"}};
        const absl::Status status = Check(purpose);
        EXPECT_THAT(status, HasError(ErrorCode::kSessionSetting, std::string(setting.name)));
        EXPECT_THAT(MessageOf(status), HasSubstr("got \"something else\""));
      }
    }
  }
}

TEST_F(CheckSettingsTest, SettingUnknownToTheServerIsNotRequired) {
  changed_ = {{"transaction_timeout", std::nullopt}, {"idle_session_timeout", std::nullopt}};
  EXPECT_THAT(Check(ConnectionPurpose::kReplication), IsOk());
}

}  // namespace
}  // namespace walrelay
