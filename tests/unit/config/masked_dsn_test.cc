// Tests only the masking; reference_test.cc tests the output of `config show`.
#include "config/masked_dsn.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace walrelay {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(MaskedDsnTest, OnlyThePasswordIsMasked) {
  const std::pair<const char*, const char*> kCases[] = {
      {"host=db password=hunter2 user=u", "host=db password=*** user=u"},
      {"password = 'a b'  host=db", "password = ***  host=db"},
      {"password='it\\'s' host=db", "password=*** host=db"},
      {"host=db password=", "host=db password=***"},
      {"postgresql://u:hunter2@db/shop?a=b", "postgresql://u:***@db/shop?a=b"},
      {"postgres://db/shop?password=x&a=b", "postgres://db/shop?password=***&a=b"},
      {"postgres://db/shop?a=b&password=x", "postgres://db/shop?a=b&password=***"},
  };
  for (const auto& [dsn, masked] : kCases) {
    EXPECT_EQ(MaskedDsn(dsn), masked);
  }
}

// libpq accepts any whitespace between the pairs, as in a multi-line string in the file.
TEST(MaskedDsnTest, PairsMayBeSeparatedByAnyBlank) {
  for (const char* dsn : {"host=db\npassword=hunter2\nuser=u", "host=db\tpassword=hunter2\tuser=u",
                          "\n  host=db\r\n  password=hunter2\r\n", "host=db\vpassword\f=\thunter2",
                          "user='a'\npassword='hunter2'", "host = db\npassword = hunter2"}) {
    EXPECT_THAT(MaskedDsn(dsn), AllOf(Not(HasSubstr("hunter2")), HasSubstr("***"))) << dsn;
    EXPECT_THAT(MaskedDsn(dsn), Not(HasSubstr("\nhunter"))) << dsn;
  }
  EXPECT_EQ(MaskedDsn("host=db\npassword=hunter2\nuser=u"), "host=db\npassword=***\nuser=u");
}

TEST(MaskedDsnTest, DsnWithoutPasswordIsUnchanged) {
  for (const char* dsn : {"", "host=db", "host='a b' user=u", "a=b\nc=d", "=", "= =",
                          "postgresql://", "postgresql:///", "postgres://?", "postgresql://u@h/d",
                          "postgresql://[::1]:5432/d?a&b=c", "service=shop"}) {
    EXPECT_EQ(MaskedDsn(dsn), dsn);
  }
}

// A "/" in a password ends the hosts of a URI, so that libpq finds a port and a database in it.
TEST(MaskedDsnTest, PasswordThatIsNotEncodedIsMasked) {
  for (const char* part : {"Kx9/ZZZ", "1/ZZZ", "/ZZZ", "ZZZ/ZZZ?Z=Z", "Z#Z/?Z", "Z@Z/Z", "Z:Z/Z"}) {
    for (const char* rest : {"@db.internal/shop", "@db:5432/shop?a=b", "@db/shop?password=ZZZ",
                             "@db", "@db/shop?a=b&sslpassword=ZZZ"}) {
      for (const char* scheme : {"postgresql://", "postgres://", "jdbc:postgresql://", "pg://"}) {
        const std::string dsn = fmt::format("{}walrelay:{}{}", scheme, part, rest);
        EXPECT_THAT(MaskedDsn(dsn), AllOf(Not(HasSubstr("Z")), HasSubstr("db"))) << dsn;
      }
    }
  }
  EXPECT_EQ(MaskedDsn("postgresql://walrelay:Kx9/sEcReT+abc@db.internal/shop"),
            "postgresql://***@db.internal/shop");
  EXPECT_EQ(MaskedDsn("jdbc:postgresql://db/shop?user=u&password=hunter2"),
            "jdbc:postgresql://db/shop?user=u&password=***");
  EXPECT_EQ(MaskedDsn("walrelay:hunter2@db:5432/shop"), "***@db:5432/shop");
  EXPECT_EQ(MaskedDsn("hunter2"), "***");
}

// Incomplete strings are masked up to their end, without an out-of-bounds read.
TEST(MaskedDsnTest, EveryPrefixOfAConnectionStringIsMasked) {
  for (const std::string dsn :
       {"password='ZZZ' host=db", "host = 'x\\'y' password = ZZZ\\ ZZZ user=u",
        "host=db\npassword='ZZZ"}) {
    for (size_t length = 0; length <= dsn.size(); ++length) {
      EXPECT_THAT(MaskedDsn(dsn.substr(0, length)), Not(HasSubstr("Z"))) << length;
    }
  }
  // Until the "@" is reached, a URI's user and password can also be a host and a port.
  const std::string uri = "postgresql://u:ZZZ@db1:1,db2:2/shop?sslpassword=ZZZ&a=b";
  for (size_t length = uri.find('@') + 1; length <= uri.size(); ++length) {
    EXPECT_THAT(MaskedDsn(uri.substr(0, length)), Not(HasSubstr("Z"))) << length;
  }
}

TEST(MaskedDsnTest, RandomBytesDoNotCrash) {
  constexpr std::string_view kAlphabet = "ab=' \\/@:?&%\n\tpassword";
  std::mt19937_64 random(7);
  for (int round = 0; round < 20'000; ++round) {
    std::string dsn(random() % 40, '\0');
    std::generate(dsn.begin(), dsn.end(), [&] { return kAlphabet[random() % kAlphabet.size()]; });
    (void)MaskedDsn(dsn);
    (void)MaskedDsn("postgresql://" + dsn);
  }
}

}  // namespace
}  // namespace walrelay
