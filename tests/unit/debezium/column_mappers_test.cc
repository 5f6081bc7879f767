#include "debezium/column_mappers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "debezium/debezium_options.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Kind = ColumnTransform::Kind;

constexpr char kTruncate[] = "column.truncate.to.20.chars";
constexpr char kMask[] = "column.mask.with.8.chars";
constexpr char kHash[] = "column.mask.hash.v2.SHA-256.with.salt.pep.per";
constexpr char kHashSerialized[] = "column.mask.hash.MD5.with.salt.pepper";

class ColumnMappersTest : public ::testing::Test {
 protected:
  PropertyResult ResultOf(const std::string& value, const std::string& name = kTruncate) {
    connector_[name] = value;
    const auto result = TranslateColumnMapper(name, value, connector_, translation_);
    EXPECT_TRUE(result.has_value()) << name;
    return result.value_or(PropertyResult());
  }
  PropertyOutcome OutcomeOf(const std::string& value, const std::string& name = kTruncate) {
    return ResultOf(value, name).outcome;
  }
  void ExpectRefused(const std::string& value, const std::string& name, const std::string& note) {
    const PropertyResult result = ResultOf(value, name);
    EXPECT_EQ(result.outcome, PropertyOutcome::kRefused) << name;
    EXPECT_THAT(result.note, HasSubstr(note));
    connector_.erase(name);
  }
  // The columns of all transforms so far.
  std::vector<std::string> Columns() const {
    std::vector<std::string> columns;
    for (const ColumnTransform& transform : translation_.transforms) {
      columns.push_back(transform.column.preferred());
    }
    return columns;
  }

  DebeziumOptions connector_ = {{"table.include.list", "public\\.outbox"}};
  DebeziumTranslation translation_ = DebeziumDefaults();
};

TEST_F(ColumnMappersTest, PropertyOfOtherColumnsHasNoEffect) {
  EXPECT_EQ(OutcomeOf("public.customers.email, public.outbox.note"), PropertyOutcome::kMeaningless);
  EXPECT_EQ(OutcomeOf("public\\.customers\\..*"), PropertyOutcome::kMeaningless);
  EXPECT_EQ(OutcomeOf("payload"), PropertyOutcome::kMeaningless);
  EXPECT_THAT(Columns(), IsEmpty());
}

TEST_F(ColumnMappersTest, PropertyOfAPublishedColumnIsATransform) {
  const PropertyResult result = ResultOf("public.customers.email,PUBLIC.Outbox.Payload");
  EXPECT_EQ(result.outcome, PropertyOutcome::kTranslated);
  EXPECT_EQ(result.setting, "[[source.transform]]");
  EXPECT_EQ(result.note, "payload");
  EXPECT_EQ(translation_.transforms[0], (ColumnTransform{.column = "payload", .length = 20}));
  translation_.placements = {{.column = "email"}, {.column = "email"}};
  translation_.settings["route.timestamp"] = "column:happened_at";
  EXPECT_EQ(OutcomeOf("public.outbox.(email|happened_at|id)", kMask), PropertyOutcome::kTranslated);
  EXPECT_THAT(Columns(), ElementsAre("payload", "happened_at", "id", "email"));
  EXPECT_EQ(translation_.transforms[1].kind, Kind::kMask);
  EXPECT_EQ(translation_.transforms[1].length, 8);
}

TEST_F(ColumnMappersTest, HashesHaveAlgorithmAndSalt) {
  EXPECT_EQ(OutcomeOf("public.outbox.payload", kHash), PropertyOutcome::kTranslated);
  EXPECT_EQ(OutcomeOf("public.outbox.aggregateid", kHashSerialized), PropertyOutcome::kTranslated);
  EXPECT_EQ(translation_.transforms[0], (ColumnTransform{.column = "payload",
                                                         .kind = Kind::kHash,
                                                         .algorithm = HashAlgorithm::kSha256,
                                                         .salt = Secret("pep.per")}));
  EXPECT_EQ(translation_.transforms[1], (ColumnTransform{.column = "aggregateid",
                                                         .kind = Kind::kHashSerialized,
                                                         .algorithm = HashAlgorithm::kMd5,
                                                         .salt = Secret("pepper")}));
}

TEST_F(ColumnMappersTest, AlgorithmsHaveTheNamesOfJava) {
  const std::pair<const char*, HashAlgorithm> kNames[] = {
      {"sha", HashAlgorithm::kSha1},
      {"SHA1", HashAlgorithm::kSha1},
      {"sha-512", HashAlgorithm::kSha512},
      {"SHA512/256", HashAlgorithm::kSha512To256},
      {"sha3-224", HashAlgorithm::kSha3To224}};
  for (const auto& [name, algorithm] : kNames) {
    translation_.transforms.clear();
    const std::string property = std::string("column.mask.hash.") + name + ".with.salt.x";
    EXPECT_EQ(OutcomeOf("public.outbox.payload", property), PropertyOutcome::kTranslated);
    EXPECT_EQ(translation_.transforms[0].algorithm, algorithm) << name;
    connector_.erase(property);
  }
}

