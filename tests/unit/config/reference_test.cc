#include "config/reference.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>

#include "config/option.h"
#include "config/toml_writer.h"
#include "fakes/config_fixture.h"
#include "fakes/source_tree.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// The ```toml blocks of a page.
std::vector<std::string> TomlBlocks(const std::string& page) {
  constexpr std::string_view kFence = "```toml\n";
  std::vector<std::string> blocks;
  for (size_t at = page.find(kFence); at != std::string::npos; at = page.find(kFence, at + 1)) {
    const size_t start = at + kFence.size();
    blocks.push_back(page.substr(start, page.find("```", start) - start));
  }
  return blocks;
}

// Every value of a configuration as one text.
std::string EveryValue(const Config& config) {
  std::string text;
  for (const Option& option : Options()) {
    text += option.Name() + "=" + option.show(config) + "\n";
  }
  for (const OutboxTable& table : config.source.tables) {
    text += fmt::format("table {}.{}:", table.schema, table.name);
    for (const auto* name : table.columns.all()) {
      text += fmt::format(" {}", ToToml(*name));
    }
    for (const Placement& placement : table.placements) {
      text += fmt::format(" {}/{}/{}", ToToml(placement.column), static_cast<int>(placement.where),
                          placement.name);
    }
    for (const ColumnTransform& transform : table.transforms) {
      text += fmt::format(" {}/{}/{}", ToToml(transform.column), static_cast<int>(transform.kind),
                          transform.length);
    }
  }
  for (const auto& [name, value] : config.kafka.librdkafka) {
    text += fmt::format("\n{}={}", name, value);
  }
  for (const TopicRule& rule : config.kafka.topics.rules) {
    text += fmt::format("\n{} {} {}", rule.match, rule.partitions, rule.replication_factor);
    for (const auto& [name, value] : rule.config) {
      text += fmt::format(" {}={}", name, value);
    }
  }
  return text;
}

class ConfigReferenceTest : public testing::ConfigFixture {
 protected:
  // The output of `walrelay config show` for `file`.
  std::string Show(std::string_view file) {
    const auto loaded = TryLoad(file);
    EXPECT_THAT(loaded, IsOk());
    return loaded.ok() ? ShowConfig(*loaded) : "";
  }
};

TEST_F(ConfigReferenceTest, PublishedPageMatchesTheProgram) {
  EXPECT_TRUE(testing::SourceFile("docs/configuration.md") == ConfigReference())
      << "docs/configuration.md is outdated: run walrelay config docs > docs/configuration.md";
}

TEST_F(ConfigReferenceTest, EveryOptionHasARowInItsSection) {
  const std::string page = ConfigReference();
  for (const Option& option : Options()) {
    const size_t section = page.find("\n## `[" + std::string(option.section) + "]`\n");
    ASSERT_NE(section, std::string::npos) << option.section;
    const std::string text = page.substr(section, page.find("\n## ", section + 1) - section);
    EXPECT_THAT(text, HasSubstr("\n| `" + std::string(option.key) + "` | ")) << option.Name();
    EXPECT_FALSE(option.doc.empty()) << option.Name();
  }
}

TEST_F(ConfigReferenceTest, EveryRowHasFourCells) {
  std::istringstream page(ConfigReference());
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("| ")) {
      EXPECT_EQ(std::count(line.begin(), line.end(), '|'), 5) << line;
    }
  }
}

TEST_F(ConfigReferenceTest, EveryExampleLoads) {
  const std::vector<std::string> blocks = TomlBlocks(ConfigReference());
  ASSERT_EQ(blocks.size(), 6u);
  for (const std::string& block : blocks) {
    EXPECT_THAT(TryLoad(block), IsOk()) << block;
  }
}

TEST_F(ConfigReferenceTest, SmallestExampleIsComplete) {
  Bare();
  EXPECT_EQ(Load(TomlBlocks(ConfigReference())[0]).kafka.security_protocol, "SSL");
}

TEST_F(ConfigReferenceTest, ShowNamesTheOriginOfEachValue) {
  Variable("WALRELAY_SOURCE__PUBLICATION", "p");
  EXPECT_THAT(
      Show("[source]\nslot = 's'\n"),
      AllOf(HasSubstr("[source]\n"), HasSubstr("\nslot = \"s\"  # walrelay.toml:2:8\n"),
            HasSubstr("\npublication = \"p\"  # variable WALRELAY_SOURCE__PUBLICATION\n"),
            HasSubstr("\ndsn = \"host=db\"  # --set source.dsn\n"),
            HasSubstr("\nbinary = false  # default\n"), HasSubstr("\n# id = auto  # default\n")));
}

TEST_F(ConfigReferenceTest, SecretsAreMasked) {
  const std::string shown = Show(R"(
    [source]
    password = "hunter2"
    [kafka]
    sasl_password = "hunter2"
    ssl_key_password = "hunter2"
    [kafka.librdkafka]
    "ssl.keystore.password" = "hunter2"
    "ssl.key.pem" = "hunter2"
    "sasl.oauthbearer.config" = "hunter2"
    "sasl.oauthbearer.client.secret" = "hunter2"
  )");
  EXPECT_THAT(shown, Not(HasSubstr("hunter2")));
  EXPECT_THAT(shown, HasSubstr("\nsasl_password = \"***\""));
  EXPECT_THAT(shown, HasSubstr("\n\"ssl.key.pem\" = \"***\""));
  EXPECT_THAT(Show(""), HasSubstr("\nsasl_password = \"\""));
}

