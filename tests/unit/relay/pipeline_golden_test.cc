// Streams recorded from real servers of every major version (golden/stream.sql), decoded and routed
// to events.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/text.h"
#include "fakes/source_tree.h"
#include "fakes/status_matchers.h"
#include "pgoutput/decoder.h"
#include "route/router.h"
#include "stream/transaction_order_check.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

using pgoutput::TupleValue;

constexpr char kFolder[] = "tests/unit/golden/";
constexpr char kOriginTime[] = "2026-11-20T15:00:00.000000Z";

// The lines of a file that are neither empty nor comments.
std::vector<std::string> LinesOf(const std::string& name) {
  std::istringstream file(testing::SourceFile(kFolder + name));
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && !line.starts_with('#')) {
      lines.push_back(line);
    }
  }
  return lines;
}

struct Recorded {
  Lsn lsn;
  std::string bytes;
};

// "0/15403C8 734 42000…"
Recorded Parse(const std::string& line) {
  std::istringstream words(line);
  std::string lsn;
  std::string xid;
  std::string hex;
  words >> lsn >> xid >> hex;
  Recorded message{.lsn = Lsn::Parse(lsn).value_or(Lsn()), .bytes = ""};
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    unsigned char byte = 0;
    std::from_chars(&hex[i], &hex[i] + 2, byte, 16);
    message.bytes += static_cast<char>(byte);
  }
  return message;
}

std::string Shown(const OptionalBytes& bytes) {
  return bytes ? Printable(*bytes) : "NULL";
}

struct Stream {
  const char* name;
  bool binary;
  bool messages;
};

// Passes one stream through every component between the socket and Kafka and records the results.
class GoldenStreamTest : public ::testing::TestWithParam<Stream> {
 protected:
  GoldenStreamTest() {
    source_.tables = {{.schema = "public", .name = "outbox"},
                      {.schema = "billing", .name = "events"}};
    route_.timestamp = TimestampSource::kColumn;
    route_.timestamp_column = "created_at";
    router_.emplace(*Router::Create(source_, route_));
  }

  void Play() {
    std::vector<Recorded> recorded;
    for (const std::string& line : LinesOf(GetParam().name)) {
      recorded.push_back(Parse(line));
    }
    router_->StartSession(FactsOf(recorded));
    for (const Recorded& message : recorded) {
      lsn_ = message.lsn;
      const auto decoded = decoder_.Decode(message.bytes);
      ASSERT_THAT(decoded, IsOk()) << lsn_.ToString();
      kinds_ += message.bytes[0];
      std::visit([&](const auto& body) { On(body); }, *decoded);
    }
    EXPECT_EQ(transactions_.open(), nullptr);
  }

  // The table info that a server reports at the start of the session: the first OID of each table.
  std::vector<TableInfo> FactsOf(const std::vector<Recorded>& recorded) {
    std::vector<TableInfo> info;
    for (const OutboxTable& table : source_.tables) {
      info.push_back({.schema = table.schema, .name = table.name});
    }
    for (const Recorded& message : recorded) {
      const auto decoded = decoder_.Decode(message.bytes);
      const auto* relation = decoded.ok() ? std::get_if<pgoutput::Relation>(&*decoded) : nullptr;
      for (TableInfo& table : info) {
        if (relation != nullptr && table.oid == 0 && table.name == relation->name) {
          table.oid = relation->oid;
        }
      }
    }
    return info;
  }

  void On(const pgoutput::Begin& begin) { EXPECT_THAT(transactions_.OnBegin(begin), IsOk()); }
  void On(const pgoutput::Commit& commit) {
    EXPECT_EQ(commit.end_lsn, lsn_);
    EXPECT_THAT(transactions_.OnCommit(commit), IsOk());
  }
  void On(const pgoutput::Type& type) { relations_.OnType(type); }
  void On(const pgoutput::Relation& relation) { router_->OnRelation(relations_.Replace(relation)); }
  void On(const pgoutput::Insert& insert) {
    OnRow(insert.row);
    if (router_->IsOutbox(insert.relation_oid)) {
      events_.push_back(fmt::format("{} {}", transactions_.open()->rows, Event(insert)));
    }
  }
  void On(const pgoutput::Update& update) {
    OnRow(update.row);
    old_rows_of_updates_ += update.old_row ? 1 : 0;
  }
  void On(const pgoutput::Delete& del) { OnRow(del.old_row); }
  void On(const pgoutput::Truncate& truncate) { truncated_ += truncate.relation_oids.size(); }
  void On(const pgoutput::Origin& origin) {
    origins_.push_back(std::string(origin.name) + " " + Rfc3339(transactions_.open()->commit_time));
  }
  void On(const pgoutput::StreamAbort& abort) {
    EXPECT_THAT(transactions_.OnStreamAbort(abort), IsOk());
  }
  void On(const pgoutput::LogicalMessage& message) {
    messages_.push_back(
        fmt::format("{} {} {} {}", message.prefix, message.content,
                    message.transactional ? "transactional" : "non-transactional",
                    transactions_.open() != nullptr ? "in a transaction" : "in no transaction"));
  }

