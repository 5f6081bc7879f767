#include "auth/oauth_token_sources.h"

#include <fmt/format.h>

#include "absl/strings/escaping.h"
#include "auth/json_fields.h"
#include "base/absl_strings.h"
#include "base/http_call.h"
#include "base/program.h"
#include "base/secret_file.h"
#include "base/system_clock.h"
#include "base/text.h"
#include "walrelay/config/kafka.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

absl::StatusOr<Token> TokenFrom(const Secret& text, const OauthConfig& oauth) {
  return ParseToken(text.Reveal(), SystemClock().WallNow(), oauth.token_lifetime);
}

absl::StatusOr<Token> Annotated(absl::StatusOr<Token> token, std::string_view source) {
  return token.ok() ? std::move(token) : absl::StatusOr<Token>(Annotate(token.status(), source));
}

// The provider's error, from the status and the members that RFC 6749 defines.
std::string ProviderError(const HttpReply& reply) {
  std::string text = fmt::format("HTTP status {}", reply.status);
  if (const auto fields = JsonFields::Parse(reply.body.Reveal())) {
    for (const char* name : {"error", "error_description"}) {
      if (const std::string& detail = fields->Text(name).Reveal(); !detail.empty()) {
        text += fmt::format(": {}", Printable(detail, 200));
      }
    }
  }
  return text;
}

}  // namespace

absl::StatusOr<Token> FileTokenSource::Fetch(int /*interrupt_fd*/) {
  const auto text = ReadSecretFile(oauth_.token_file);
  if (!text.ok()) {
    return Error(ErrorCode::kKafkaToken, MessageOf(text.status()), RemedyFor(text.status()));
  }
  return Annotated(TokenFrom(*text, oauth_), oauth_.token_file);
}

absl::StatusOr<Token> CommandTokenSource::Fetch(int interrupt_fd) {
  WR_ASSIGN_OR_RETURN(const Secret output, RunProgram(oauth_.token_command, ErrorCode::kKafkaToken,
                                                      oauth_.timeout, interrupt_fd));
  return Annotated(TokenFrom(output, oauth_), oauth_.token_command.front());
}

absl::StatusOr<Secret> OidcTokenSource::ClientSecret() const {
  return oauth_.client_secret_file.empty() ? oauth_.client_secret
                                           : ReadSecretFile(oauth_.client_secret_file);
}

absl::Status OidcTokenSource::Fail(std::string_view why) const {
  // Without the query, which may hold a secret.
  const std::string_view url = oauth_.token_endpoint;
  return Error(ErrorCode::kKafkaToken,
               fmt::format("{}: {}", Printable(url.substr(0, url.find('?')), 200), why));
}

absl::StatusOr<Token> OidcTokenSource::Fetch(int interrupt_fd) {
  const auto secret = ClientSecret();
  if (!secret.ok()) {
    return Error(ErrorCode::kKafkaToken, MessageOf(secret.status()), RemedyFor(secret.status()));
  }
  const Secret login(UriEncode(oauth_.client_id) + ":" + UriEncode(secret->Reveal()));
  std::string form = "grant_type=client_credentials";
  if (!oauth_.scope.empty()) {
    form += "&scope=" + UriEncode(oauth_.scope);
  }
  const auto reply = CallHttp(
      {.method = "POST",
       .url = oauth_.token_endpoint,
       .clear_text = true,  // CheckKafkaTransport() has judged the URL
       .headers = {Secret("Authorization: Basic " + absl::Base64Escape(ToAbsl(login.Reveal()))),
                   Secret("Content-Type: application/x-www-form-urlencoded"),
                   Secret("Accept: application/json")},
       .body = Secret(form),
       .ca_file = oauth_.token_endpoint_ca_file,
       .timeout = oauth_.timeout,
       .interrupt_fd = interrupt_fd});
  if (!reply.ok()) {
    return absl::IsCancelled(reply.status()) ? reply.status() : Fail(MessageOf(reply.status()));
  }
  if (reply->status != 200) {
    return Fail(ProviderError(*reply));
  }
  const auto token = TokenFrom(reply->body, oauth_);
  return token.ok() ? token : absl::StatusOr<Token>(Fail(MessageOf(token.status())));
}

}  // namespace walrelay