TEST_F(ColumnMappersTest, InvalidPropertyOfAPublishedColumnIsRefused) {
  ExpectRefused("public.outbox.payload", "column.mask.hash.MD2.with.salt.x",
                "unknown algorithm \"MD2\"; expected one of MD5, SHA-1");
  ExpectRefused("public.outbox.payload", "column.mask.hash.v2.with.salt.x", "\"v2\"");
  ExpectRefused("public.outbox.payload", "column.mask.hash.v2.MD5.salt.x", "with.salt.SALT");
  ExpectRefused("public.outbox.payload", "column.mask.with.x.chars", "0 to 2147483647, got \"x\"");
  ExpectRefused("public.outbox.payload", "column.truncate.to.2147483648.chars", "0 to 2147483647");
}

TEST_F(ColumnMappersTest, FirstMapperOfAColumnApplies) {
  connector_ = {{"table.include.list", "public.outbox"},
                {kTruncate, "public.outbox.payload"},
                {kMask, "public.outbox.aggregateid"}};
  const PropertyResult result = ResultOf("public.outbox.(payload|aggregateid)", kHash);
  EXPECT_EQ(result.outcome, PropertyOutcome::kMeaningless);
  EXPECT_THAT(result.note, HasSubstr("precedes it"));
  EXPECT_EQ(OutcomeOf("public.outbox.payload"), PropertyOutcome::kTranslated);
  EXPECT_THAT(Columns(), ElementsAre("payload"));
  connector_["column.propagate.source.type"] = "public.outbox.id";
  EXPECT_EQ(OutcomeOf("public.outbox.id", kHash), PropertyOutcome::kMeaningless);
  connector_.erase("column.propagate.source.type");
  connector_["datatype.propagate.source.type"] = ".*";
  EXPECT_EQ(OutcomeOf("public.outbox.id", kHash), PropertyOutcome::kRefused);
}

TEST_F(ColumnMappersTest, TwoMappersOfOneKindAreRefused) {
  connector_["column.truncate.to.5.chars"] = "public.outbox.payload";
  EXPECT_EQ(OutcomeOf("public.outbox.id"), PropertyOutcome::kTranslated);
  EXPECT_EQ(OutcomeOf("public.outbox.payload"), PropertyOutcome::kRefused);
}

TEST_F(ColumnMappersTest, ExpressionsAreSplitAtCommas) {
  translation_.placements = {{.column = "a,b"}};
  EXPECT_EQ(OutcomeOf(R"(x, public.outbox.a\,b ,,public\.outbox\.id)"),
            PropertyOutcome::kTranslated);
  EXPECT_THAT(Columns(), ElementsAre("id", "a,b"));
}

TEST_F(ColumnMappersTest, MemberOfEnvelopesOfMessagesIsRefused) {
  translation_.placements = {{.column = "email", .where = Placement::Where::kEnvelope}};
  EXPECT_EQ(OutcomeOf("public.outbox.email"), PropertyOutcome::kTranslated);
  connector_["message.prefix.include.list"] = "outbox";
  EXPECT_EQ(OutcomeOf("public.outbox.email"), PropertyOutcome::kRefused);
}

TEST_F(ColumnMappersTest, MatchThatDiffersByTableIsRefused) {
  connector_["table.include.list"] = "public.outbox,shop.outbox";
  EXPECT_EQ(OutcomeOf("shop.outbox.payload"), PropertyOutcome::kRefused);
  translation_.settings["source.table"] =
      "shop.outbox";  // the other is the heartbeat's, for example
  EXPECT_EQ(OutcomeOf("shop.outbox.payload"), PropertyOutcome::kTranslated);
  translation_.settings.erase("source.table");
  EXPECT_EQ(OutcomeOf(".*.outbox.payload"), PropertyOutcome::kTranslated);
}

TEST_F(ColumnMappersTest, PropertyThatCannotBeEvaluatedIsRefused) {
  EXPECT_EQ(OutcomeOf("public.(?!x)customers.email"), PropertyOutcome::kRefused);
  EXPECT_EQ(OutcomeOf("${file:/secrets:columns}"), PropertyOutcome::kRefused);
  connector_["table.include.list"] = "public.*";
  EXPECT_EQ(OutcomeOf("public.customers.email"), PropertyOutcome::kRefused);
  connector_.clear();
  EXPECT_EQ(OutcomeOf("public.customers.email"), PropertyOutcome::kRefused);
}

TEST_F(ColumnMappersTest, OnlyAsciiLettersMatchInAnyCase) {
  translation_.placements = {{.column = "größe"}};
  EXPECT_EQ(OutcomeOf("public.outbox.größe"), PropertyOutcome::kTranslated);
  EXPECT_EQ(OutcomeOf("public.outbox.GRÖSSE|public.outbox.GRÖßE"), PropertyOutcome::kRefused);
}

TEST_F(ColumnMappersTest, SaltIsNotShown) {
  EXPECT_EQ(WithoutSalt(kHash), "column.mask.hash.v2.SHA-256.with.salt.***");
  EXPECT_EQ(WithoutSalt("debezium.source.column.mask.hash.MD5.with.salt.a.with.salt.b"),
            "debezium.source.column.mask.hash.MD5.with.salt.***");
  EXPECT_EQ(WithoutSalt(kTruncate), kTruncate);
}

TEST_F(ColumnMappersTest, OtherPropertiesAreNotTranslated) {
  EXPECT_FALSE(TranslateColumnMapper("column.include.list", "x", connector_, translation_));
}

}  // namespace
}  // namespace walrelay
