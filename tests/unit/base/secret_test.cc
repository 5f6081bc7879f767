#include "walrelay/secret.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <concepts>
#include <ostream>
#include <string>
#include <utility>

namespace walrelay {
namespace {

// Longer than the inline buffer of a std::string.
const std::string kLong(100, 'x');

template <typename T>
concept Streamable = requires(std::ostream& out, const T& value) {
  out << value;
};

static_assert(Streamable<std::string> && !Streamable<Secret>);
static_assert(fmt::is_formattable<std::string>::value && !fmt::is_formattable<Secret>::value);
static_assert(!std::convertible_to<Secret, std::string>);
static_assert(!std::convertible_to<std::string, Secret>);

TEST(SecretTest, SecretIsCopied) {
  const Secret secret(kLong);
  Secret copy = secret;
  copy = std::as_const(copy);
  EXPECT_EQ(copy.Reveal(), kLong);
  copy = Secret("other");
  EXPECT_EQ(copy.Reveal(), "other");
  EXPECT_EQ(secret.Reveal(), kLong);
}

TEST(SecretTest, MovedFromSecretIsEmpty) {
  for (const std::string& value : {std::string("short"), kLong}) {
    Secret first(value);
    Secret second(std::move(first));
    EXPECT_TRUE(first.empty());  // NOLINT: that it was moved from is the claim
    Secret third;
    third = std::move(second);
    EXPECT_TRUE(second.empty());  // NOLINT
    EXPECT_EQ(third.Reveal(), value);
  }
}

// The bytes in the buffer, which a plain string would leave behind.
TEST(SecretTest, BytesAreWiped) {
  Secret secret("hunter2");  // short: stored in the object, which still exists
  const char* bytes = secret.Reveal().data();
  const Secret moved(std::move(secret));
  EXPECT_EQ(std::string(bytes, 7), std::string(7, '\0'));
}

}  // namespace
}  // namespace walrelay
