#include "auth/base64.h"

#include <gtest/gtest.h>

namespace walrelay {
namespace {

// RFC 4648, section 10.
TEST(Base64Test, TestVectorsOfTheRfc) {
  const std::pair<const char*, const char*> vectors[] = {{"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"fooba", "Zm9vYmE="},
                                                         {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : vectors) {
    EXPECT_EQ(Base64(bytes), text);
    EXPECT_EQ(DecodeBase64Url(text), bytes);
    EXPECT_EQ(DecodeBase64Url(Base64Url(bytes)), bytes);
  }
}

TEST(Base64Test, UrlAlphabetHasNoPadding) {
  EXPECT_EQ(Base64("\xFB\xFF\xFE?"), "+//+Pw==");
  EXPECT_EQ(Base64Url("\xFB\xFF\xFE?"), "-__-Pw");
  EXPECT_EQ(DecodeBase64Url("-__-Pw"), "\xFB\xFF\xFE?");
}

TEST(Base64Test, OtherTextIsRejected) {
  for (const char* text : {"A", "AAAAA", "+/+/", "Zm 9v", "Zm9v\n", "Z!9v", "Zg==Zg=="}) {
    EXPECT_EQ(DecodeBase64Url(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace walrelay
