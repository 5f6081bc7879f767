#include "stream/publication_change.h"

#include <gtest/gtest.h>

#include <utility>

namespace walrelay {
namespace {

class PublicationChangeTest : public ::testing::Test {
 protected:
  PublicationChangeTest() {
    before_ = {.oid = 100, .xmin = 700, .owner = 10};
    before_.tables = {{.name = "public.outbox",
                       .oid = 500,
                       .owner = 10,
                       .renamed_by = 690,
                       .memberships = {{101, 700}}}};
    now_ = before_;
  }
  std::string Change() const { return HidingChange(before_, now_); }
  TableIdentity& table() { return now_.tables[0]; }

  PublicationIdentity before_;
  PublicationIdentity now_;
};

TEST_F(PublicationChangeTest, SameIdentityHidesNoRows) {
  EXPECT_EQ(Change(), "");
}

TEST_F(PublicationChangeTest, ChangeThatHidesRowsIsNamed) {
  const std::pair<const char*, void (*)(PublicationIdentity&)> changes[] = {
      {"the publication no longer exists", [](auto& now) { now.oid = 0; }},
      {"the publication was recreated", [](auto& now) { now.oid = 102; }},
      {"the publication was altered", [](auto& now) { now.xmin = 710; }},
      {"table public.outbox no longer exists", [](auto& now) { now.tables[0].oid = 0; }},
      {"table public.outbox was recreated",
       [](auto& now) {
         now.tables[0].oid = 501;
         now.tables[0].memberships = {{103, 711}};
       }},
      {"table public.outbox was removed from the publication",
       [](auto& now) { now.tables[0].memberships.clear(); }},
      {"table public.outbox was removed from the publication and added again",
       [](auto& now) {
         now.tables[0].memberships = {{104, 712}};
       }},
      {"table public.outbox was renamed or moved, and changed back",
       [](auto& now) { now.tables[0].renamed_by = 713; }},
      {"table public.outbox is now unlogged", [](auto& now) { now.tables[0].unlogged = true; }},
  };
  for (const auto& [words, change] : changes) {
    now_ = before_;
    change(now_);
    EXPECT_EQ(Change(), words);
  }
}

TEST_F(PublicationChangeTest, LeafThatIsNotSentIsNamed) {
  const std::pair<LeafStream, std::string> causes[] = {
      {LeafStream::kUnlogged, "public.p1 is unlogged (of table public.outbox)"},
      {LeafStream::kForeign, "public.p1 is a foreign table (of table public.outbox)"},
      {LeafStream::kUnpublished, "public.p1 is not in the publication (of table public.outbox)"},
      {LeafStream::kOtherName,
       "public.p1 is sent under a name that is not configured (of table public.outbox)"}};
  for (const auto& [stream, words] : causes) {
    table().unsent = {{.oid = 600, .name = "public.p1", .stream = stream}};
    EXPECT_EQ(Change(), words);
    EXPECT_NE(PublicationFingerprint(now_), PublicationFingerprint(before_));
  }
  before_ = now_;
  table().unsent[0].attached_by = 712;
  EXPECT_EQ(Change(), "");
}

TEST_F(PublicationChangeTest, StorageThatWasWrittenAgainHidesNoRowsAndProvesNothing) {
  before_.tables[0].rewritten = {{600, 610}};
  now_ = before_;
  EXPECT_FALSE(WroteAgain(before_, now_));
  table().rewritten.clear();  // the leaf was dropped
  EXPECT_FALSE(WroteAgain(before_, now_));
  table().rewritten = {{600, 611}};
  EXPECT_TRUE(WroteAgain(before_, now_));
  EXPECT_EQ(Change(), "");
  EXPECT_NE(PublicationFingerprint(now_), PublicationFingerprint(before_));
}

TEST_F(PublicationChangeTest, ChangeOfOwnerHidesNoRows) {
  now_.xmin = 710;
  now_.owner = 11;
  table().owner = 11;
  table().renamed_by = 711;
  EXPECT_EQ(Change(), "");
}

TEST_F(PublicationChangeTest, UnchangedMembershipCoversTheTable) {
  before_.tables[0].memberships = {{101, 700}, {120, 701}};  // the table itself, and its schema
  now_ = before_;
  table().memberships = {{120, 701}};
  EXPECT_EQ(Change(), "");
  table().memberships = {{120, 701}, {130, 720}};
  EXPECT_EQ(Change(), "");
}

TEST_F(PublicationChangeTest, TableRecreatedUnderACoveringPublicationHidesNoRows) {
  before_.all_tables = now_.all_tables = true;
  before_.tables[0].memberships.clear();
  table().memberships.clear();
  table().oid = 501;
  table().renamed_by = 711;
  EXPECT_EQ(Change(), "");
  before_.all_tables = now_.all_tables = false;
  before_.tables[0].memberships = table().memberships = {{120, 701}};  // its schema
  EXPECT_EQ(Change(), "");
}

TEST_F(PublicationChangeTest, RenamedTableOfAnAllTablesPublicationIsNamed) {
  before_.all_tables = now_.all_tables = true;
  table().renamed_by = 711;
  EXPECT_EQ(Change(), "table public.outbox was renamed or moved, and changed back");
}

// As after a change of the configuration.
TEST_F(PublicationChangeTest, TablesAreComparedByName) {
  const TableIdentity second{.name = "public.second", .oid = 600, .memberships = {{106, 700}}};
  now_.tables.insert(now_.tables.begin(), second);
  EXPECT_EQ(Change(), "");
  std::swap(now_, before_);
  EXPECT_EQ(Change(), "");
  now_ = before_;
  std::swap(now_.tables[0], now_.tables[1]);
  EXPECT_EQ(Change(), "");
  now_.tables[0].memberships.clear();
  EXPECT_EQ(Change(), "table public.outbox was removed from the publication");
  now_.tables = {second};
  before_.tables.pop_back();
  EXPECT_EQ(Change(), "");
}

TEST_F(PublicationChangeTest, FingerprintIsOfWhatDecidesWhichRowsArePublished) {
  EXPECT_EQ(PublicationFingerprint(now_), PublicationFingerprint(before_));
  EXPECT_NE(PublicationFingerprint({}), 0u);
  now_.owner = table().owner = 11;
  EXPECT_EQ(PublicationFingerprint(now_), PublicationFingerprint(before_));
  table().memberships[0].xmin = 701;
  EXPECT_NE(PublicationFingerprint(now_), PublicationFingerprint(before_));
  now_ = before_;
  now_.xmin = 701;
  EXPECT_NE(PublicationFingerprint(now_), PublicationFingerprint(before_));
  now_ = before_;
  table().unlogged = true;
  EXPECT_NE(PublicationFingerprint(now_), PublicationFingerprint(before_));
}

}  // namespace
}  // namespace walrelay
