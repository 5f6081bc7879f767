#include "auth/base64.h"

#include <openssl/evp.h>

#include <algorithm>

namespace walrelay {
namespace {

const unsigned char* BytesOf(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

std::string Base64(std::string_view bytes) {
  std::string out((bytes.size() + 2) / 3 * 4 + 1, '\0');  // OpenSSL adds a zero byte
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()), BytesOf(bytes),
                                   static_cast<int>(bytes.size()));
  out.resize(static_cast<size_t>(size));
  return out;
}

std::string Base64Url(std::string_view bytes) {
  std::string out = Base64(bytes);
  out.resize(out.find_last_not_of('=') + 1);
  std::replace(out.begin(), out.end(), '+', '-');
  std::replace(out.begin(), out.end(), '/', '_');
  return out;
}

std::optional<std::string> DecodeBase64Url(std::string_view text) {
  std::string padded(text.substr(0, text.find_last_not_of('=') + 1));
  const size_t padding = (4 - padded.size() % 4) % 4;
  // OpenSSL accepts white space and the other alphabet.
  const auto foreign = [](char c) { return c == '+' || c == '/' || c == '=' || c <= ' '; };
  if (padding == 3 || std::any_of(padded.begin(), padded.end(), foreign)) {
    return std::nullopt;
  }
  padded.append(padding, '=');
  std::replace(padded.begin(), padded.end(), '-', '+');
  std::replace(padded.begin(), padded.end(), '_', '/');
  std::string out(padded.size() / 4 * 3, '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()), BytesOf(padded),
                                   static_cast<int>(padded.size()));
  if (size < 0) {
    return std::nullopt;
  }
  // OpenSSL counts the bytes of the padding.
  out.resize(static_cast<size_t>(size) - padding);
  return out;
}

}  // namespace walrelay
