#include "base/digest.h"

#include <fmt/ranges.h>
#include <openssl/evp.h>

#include "base/destroy_with.h"
#include "walrelay/config/outbox_table.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

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

}  // namespace

struct Digest::Context {
  const HashAlgorithm algorithm;
  std::unique_ptr<EVP_MD_CTX, DestroyWith<&EVP_MD_CTX_free>> evp;  // set by the first Bytes()
  unsigned char bytes[EVP_MAX_MD_SIZE];
  char hex[2 * EVP_MAX_MD_SIZE];
};

Digest::Digest(HashAlgorithm algorithm)
    : context_(new Context{.algorithm = algorithm, .evp = nullptr, .bytes = {}, .hex = {}}) {}

Digest::~Digest() = default;

// Without a method OpenSSL keeps that of the last digest, and its memory.
absl::StatusOr<std::string_view> Digest::Bytes(std::initializer_list<std::string_view> parts) {
  auto& [algorithm, evp, bytes, hex] = *context_;
  const EVP_MD* method = nullptr;
  if (evp == nullptr) {
    evp.reset(EVP_MD_CTX_new());
    method = MethodOf(algorithm);
  }
  bool done = evp != nullptr && EVP_DigestInit_ex(evp.get(), method, nullptr) == 1;
  for (const std::string_view part : parts) {
    done = done && EVP_DigestUpdate(evp.get(), part.data(), part.size()) == 1;
  }
  unsigned size = 0;
  if (!done || EVP_DigestFinal_ex(evp.get(), bytes, &size) != 1) {
    evp.reset();
    return Error(ErrorCode::kValueInvalid, "OpenSSL does not compute this digest",
                 "Permit the algorithm of the column's transform in OpenSSL's configuration.");
  }
  return std::string_view(reinterpret_cast<const char*>(bytes), size);
}

absl::StatusOr<std::string_view> Digest::Hex(std::initializer_list<std::string_view> parts) {
  WR_ASSIGN_OR_RETURN(const std::string_view bytes, Bytes(parts));
  char* const hex = context_->hex;
  const char* const end =
      fmt::format_to(hex, "{:02x}", fmt::join(context_->bytes, context_->bytes + bytes.size(), ""));
  return std::string_view(hex, static_cast<size_t>(end - hex));
}

}  // namespace walrelay
