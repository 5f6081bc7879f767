#include "postgres/decoding_start.h"

#include <gtest/gtest.h>

namespace walrelay {
namespace {

std::optional<Lsn> Confirmed(std::string_view detail) {
  return ConfirmedAtDecodingStart("CreateDecodingContext", detail);
}

TEST(DecodingStartTest, TheLogMessageHasTheConfirmedPosition) {
  EXPECT_EQ(Confirmed("Streaming transactions committing after 0/1519358, reading WAL from "
                      "0/1519320."),
            Lsn(0x1519358));
}

TEST(DecodingStartTest, ATranslationMayChangeTheOrder) {
  EXPECT_EQ(Confirmed("\xE8\xAA\xAD 16/A0000000\xE3\x81\x8B\xE3\x82\x89, 16/B374D848"),
            Lsn(0x16'B374'D848));
}

TEST(DecodingStartTest, AnyOtherMessageHasNone) {
  EXPECT_EQ(ConfirmedAtDecodingStart("SnapBuildFindSnapshot",
                                     "Streaming transactions committing after 0/2, reading WAL "
                                     "from 0/1."),
            std::nullopt);
  for (const std::string_view detail :
       {"", "/", "0/1", "0/1, 0/2, 0/3", "0/123456789 and 0/1", "0/1, 0/x", "dead/beef/ 1/2"}) {
    EXPECT_EQ(Confirmed(detail), std::nullopt) << detail;
  }
}

}  // namespace
}  // namespace walrelay
