#include "base/digest.h"

#include <gtest/gtest.h>

#include <string>

#include "fakes/status_matchers.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

// The digests of "abc" are those of FIPS 180-4, FIPS 202 and RFC 1321.
TEST(DigestTest, EachAlgorithmIsThatOfItsName) {
  const std::pair<HashAlgorithm, std::string> kOfAbc[] = {
      {HashAlgorithm::kMd5, "900150983cd24fb0d6963f7d28e17f72"},
      {HashAlgorithm::kSha1, "a9993e364706816aba3e25717850c26c9cd0d89d"},
      {HashAlgorithm::kSha224, "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7"},
      {HashAlgorithm::kSha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
      {HashAlgorithm::kSha384,
       "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134"
       "c825a7"},
      {HashAlgorithm::kSha512,
       "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3"
       "feebbd454d4423643ce80e2a9ac94fa54ca49f"},
      {HashAlgorithm::kSha512To224, "4634270f707b6a54daae7530460842e20e37ed265ceee9a43e8924aa"},
      {HashAlgorithm::kSha512To256,
       "53048e2681941ef99b2e29b76b4c7dabe4c2d0c634fc6d46e0e2f13107e7af23"},
      {HashAlgorithm::kSha3To224, "e642824c3f8cf24ad09234ee7d3c766fc9a3a5168d0c94ad73b46fdf"},
      {HashAlgorithm::kSha3To256,
       "3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532"},
      {HashAlgorithm::kSha3To384,
       "ec01498288516fc926459f58e2c6ad8df9b473cb0fc08c2596da7cf0e49be4b298d88cea927ac7f539f1edf228"
       "376d25"},
      {HashAlgorithm::kSha3To512,
       "b751850b1a57168a5693cd924b6b096e08f621827444f70d884f5d0240d2712e10e116e9192af3c91a7ec57647"
       "e3934057340b4cf408d5a56592f8274eec53f0"}};
  for (const auto& [algorithm, digest] : kOfAbc) {
    EXPECT_THAT(Digest(algorithm).Hex({"a", "", "bc"}), IsOkAndHolds(digest));
  }
}

TEST(DigestTest, EachDigestIsOfItsOwnParts) {
  constexpr std::string_view kOfNothing = "d41d8cd98f00b204e9800998ecf8427e";
  Digest digest(HashAlgorithm::kMd5);
  EXPECT_THAT(digest.Hex({}), IsOkAndHolds(kOfNothing));
  EXPECT_THAT(digest.Hex({"abc"}), IsOkAndHolds(std::string("900150983cd24fb0d6963f7d28e17f72")));
  EXPECT_THAT(digest.Hex({}), IsOkAndHolds(kOfNothing));
}

TEST(DigestTest, BytesAreThoseOfTheHexadecimalDigest) {
  Digest digest(HashAlgorithm::kMd5);
  EXPECT_THAT(digest.Bytes({"abc"}),
              IsOkAndHolds(std::string("\x90\x01\x50\x98\x3c\xd2\x4f\xb0\xd6\x96\x3f\x7d\x28\xe1"
                                       "\x7f\x72")));
}

}  // namespace
}  // namespace walrelay
