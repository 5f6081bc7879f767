// Constraints between values, whatever their source.
#include <gtest/gtest.h>

#include "fakes/config_fixture.h"

namespace walrelay {
namespace {

using namespace std::chrono_literals;

class ConfigValidationTest : public ::testing::Test {
 protected:
  ConfigValidationTest() {
    config_.source.dsn = "host=db";
    config_.kafka.bootstrap_servers = "kafka:9092";
  }
  void ExpectValid() { EXPECT_THAT(ValidateConfig(config_), IsOk()); }
  void ExpectWrong(const std::string& part) {
    EXPECT_THAT(ValidateConfig(config_), HasError(ErrorCode::kConfigValue, part));
  }
  OutboxTable& table() { return config_.source.tables[0]; }

  Config config_;
};

TEST_F(ConfigValidationTest, DefaultsWithTwoAddressesAreValid) {
  ExpectValid();
}

TEST_F(ConfigValidationTest, SourceAndKafkaAreRequired) {
  config_.kafka.bootstrap_servers.clear();
  ExpectWrong("kafka.bootstrap_servers is missing");
  config_.kafka.bootstrap_servers = "kafka:9092";
  config_.source.dsn.clear();
  ExpectWrong("source.dsn is missing");
}

TEST_F(ConfigValidationTest, ModesThatNeedTheRecordExcludeOff) {
  for (const auto mode : {PipelineMode::kSlot, PipelineMode::kTopics, PipelineMode::kExactlyOnce}) {
    for (const auto progress :
         {ProgressRecording::kOff, ProgressRecording::kAuto, ProgressRecording::kRequired}) {
      config_.pipeline.mode = mode;
      config_.pipeline.progress = progress;
      if (mode != PipelineMode::kSlot && progress == ProgressRecording::kOff) {
        ExpectWrong("excludes pipeline.progress = \"off\"");
      } else {
        ExpectValid();
      }
      EXPECT_EQ(config_.pipeline.requires_record(),
                mode != PipelineMode::kSlot || progress == ProgressRecording::kRequired);
    }
  }
}

TEST_F(ConfigValidationTest, PruningExcludesOff) {
  config_.prune.mode = PruneMode::kDelete;
  config_.pipeline.progress = ProgressRecording::kOff;
  ExpectWrong("prune.mode = \"delete\" excludes pipeline.progress = \"off\"");
}

TEST_F(ConfigValidationTest, AllInvalidValuesAreFound) {
  config_.source.slot = "My Slot";
  config_.source.connect_timeout = 1ms;
  config_.on_error.value = OnError::kDeadLetter;
  config_.kafka.bootstrap_servers = "http://kafka:9092";
  std::vector<std::string> options;
  for (const OptionError& error : FindInvalidValues(config_)) {
    options.push_back(error.option);
  }
  EXPECT_EQ(options, (std::vector<std::string>{"source.slot", "source.connect_timeout",
                                               "on_error.value", "kafka.bootstrap_servers"}));
}

TEST_F(ConfigValidationTest, BrokersAreHostsAndPorts) {
  for (const char* good : {"k", "k:1", "k:65535", " a:1 , b:2 ", "[::1]:9092", "[::1]",
                           "ssl://k:9092", "SASL_SSL://k:9092,PLAINTEXT://l:1"}) {
    config_.kafka.bootstrap_servers = good;
    ExpectValid();
  }
  for (const char* bad : {"http://k:9092", "k:", "k:0", "k:65536", "k:kafka", "a,,b", ":9092", " ",
                          "[::1]:", "ssl://", "k:9092/path"}) {
    config_.kafka.bootstrap_servers = bad;
    ExpectWrong("kafka.bootstrap_servers: expected host:port,host:port, got");
  }
}

TEST_F(ConfigValidationTest, SaslRequiresAMechanismAndItsLogin) {
  config_.kafka.security_protocol = "SASL_SSL";
  ExpectWrong("kafka.sasl_mechanism is missing");
  config_.kafka.sasl_mechanism = "GSSAPI";
  ExpectValid();
  config_.kafka.sasl_mechanism = "SCRAM-SHA-512";
  ExpectWrong("kafka.sasl_username is missing");
  config_.kafka.sasl_username = "u";
  ExpectWrong("kafka.sasl_password_file is missing");
  config_.kafka.sasl_password_file = "/run/secrets/kafka";
  ExpectValid();
  config_.kafka.sasl_mechanism.clear();
  config_.kafka.librdkafka = {{"sasl.mechanisms", "GSSAPI"}};
  ExpectValid();
}

TEST_F(ConfigValidationTest, CommandRequiresOnlyTheServersItConnectsTo) {
  config_.source.dsn.clear();
  EXPECT_THAT(ValidateConfig(config_, {.postgres = false, .kafka = true}), IsOk());
  EXPECT_THAT(ValidateConfig(config_, {.postgres = true, .kafka = false}),
              HasError(ErrorCode::kConfigValue, "source.dsn"));
  config_.kafka.bootstrap_servers.clear();
  EXPECT_THAT(ValidateConfig(config_, {.postgres = false, .kafka = false}), IsOk());
  EXPECT_THAT(ValidateConfig(config_, {.postgres = false, .kafka = true}),
              HasError(ErrorCode::kConfigValue, "kafka.bootstrap_servers"));
}

// Slot names are inserted into replication commands.
TEST_F(ConfigValidationTest, SlotNamesFollowTheRulesOfPostgres) {
  for (const char* good : {"a", "walrelay_2", "0", "___"}) {
    config_.source.slot = good;
    ExpectValid();
  }
  for (const char* bad :
       {"", "Walrelay", "wal-relay", "a b", "a;b", "a\"b", "sl\xc3\xb6t", "a\n"}) {
    config_.source.slot = bad;
    ExpectWrong("source.slot");
  }
  config_.source.slot = std::string(63, 'a');
  ExpectValid();
  config_.source.slot += 'a';
  ExpectWrong("at most 63 lower-case");
}

TEST_F(ConfigValidationTest, PublicationNamesCanBeQuoted) {
  for (const char* good : {"Pub 1", "p\"q'", "\xc3\xb6", "a,b"}) {
    config_.source.publication = good;
    ExpectValid();
  }
  for (const char* bad : {"", "a\\b", "a\nb", "a\x7f"}) {
    config_.source.publication = bad;
    ExpectWrong("source.publication");
  }
  config_.source.publication = std::string(64, 'a');
  ExpectWrong("at most 63 bytes");
}

TEST_F(ConfigValidationTest, SourceNamesNeedNoEscapes) {
  for (const char* good : {"", "orders-db", "db.example:5433/shop", "A_1"}) {
    config_.source.name = good;
    ExpectValid();
  }
  for (const char* bad : {"a b", "a\"b", "a\nb", "\xc3\xb6", "a|b", "relay@db"}) {
    config_.source.name = bad;
    ExpectWrong("source.name");
  }
  config_.source.name = std::string(129, 'a');
  ExpectWrong("at most 128");
}

TEST_F(ConfigValidationTest, TimeoutsHaveAMinimum) {
  config_.source.connect_timeout = 999ms;
  ExpectWrong("source.connect_timeout");
  config_.source.connect_timeout = 1s;
  config_.source.wal_sender_timeout = 999ms;
  ExpectWrong("source.wal_sender_timeout");
  config_.source.wal_sender_timeout = 0s;
  ExpectValid();
}

TEST_F(ConfigValidationTest, DecodingMemoryHasTheLimitsOfPostgres) {
  config_.source.decoding_memory = 64 * 1024 - 1;
  ExpectWrong("source.decoding_memory");
  config_.source.decoding_memory = -1;
  ExpectWrong("source.decoding_memory");
  config_.source.decoding_memory = int64_t{1} << 41;
  ExpectWrong("source.decoding_memory");
  config_.source.decoding_memory = 64 * 1024;
  ExpectValid();
}

TEST_F(ConfigValidationTest, DroppingTheSlotNeedsALimitAndExcludesCreatingIt) {
  config_.source.max_retained_wal = 1 << 20;
  ExpectValid();
  config_.source.on_retained_limit = OnRetainedLimit::kDropSlot;
  ExpectValid();
  config_.source.create_slot = true;
  ExpectWrong("excludes source.create_slot");
  config_.source.create_slot = false;
  config_.source.max_retained_wal = 0;
  ExpectWrong("requires source.max_retained_wal");
}

// The xmin of a row does not tell whether this relay has published it.
TEST_F(ConfigValidationTest, PruningExcludesSkippedOrigins) {
  config_.prune.mode = PruneMode::kDelete;
  config_.source.origin = OriginFilter::kAny;
  ExpectValid();
  config_.source.origin = OriginFilter::kNone;
  ExpectWrong("prune.mode excludes source.origin");
}

TEST_F(ConfigValidationTest, ColumnsOfTheRecordAreRequired) {
  for (auto column :
       {&ColumnNames::aggregate_type, &ColumnNames::aggregate_id, &ColumnNames::payload}) {
    table().columns = {};
    table().columns.*column = "";
    ExpectWrong("public.outbox requires this column");
  }
  table().columns = {.id = "", .event_type = "", .trace_id = ""};
  ExpectValid();
}

TEST_F(ConfigValidationTest, OnlyOneColumnCanBeThePartition) {
  const Placement partition{.column = "a", .where = Placement::Where::kPartition, .name = ""};
  table().placements = {partition, {.column = "b", .name = "b"}};
  ExpectValid();
  table().placements.push_back(partition);
  ExpectWrong("only one column can be the partition");
}

TEST_F(ConfigValidationTest, CommitTimeHasAHeaderOfItsOwn) {
  table().placements = {{.column = "tenant", .name = "x-tenant"},
                        {.column = "n", .where = Placement::Where::kPartition, .name = "part"}};
  for (const char* good : {"", "ce_time", "part", "commit time"}) {
    config_.route.commit_time_header = good;
    ExpectValid();
  }
  for (const char* bad : {"id", "event_type", "traceparent", "wr-pos", "x-tenant", "walrelay.x",
                          "__debezium.context.taskId"}) {
    config_.route.commit_time_header = bad;
    ExpectWrong("route.commit_time_header: records may have another header");
  }
}

TEST_F(ConfigValidationTest, ColumnHasOneTransform) {
  table().transforms = {{.column = "a", .length = 1}, {.column = "b", .length = 1}};
  ExpectValid();
  table().transforms.push_back({.column = "a", .kind = ColumnTransform::Kind::kMask});
  ExpectWrong("column \"a\" has two transforms");
}

TEST_F(ConfigValidationTest, MaskHasALimit) {
  table().transforms = {{.column = "a", .kind = ColumnTransform::Kind::kMask, .length = 1'000'000}};
  ExpectValid();
  table().transforms[0].length = 1'000'001;
  ExpectWrong("at most 1000000 for a mask");
}

TEST_F(ConfigValidationTest, DuplicateTablesAreRefused) {
  config_.source.tables = {
      {.schema = "a", .name = "t"}, {.schema = "b", .name = "t"}, {.schema = "a", .name = "u"}};
  ExpectValid();
  config_.source.tables.push_back({.schema = "b", .name = "t"});
  ExpectWrong("table b.t is named twice");
}

TEST_F(ConfigValidationTest, EveryTableIsChecked) {
  config_.source.tables.push_back({.schema = "b", .name = "t", .columns = {.payload = ""}});
  ExpectWrong("b.t requires this column");
}

TEST_F(ConfigValidationTest, DeadLettersNeedATopic) {
  for (auto cause : {&ErrorPolicy::null_route, &ErrorPolicy::null_key, &ErrorPolicy::topic,
                     &ErrorPolicy::too_large, &ErrorPolicy::value, &ErrorPolicy::refused}) {
    config_.on_error = {};
    config_.on_error.*cause = OnError::kSkip;
    ExpectValid();
    config_.on_error.*cause = OnError::kDeadLetter;
    ExpectWrong("on_error.dead_letter_topic");
    config_.on_error.dead_letter_topic = "dead";
    ExpectValid();
  }
}

TEST_F(ConfigValidationTest, TableOrMessagePrefixIsRequired) {
  table() = OutboxTable{.schema = "", .name = ""};
  ExpectWrong("source.table is empty");
  config_.source.message_prefixes = {"outbox"};
  ExpectValid();
  config_.source.message_prefixes.emplace_back();
  ExpectWrong("a prefix is empty");
}

// Out-of-range values would reach librdkafka, and its error would name its own properties.
TEST_F(ConfigValidationTest, RecordAndBatchSizesHaveLimits) {
  config_.kafka.max_record_bytes = 1'000'000'000;
  config_.kafka.max_batch_bytes = 2'147'483'647;
  ExpectValid();
  for (const int64_t wrong : {int64_t{999}, int64_t{1'000'000'001}, int64_t{10} << 30}) {
    config_.kafka.max_record_bytes = wrong;
    ExpectWrong("kafka.max_record_bytes");
  }
  config_.kafka.max_record_bytes = 1'000'000;
  for (const int64_t wrong : {int64_t{999}, int64_t{10} << 30}) {
    config_.kafka.max_batch_bytes = wrong;
    ExpectWrong("kafka.max_batch_bytes");
  }
}

TEST_F(ConfigValidationTest, CheckedTopicsExcludeCreationOnDemand) {
  config_.kafka.librdkafka = {{"allow.auto.create.topics", "true"}};
  ExpectValid();
  config_.kafka.topics.create = CreateTopics::kCheck;
  ExpectWrong("kafka.topics.create \"check\" excludes");
  config_.kafka.librdkafka = {{"allow.auto.create.topics", "false"}};
  ExpectValid();
}

TEST_F(ConfigValidationTest, IntervalsHaveLimits) {
  config_.pipeline.confirm_interval = 10s;
  config_.metrics.slot_poll_interval = 100ms;
  ExpectValid();
  config_.metrics.slot_poll_interval = 99ms;
  ExpectWrong("metrics.slot_poll_interval");
  config_.metrics.slot_poll_interval = 100ms;
  config_.pipeline.confirm_interval = 10s + Micros(1);
  ExpectWrong("pipeline.confirm_interval");
}

TEST_F(ConfigValidationTest, LingerHasALimit) {
  config_.pipeline.linger = 100ms;
  ExpectValid();
  config_.pipeline.linger = 100ms + Micros(1);
  ExpectWrong("pipeline.linger");
}

TEST_F(ConfigValidationTest, PasswordCommandExcludesOtherSourcesOfThePassword) {
  config_.source.password_command = {"print-password"};
  ExpectValid();
  config_.source.password_file = "/run/secrets/password";
  ExpectWrong("source.password_command excludes");
  config_.source.password_file.clear();
  config_.source.password = Secret("hunter2");
  ExpectWrong("source.password_command excludes");
  config_.source.password = Secret();
  config_.source.password_command = {""};
  ExpectWrong("expected a program");
}

}  // namespace
}  // namespace walrelay
