#include "encode/progress_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "fakes/status_matchers.h"
#include "walrelay/progress/v1/progress.pb.h"

namespace walrelay {
namespace {

using progress::v1::Progress_Horizon;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Message = progress::v1::Progress;

// 2026-11-20T08:14:02.000123Z.
constexpr WallTime kCommitTime{Micros(1'795'162'442'000'123)};

Progress Sample() {
  return {
      .pipeline = "orders-eu",
      .system_id = "7391234567890123456",
      .timeline = 3,
      .ancestors = {{.timeline = 1, .end = Lsn(0x16'0000'0000)},
                    {.timeline = 2, .end = Lsn(0x16'A000'0000)}},
      .database = "shop",
      .database_oid = 16'384,
      .slot = "walrelay_orders",
      .cluster_id = "4L6g3nShT-eMCtK--X86sw",
      .generation = 2,
      .held = HeldGap{.code = ErrorCode::kServerBehind,
                      .id = "2202-5f3a9c01",
                      .reason = "its WAL ends at 16/B0000000",
                      .from = Lsn(0x16'B000'0000),
                      .to = Lsn(0x16'B374'D8F0)},
      .frontier = Lsn(0x16'B374'D8F0),
      .settled_before = Lsn(0x16'B374'D850),
      .last = {.commit_lsn = Lsn(0x16'B374'D848), .xid = 4'000'000'000, .commit_time = kCommitTime},
      .latest_commit = kCommitTime + std::chrono::minutes(1),
      .partial = {.transaction = {.commit_lsn = Lsn(0x16'B374'D900),
                                  .xid = 4'000'000'001,
                                  .commit_time = kCommitTime},
                  .row_lsn = Lsn(0x16'B374'0000),
                  .row_index = 70},
      .horizons = {{.xid = (uint64_t{1} << 32) + 7,
                    .insert_lsn = Lsn(0x16'B000'0000),
                    .taken = kCommitTime - std::chrono::hours(1)},
                   {.xid = (uint64_t{1} << 32) + 9,
                    .insert_lsn = Lsn(0x16'B300'0000),
                    .taken = kCommitTime}},
      .published_from = {.xid = (uint64_t{1} << 32) + 3,
                         .taken = kCommitTime - std::chrono::hours(2)},
      .publication = 0xFEDC'BA98'7654'3210,
      .seen_publication =
          SeenPublication{
              .name = "walrelay",
              .state = {.identity = {.oid = 16'400,
                                     .xmin = 700,
                                     .owner = 10,
                                     .all_tables = true,
                                     .tables = {{.name = "public.outbox",
                                                 .oid = 16'390,
                                                 .owner = 11,
                                                 .renamed_by = 690,
                                                 .memberships = {{16'401, 701}, {16'402, 702}}}}},
                        .before = Lsn(0x16'B374'0000),
                        .after = Lsn()}},
      .run_id = "b3b0c442",
      .sequence = 41,
      .written = kCommitTime + std::chrono::seconds(1),
      .version = "1.4.0"};
}

// Decodes the sample after a change to its message.
absl::StatusOr<Progress> DecodeChanged(const std::function<void(Message&)>& change) {
  Message message;
  EXPECT_TRUE(message.ParseFromString(EncodeProgress(Sample())));
  change(message);
  return DecodeProgress(message.SerializeAsString());
}

TEST(ProgressCodecTest, EachMemberIsPreserved) {
  const Progress expected = Sample();
  const auto decoded = DecodeProgress(EncodeProgress(expected));
  ASSERT_THAT(decoded, IsOk());
  EXPECT_EQ(decoded->pipeline, expected.pipeline);
  EXPECT_EQ(decoded->system_id, expected.system_id);
  EXPECT_EQ(decoded->timeline, expected.timeline);
  ASSERT_THAT(decoded->ancestors, SizeIs(2));
  EXPECT_EQ(decoded->ancestors[0].timeline, 1u);
  EXPECT_EQ(decoded->ancestors[0].end, expected.ancestors[0].end);
  EXPECT_EQ(decoded->ancestors[1].timeline, 2u);
  EXPECT_EQ(decoded->ancestors[1].end, expected.ancestors[1].end);
  EXPECT_EQ(decoded->database, expected.database);
  EXPECT_EQ(decoded->slot, expected.slot);
  EXPECT_EQ(decoded->generation, expected.generation);
  EXPECT_EQ(decoded->held, expected.held);
  EXPECT_EQ(decoded->frontier, expected.frontier);
  EXPECT_EQ(decoded->settled_before, expected.settled_before);
  EXPECT_EQ(decoded->database_oid, expected.database_oid);
  EXPECT_EQ(decoded->cluster_id, expected.cluster_id);
  EXPECT_EQ(decoded->last, expected.last);
  EXPECT_THAT(decoded->horizons, ElementsAre(expected.horizons[0], expected.horizons[1]));
  EXPECT_EQ(decoded->published_from, expected.published_from);
  EXPECT_EQ(decoded->latest_commit, expected.latest_commit);
  EXPECT_EQ(decoded->partial, expected.partial);
  ASSERT_TRUE(decoded->seen_publication);
  EXPECT_EQ(decoded->seen_publication->name, expected.seen_publication->name);
  EXPECT_EQ(decoded->seen_publication->state.identity, expected.seen_publication->state.identity);
  EXPECT_EQ(decoded->seen_publication->state.before, expected.seen_publication->state.before);
  EXPECT_EQ(decoded->run_id, expected.run_id);
  EXPECT_EQ(decoded->sequence, expected.sequence);
  EXPECT_EQ(decoded->written, expected.written);
  EXPECT_EQ(decoded->version, expected.version);
}

TEST(ProgressCodecTest, ARecordOfAnEarlierVersionKnowsEverythingBeforeItsFrontier) {
  const auto decoded = DecodeChanged([](Message& message) {
    message.clear_settled_before();
    message.clear_commit_lsn();
    message.clear_latest_commit_us();
  });
  ASSERT_THAT(decoded, IsOk());
  EXPECT_EQ(decoded->settled_before, decoded->frontier);
  EXPECT_EQ(decoded->latest_commit, WallTime::max());
}

// Earlier versions wrote the field only for records without a last transaction.
TEST(ProgressCodecTest, ARecordOfAnEarlierVersionSettlesItsLastTransaction) {
  auto decoded = DecodeChanged([](Message& message) { message.set_settled_before(1); });
  ASSERT_THAT(decoded, IsOk());
  EXPECT_EQ(decoded->settled_before, decoded->last.behind());
  decoded = DecodeChanged([](Message& message) { message.clear_settled_before(); });
  ASSERT_THAT(decoded, IsOk());
  EXPECT_EQ(decoded->settled_before, decoded->last.behind());
}

TEST(ProgressCodecTest, RecordOfAnUnusedSlotIsPreserved) {
  const auto decoded = DecodeProgress(EncodeProgress({.pipeline = "orders"}));
  ASSERT_THAT(decoded, IsOk());
  EXPECT_EQ(decoded->frontier, Lsn());
  EXPECT_FALSE(decoded->last.valid());
  EXPECT_FALSE(decoded->partial.valid());
  EXPECT_THAT(decoded->horizons, IsEmpty());
  EXPECT_FALSE(decoded->published_from.valid());
}

// The numbers are a published contract.
TEST(ProgressCodecTest, OtherProgramsReadTheRecord) {
  Message message;
  ASSERT_TRUE(message.ParseFromString(EncodeProgress(Sample())));
  EXPECT_EQ(message.format(), 1u);
  EXPECT_EQ(message.frontier(), 0x16'B374'D8F0u);
  EXPECT_EQ(message.commit_lsn(), 0x16'B374'D848u);
  EXPECT_EQ(message.commit_time_us(), 1'795'162'442'000'123);
  EXPECT_EQ(message.partial_row_lsn(), 0x16'B374'0000u);
  EXPECT_EQ(message.partial_row_index(), 70u);
  EXPECT_EQ(message.settled_before(), 0x16'B374'D850u);
  EXPECT_EQ(message.latest_commit_us(), 1'795'162'502'000'123);
  EXPECT_EQ(message.horizons(0).xid(), (uint64_t{1} << 32) + 7);
  EXPECT_EQ(message.published_from_xid(), (uint64_t{1} << 32) + 3);
}

TEST(ProgressCodecTest, LaterFormatIsNotUsed) {
  EXPECT_THAT(DecodeChanged([](Message& message) { message.set_format(2); }),
              HasError(ErrorCode::kProgressUnreadable, "format 2"));
}

TEST(ProgressCodecTest, UnknownMembersOfTheSameFormatAreIgnored) {
  const std::string later = EncodeProgress(Sample()) + "\xaa\x06\x03" + "new";  // number 101
  const auto decoded = DecodeProgress(later);
  ASSERT_THAT(decoded, IsOk());
  EXPECT_EQ(decoded->frontier, Sample().frontier);
}

TEST(ProgressCodecTest, OtherValuesAreNoRecord) {
  EXPECT_THAT(DecodeProgress(""), HasError(ErrorCode::kProgressUnreadable, "no format number"));
  EXPECT_THAT(DecodeProgress("{\"frontier\": 7}"), HasError(ErrorCode::kProgressUnreadable));
  EXPECT_THAT(DecodeProgress(std::string(100, '\0')), HasError(ErrorCode::kProgressUnreadable));
  EXPECT_THAT(DecodeProgress(std::string(70'000, 'x')),
              HasError(ErrorCode::kProgressUnreadable, "70000 bytes"));
}

TEST(ProgressCodecTest, DamagedRecordIsRejectedOrWellFormed) {
  const std::string value = EncodeProgress(Sample());
  for (size_t i = 0; i < value.size(); ++i) {
    const auto truncated = DecodeProgress(std::string_view(value).substr(0, i));
    EXPECT_TRUE(truncated.ok() || HasCode(truncated.status(), ErrorCode::kProgressUnreadable));
    std::string changed = value;
    changed[i] = static_cast<char>(changed[i] ^ 0xff);
    const auto decoded = DecodeProgress(changed);
    EXPECT_TRUE(decoded.ok() ? DecodeProgress(EncodeProgress(*decoded)).ok()
                             : HasCode(decoded.status(), ErrorCode::kProgressUnreadable));
  }
}

TEST(ProgressCodecTest, TextIsBoundedAndPrintable) {
  EXPECT_THAT(DecodeChanged([](Message& message) { message.set_slot(std::string(1025, 'x')); }),
              HasError(ErrorCode::kProgressUnreadable, "slot: 1025 bytes"));
  EXPECT_THAT(
      DecodeChanged([](Message& message) { message.set_run_id("a\x1b[2J"); }),
      HasError(ErrorCode::kProgressUnreadable, "run_id: control characters in \"a\\x1b[2J"));
  EXPECT_THAT(DecodeChanged([](Message& message) { message.set_database("caf\u00e9"); }), IsOk());
}

// A database with encoding SQL_ASCII may have such a name.
TEST(ProgressCodecTest, TextThatIsNotUtf8IsEscaped) {
  Progress progress = Sample();
  progress.database = "caf\xe9\n";
  progress.pipeline = std::string(5000, '\x7f');
  const auto decoded = DecodeProgress(EncodeProgress(progress));
  ASSERT_THAT(decoded, IsOk());
  EXPECT_EQ(decoded->database, "caf\\xe9\\x0a");
}

TEST(ProgressCodecTest, TimesThatCannotBePrintedAreRejected) {
  EXPECT_THAT(DecodeChanged([](Message& message) { message.set_written_us(INT64_MAX); }),
              HasError(ErrorCode::kProgressUnreadable, "written_us"));
  EXPECT_THAT(DecodeChanged([](Message& message) { message.set_commit_time_us(INT64_MIN); }),
              HasError(ErrorCode::kProgressUnreadable, "commit_time_us"));
  EXPECT_THAT(
      DecodeChanged([](Message& message) { message.mutable_horizons(1)->set_taken_us(INT64_MAX); }),
      HasError(ErrorCode::kProgressUnreadable, "horizons.taken_us"));
}

TEST(ProgressCodecTest, HorizonsAreFewAndAscending) {
  EXPECT_THAT(DecodeChanged([](Message& message) { message.mutable_horizons(1)->set_xid(1); }),
              HasError(ErrorCode::kProgressUnreadable, "ascending"));
  const auto add = [](Message& message) {
    *message.add_horizons() = Progress_Horizon(message.horizons(1));
  };
  EXPECT_THAT(DecodeChanged([&](Message& message) {
                add(message);
                add(message);
              }),
              IsOk());
  EXPECT_THAT(DecodeChanged([&](Message& message) {
                add(message);
                add(message);
                add(message);
              }),
              HasError(ErrorCode::kProgressUnreadable, "5 horizons"));
}

// A later version may know gaps that this one does not: they are held as well.
TEST(ProgressCodecTest, AGapThatThisVersionDoesNotKnowCannotBeIgnored) {
  for (const uint32_t code : {0u, 2102u, 9999u}) {
    EXPECT_THAT(DecodeChanged([&](Message& message) { message.mutable_held()->set_code(code); }),
                HasError(ErrorCode::kProgressUnreadable, "is not the code of a gap"));
  }
  EXPECT_THAT(DecodeChanged([](Message& message) { message.mutable_held()->set_id("\n"); }),
              HasError(ErrorCode::kProgressUnreadable, "held.id"));
  const auto none = DecodeChanged([](Message& message) { message.clear_held(); });
  ASSERT_THAT(none, IsOk());
  EXPECT_FALSE(none->held);
}

// A part of it would prove less than none: a table that is missing counts as new.
TEST(ProgressCodecTest, APublicationIsRecordedAsAWholeOrNotAtAll) {
  const auto recorded = [](const std::function<void(PublicationIdentity&)>& change) {
    Progress progress = Sample();
    change(progress.seen_publication->state.identity);
    const auto decoded = DecodeProgress(EncodeProgress(progress));
    EXPECT_THAT(decoded, IsOk());
    return decoded->seen_publication.has_value();
  };
  const auto tables = [](size_t count) {
    return [count](PublicationIdentity& publication) {
      publication.tables.resize(count, publication.tables.front());
    };
  };
  const auto memberships = [](size_t count) {
    return [count](PublicationIdentity& publication) {
      publication.tables.front().memberships.resize(count, {1, 2});
    };
  };
  EXPECT_TRUE(recorded(tables(64)));
  EXPECT_FALSE(recorded(tables(65)));
  EXPECT_TRUE(recorded(memberships(16)));
  EXPECT_FALSE(recorded(memberships(17)));
  EXPECT_FALSE(recorded([](PublicationIdentity& publication) {
    publication.tables.front().name = "public.caf\xe9";
  }));
  EXPECT_THAT(DecodeChanged([](Message& message) {
                auto& publication = *message.mutable_seen_publication();
                while (publication.tables_size() <= 64) {
                  publication.add_tables();
                }
              }),
              HasError(ErrorCode::kProgressUnreadable, "65 tables"));
  EXPECT_THAT(DecodeChanged([](Message& message) {
                auto& table = *message.mutable_seen_publication()->mutable_tables(0);
                while (table.memberships_size() <= 16) {
                  table.add_memberships();
                }
              }),
              HasError(ErrorCode::kProgressUnreadable, "17 memberships"));
}

TEST(ProgressCodecTest, AncestorsAreBounded) {
  EXPECT_THAT(DecodeChanged([](Message& message) {
                while (message.ancestors_size() <= 1000) {
                  message.add_ancestors()->set_timeline(1);
                }
              }),
              HasError(ErrorCode::kProgressUnreadable, "1001 ancestors"));
  Progress progress = Sample();
  progress.ancestors.clear();
  for (uint32_t timeline = 1; timeline <= 1001; ++timeline) {
    progress.ancestors.push_back({.timeline = timeline, .end = Lsn(UINT64_MAX)});
  }
  const auto decoded = DecodeProgress(EncodeProgress(progress));
  ASSERT_THAT(decoded, IsOk());
  ASSERT_THAT(decoded->ancestors, SizeIs(1000));
  EXPECT_EQ(decoded->ancestors.front().timeline, 2u);
  EXPECT_EQ(decoded->ancestors.back().timeline, 1001u);
}

TEST(ProgressCodecTest, GenerationOutweighsTimelineAndTimelineOutweighsFrontier) {
  const auto order = [](uint64_t generation, uint32_t timeline, uint64_t frontier) {
    return Progress{.timeline = timeline, .generation = generation, .frontier = Lsn(frontier)}
        .Order();
  };
  EXPECT_LT(order(1, 9, 9), order(2, 1, 1));
  EXPECT_LT(order(1, 1, 9), order(1, 2, 1));
  EXPECT_LT(order(1, 1, 1), order(1, 1, 2));
}

// A gap outlives what an instance that does not know of it records in the same generation.
TEST(ProgressCodecTest, AGapIsHeldInItsGeneration) {
  const Progress found{.generation = 1,
                       .held = HeldGap{.code = ErrorCode::kServerBehind, .id = "2202-1"},
                       .frontier = Lsn(100)};
  const Progress later{.generation = 1, .frontier = Lsn(200)};
  const Progress accepted{.generation = 2, .frontier = Lsn(50)};
  const auto read = [](const std::vector<Progress>& versions) {
    Progress record = versions.front();
    for (const Progress& version : versions) {
      record.Add(version);
    }
    return record;
  };
  for (const auto& versions : {std::vector{found, later}, std::vector{later, found}}) {
    EXPECT_EQ(read(versions).frontier, Lsn(200));
    EXPECT_EQ(read(versions).held, found.held);
  }
  for (const auto& versions : {std::vector{found, accepted}, std::vector{accepted, found},
                               std::vector{later, accepted, found}}) {
    EXPECT_EQ(read(versions).frontier, Lsn(50));
    EXPECT_FALSE(read(versions).held);
  }
}

// A restored server: the transaction commits before the frontier that was recorded.
TEST(ProgressCodecTest, AWholeTransactionFollowsItsFirstRows) {
  const Progress in_part{.frontier = Lsn(900),
                         .last = {.commit_lsn = Lsn(100)},
                         .partial = {.transaction = {.commit_lsn = Lsn(200)}, .row_lsn = Lsn(150)}};
  const Progress whole{.frontier = Lsn(900), .last = {.commit_lsn = Lsn(200)}};
  EXPECT_LT(in_part.Order(), whole.Order());
}

}  // namespace
}  // namespace walrelay
