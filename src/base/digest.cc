#include "base/digest.h"

#include <openssl/evp.h>

#include <memory>

#include "walrelay/error.h"

namespace walrelay {
namespace {

struct FreeDigestContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

const EVP_MD* MethodOf(HashAlgorithm algorithm) {
  switch (algorithm) {
    case HashAlgorithm::kMd5:
      return EVP_md5();
    case HashAlgorithm::kSha1:
      return EVP_sha1();
    case HashAlgorithm::kSha224:
      return EVP_sha224();
    case HashAlgorithm::kSha256:
      return EVP_sha256();
    case HashAlgorithm::kSha384:
      return EVP_sha384();
    case HashAlgorithm::kSha512:
      return EVP_sha512();
    case HashAlgorithm::kSha512To224:
      return EVP_sha512_224();
    case HashAlgorithm::kSha512To256:
      return EVP_sha512_256();
    case HashAlgorithm::kSha3To224:
      return EVP_sha3_224();
    case HashAlgorithm::kSha3To256:
      return EVP_sha3_256();
    case HashAlgorithm::kSha3To384:
      return EVP_sha3_384();
    case HashAlgorithm::kSha3To512:
      return EVP_sha3_512();
  }
  return nullptr;
}

std::string LowerHex(const unsigned char* bytes, size_t size) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(2 * size);
  for (size_t i = 0; i < size; ++i) {
    out += kDigits[bytes[i] >> 4];
    out += kDigits[bytes[i] & 0xF];
  }
  return out;
}

}  // namespace

absl::StatusOr<std::string> HexDigest(HashAlgorithm algorithm,
                                      std::initializer_list<std::string_view> parts) {
  const std::unique_ptr<EVP_MD_CTX, FreeDigestContext> context(EVP_MD_CTX_new());
  bool done =
      context != nullptr && EVP_DigestInit_ex(context.get(), MethodOf(algorithm), nullptr) == 1;
  for (const std::string_view part : parts) {
    done = done && EVP_DigestUpdate(context.get(), part.data(), part.size()) == 1;
  }
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  if (!done || EVP_DigestFinal_ex(context.get(), digest, &size) != 1) {
    return Error(ErrorCode::kValueInvalid, "OpenSSL does not compute this digest",
                 "Permit the algorithm of the column's transform in OpenSSL's configuration.");
  }
  return LowerHex(digest, size);
}

}  // namespace walrelay
