#include "postgres/server_notice.h"

#include <gtest/gtest.h>

namespace walrelay {
namespace {

ServerNotice Warning(std::string_view sqlstate, std::string_view function,
                     std::string_view message = "") {
  return MeaningOf(
      {.severity = "WARNING", .sqlstate = sqlstate, .function = function, .message = message});
}

TEST(ServerNoticeTest, SkippedPublicationIsRecognizedInAnyLanguage) {
  EXPECT_EQ(Warning("55000", "LoadPublications", "skipped loading publication \"walrelay\""),
            ServerNotice::kPublicationSkipped);
  EXPECT_EQ(Warning("55000", "LoadPublications", "Publikation wird nicht geladen"),
            ServerNotice::kPublicationSkipped);
  EXPECT_EQ(Warning("55000", "", "skipped loading publication \"walrelay\""),
            ServerNotice::kPublicationSkipped);
}

// The codes of its warnings: no such slot and a logical one; invalidated and without a reader.
TEST(ServerNoticeTest, AwaitedStandbyIsNotASkippedPublication) {
  for (const char* sqlstate : {"22023", "55000"}) {
    EXPECT_EQ(Warning(sqlstate, "StandbySlotsHaveCaughtup",
                      "replication slot \"standby\" specified in parameter "
                      "\"synchronized_standby_slots\" does not have active_pid"),
              ServerNotice::kStandbyAwaited)
        << sqlstate;
  }
}

TEST(ServerNoticeTest, AnyOtherMessageMeansNothing) {
  EXPECT_EQ(Warning("55000", "SomeOtherFunction"), ServerNotice::kOther);
  EXPECT_EQ(Warning("55000", ""), ServerNotice::kOther);
  EXPECT_EQ(Warning("01000", "LoadPublications"), ServerNotice::kOther);
  EXPECT_EQ(
      MeaningOf(
          {.severity = "LOG", .sqlstate = "55000", .function = "LoadPublications", .message = ""}),
      ServerNotice::kOther);
}

}  // namespace
}  // namespace walrelay