  void OnRow(pgoutput::Tuple row) {
    ASSERT_THAT(transactions_.OnRow(lsn_), IsOk());
    for (const TupleValue& value : row) {
      ++values_[value.kind];
    }
  }

  std::string Event(const pgoutput::Insert& insert) {
    const WallTime commit_time = transactions_.open()->commit_time;
    const auto record = router_->Route(insert.relation_oid, insert.row, commit_time);
    if (!record.ok()) {
      return ToString(CodeOf(record.status()));
    }
    std::string text =
        fmt::format("{} key={} at={} value={}", record->topic, Shown(record->key),
                    record->timestamp == commit_time ? "commit" : Rfc3339(*record->timestamp),
                    Shown(record->value));
    for (const Header& header : record->headers) {
      text += fmt::format(" {}={}", header.name, Shown(header.value));
    }
    return text;
  }

  SourceConfig source_;
  RouteConfig route_;
  pgoutput::Decoder decoder_;
  pgoutput::RelationCache relations_;
  TransactionOrderCheck transactions_;
  std::optional<Router> router_;
  Lsn lsn_;

  std::string kinds_;
  std::vector<std::string> events_;
  std::vector<std::string> origins_;
  std::vector<std::string> messages_;
  std::map<TupleValue::Kind, int> values_;
  int old_rows_of_updates_ = 0;
  size_t truncated_ = 0;
};

TEST_P(GoldenStreamTest, EventsMatchTheHandWrittenFile) {
  Play();
  EXPECT_THAT(events_, ::testing::ElementsAreArray(LinesOf("events.txt")));
}

// A recording without a kind of message would not test it.
TEST_P(GoldenStreamTest, EveryKindOfMessageOccurs) {
  Play();
  const std::set<char> met(kinds_.begin(), kinds_.end());
  const std::string_view expected = GetParam().messages ? "BCDIMORTUY" : "BCDIORTUY";
  EXPECT_EQ(std::string(met.begin(), met.end()), expected);
  EXPECT_EQ(values_[TupleValue::Kind::kBinary] > 0, GetParam().binary);
  EXPECT_EQ(values_[TupleValue::Kind::kText] > 0, !GetParam().binary);
}

TEST_P(GoldenStreamTest, UpdatesOmitUnchangedToastAndIncludeOldRows) {
  Play();
  EXPECT_EQ(values_[TupleValue::Kind::kUnchangedToast], 2);  // a large value, in two updates
  EXPECT_EQ(old_rows_of_updates_, 2);  // a changed key, and replica identity full
  EXPECT_EQ(truncated_, 2u);
}

TEST_P(GoldenStreamTest, ReplicatedTransactionHasItsOriginAndOriginalCommitTime) {
  Play();
  EXPECT_THAT(origins_, ::testing::ElementsAre(std::string("elsewhere ") + kOriginTime));
}

TEST_P(GoldenStreamTest, MessagesOccurInsideAndOutsideTransactions) {
  Play();
  const std::vector<std::string> both = {"note outside non-transactional in no transaction",
                                         "note inside transactional in a transaction"};
  EXPECT_EQ(messages_, GetParam().messages ? both : std::vector<std::string>());
}

INSTANTIATE_TEST_SUITE_P(Postgres, GoldenStreamTest,
                         ::testing::Values(Stream{"postgres-13-text.txt", false, false},
                                           Stream{"postgres-14-text.txt", false, true},
                                           Stream{"postgres-14-binary.txt", true, true},
                                           Stream{"postgres-15-text.txt", false, true},
                                           Stream{"postgres-15-binary.txt", true, true},
                                           Stream{"postgres-16-text.txt", false, true},
                                           Stream{"postgres-16-binary.txt", true, true},
                                           Stream{"postgres-17-text.txt", false, true},
                                           Stream{"postgres-17-binary.txt", true, true},
                                           Stream{"postgres-18-text.txt", false, true},
                                           Stream{"postgres-18-binary.txt", true, true}),
                         [](const auto& stream) {
                           std::string name(stream.param.name);
                           name = name.substr(9, name.size() - 13);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace walrelay
