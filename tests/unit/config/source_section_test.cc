#include "fakes/config_validation.h"

namespace walrelay {
namespace {

using namespace std::chrono_literals;

using SourceSectionTest = ConfigValidation;

// Slot names are inserted into replication commands.
TEST_F(SourceSectionTest, SlotNamesFollowTheRulesOfPostgres) {
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

TEST_F(SourceSectionTest, PublicationNamesCanBeQuoted) {
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

TEST_F(SourceSectionTest, SourceNamesNeedNoEscapes) {
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

TEST_F(SourceSectionTest, TimeoutsHaveAMinimum) {
  config_.source.connect_timeout = 999ms;
  ExpectWrong("source.connect_timeout");
  config_.source.connect_timeout = 1s;
  config_.source.wal_sender_timeout = 999ms;
  ExpectWrong("source.wal_sender_timeout");
  config_.source.wal_sender_timeout = 0s;
  ExpectValid();
}

TEST_F(SourceSectionTest, DecodingMemoryHasTheLimitsOfPostgres) {
  config_.source.decoding_memory = 64 * 1024 - 1;
  ExpectWrong("source.decoding_memory");
  config_.source.decoding_memory = -1;
  ExpectWrong(
      "source.decoding_memory: expected \"0\", or between \"64KiB\" and \"2047GiB\", got -1");
  config_.source.decoding_memory = int64_t{1} << 41;
  ExpectWrong("source.decoding_memory");
  config_.source.decoding_memory = 64 * 1024;
  ExpectValid();
}

TEST_F(SourceSectionTest, DroppingTheSlotNeedsALimitAndExcludesCreatingIt) {
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

TEST_F(SourceSectionTest, TableOrMessagePrefixIsRequired) {
  table() = OutboxTable{.schema = "", .name = ""};
  ExpectWrong("source.table is empty");
  config_.source.message_prefixes = {"outbox"};
  ExpectValid();
  config_.source.message_prefixes.emplace_back();
  ExpectWrong("a prefix is empty");
}

TEST_F(SourceSectionTest, PasswordCommandExcludesOtherSourcesOfThePassword) {
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