TEST_F(ConfigReferenceTest, PasswordsInTheConnectionStringAreMasked) {
  for (const char* dsn :
       {"postgresql://walrelay:hunter2@db:5432/shop?sslmode=require", "postgres://:hunter2@db/shop",
        "postgresql://u:hunter2@db1,db2/shop",
        "postgresql://u@db/shop?password=hunter2&sslmode=require",
        "postgresql://db/shop?sslpassword=hunter2", "postgresql://u:hunter2%40x@[::1]/shop",
        "postgresql://u:hunter2:hunter2@db/", "postgresql://u:hunter2@hunter2@db/",
        "postgresql://u:hun?hunter2@db/x", "postgresql://db/?%70assword=hunter2",
        "host=db password=hunter2 user=u", "password = 'hunter2' host=db",
        "password='hunter2 \\' hunter2' host=db", "host=db sslpassword=hunter2", "password=hunter2",
        "user='a' password=hunter2\\ hunter2 host=db", "host=db PASSWORD=hunter2"}) {
    Flag("source.dsn", dsn);
    EXPECT_THAT(Show(""), AllOf(Not(HasSubstr("hunter2")), HasSubstr("***"))) << dsn;
  }
}

TEST_F(ConfigReferenceTest, ConnectionStringsWithoutPasswordAreShownWhole) {
  for (const char* dsn :
       {"postgresql://walrelay@db.internal/shop?sslmode=verify-full", "host=db dbname=shop user=u",
        "postgresql:///shop?host=/run/pg", "service=shop passfile=/run/pgpass",
        "postgresql://db:5432/shop", "postgresql://db1:5432,db2:5432/ab?user=me"}) {
    Flag("source.dsn", dsn);
    EXPECT_THAT(Show(""), HasSubstr(std::string("dsn = \"") + dsn + "\"")) << dsn;
  }
}

TEST_F(ConfigReferenceTest, SaltIsMasked) {
  const auto loaded = TryLoad(
      "[[source.transform]]\ncolumn = 'c'\napply = 'hash'\nalgorithm = 'MD5'\nsalt = 'pepper'\n");
  ASSERT_THAT(loaded, IsOk());
  EXPECT_THAT(ShowConfig(*loaded), HasSubstr("algorithm = \"MD5\", salt = \"***\""));
}

// Holds for every configuration without secrets.
TEST_F(ConfigReferenceTest, ShownConfigurationLoadsAsTheSame) {
  for (const char* file : {
           "",
           "[source]\ntable = 'a.b'\non_update = 'fail'\n[source.columns]\nid = ''\npayload = "
           "'auto'\n"
           "[route]\nallow = ['a\"b', 'c,d']\ntimestamp = 'column:at'\ntopic = "
           "'x.\\$.${routedByValue}'\n"
           "[pipeline]\nconfirm_interval = '1500us'\nmax_in_flight_bytes = 12345\n"
           "[on_error]\nvalue = 'dead_letter'\ndead_letter_topic = 'dead'\n[http]\nlisten = ''\n",
           "[[source.placement]]\ncolumn = 'shard'\nto = 'partition'\n"
           "[[source.placement]]\ncolumn = 'te\"nant'\nas = 'x-tenant'\n",
           "[[source.placement]]\ncolumn = 'tenant'\nto = 'envelope'\n"
           "[format]\nvalue = 'json'\n",
           "[[source.transform]]\ncolumn = 'a\"b'\napply = 'truncate'\nlength = 7\n",
           "[[source.tables]]\nname = 'a'\n[[source.tables]]\nname = 'b'\n"
           "transform = [{ column = 'c', apply = 'mask', length = 3 }]\n",
           "[[source.tables]]\nname = 'a'\n[[source.tables]]\nname = 'b.c'\ncolumns = { payload = "
           "'body', id = '' }\n"
           "placement = [{ column = 'tenant' }]\n[source.columns]\nid = 'event_id'\n"
           "[[source.placement]]\ncolumn = 'region'\n",
           "[kafka.librdkafka]\n\"socket.timeout.ms\" = 15000\n\"a \\\"b\" = \"c\\nd\"\n",
           "[kafka.topics]\ncreate = 'check'\n[[kafka.topics.rules]]\nmatch = 'a\"*'\n"
           "partitions = 6\nconfig = { \"x.y\" = \"1\\n2\", \"z\" = true }\n"
           "[[kafka.topics.rules]]\nmatch = '*'\nreplication_factor = 3\n",
       }) {
    const auto loaded = TryLoad(file);
    ASSERT_THAT(loaded, IsOk());
    const std::string shown = ShowConfig(*loaded);
    const auto again = LoadConfig(
        {.file_name = "shown.toml", .file_text = shown, .environment = {}, .overrides = {}});
    ASSERT_THAT(again, IsOk()) << shown;
    EXPECT_EQ(EveryValue(again->config), EveryValue(loaded->config));
  }
}

}  // namespace
}  // namespace walrelay
