// The sources of [kafka.oauth]: a file, a command, and OIDC client credentials.
//
// Each keeps a copy of the configuration, and takes the time of day from the system's clock.
#pragma once

#include <utility>

#include "auth/token_source.h"
#include "walrelay/config/kafka.h"

namespace walrelay {

// A file that another process replaces, such as a projected Kubernetes service account token. It
// must not be readable by other users.
class FileTokenSource final : public TokenSource {
 public:
  explicit FileTokenSource(OauthConfig oauth) : oauth_(std::move(oauth)) {}
  absl::StatusOr<Token> Fetch(int interrupt_fd) override;
  Micros recheck_interval() const override { return std::chrono::seconds(2); }

 private:
  const OauthConfig oauth_;
};

// A program that prints a token.
class CommandTokenSource final : public TokenSource {
 public:
  explicit CommandTokenSource(OauthConfig oauth) : oauth_(std::move(oauth)) {}
  absl::StatusOr<Token> Fetch(int interrupt_fd) override;

 private:
  const OauthConfig oauth_;
};

// OAuth 2.0 client credentials at an OIDC provider's token endpoint, with HTTP Basic
// authentication of the client. Source: RFC 6749, sections 2.3.1, 4.4 and 5.2.
class OidcTokenSource final : public TokenSource {
 public:
  explicit OidcTokenSource(OauthConfig oauth) : oauth_(std::move(oauth)) {}
  absl::StatusOr<Token> Fetch(int interrupt_fd) override;

 private:
  absl::StatusOr<Secret> ClientSecret() const;
  absl::Status Fail(std::string_view why) const;

  const OauthConfig oauth_;
};

}  // namespace walrelay
