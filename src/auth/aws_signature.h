// AWS Signature Version 4: proves to AWS who sends a request.
//
// Pure. Source: AWS documentation, "Create a signed AWS API request"; tests use AWS's test vectors.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "walrelay/clock.h"
#include "walrelay/secret.h"

namespace walrelay {

struct AwsCredentials {
  std::string access_key_id;
  Secret secret_access_key;
  Secret session_token;            // empty: credentials of a user, which do not expire
  std::optional<WallTime> expiry;  // nullopt: unknown, or never
};

// The scope of a signature.
struct SigningScope {
  std::string region;
  std::string service;
  WallTime time;
};

// A request before it is signed. Names and values of the query are not encoded.
struct AwsRequest {
  std::string method = "GET";
  std::string host;
  std::string path = "/";  // encoded
  std::vector<std::pair<std::string, std::string>> query;
  std::vector<std::pair<std::string, std::string>> headers;  // lower-case names, without host
  std::string body;
};

// The https URL that authenticates its bearer for `lifetime`. Contains the session token.
std::string PresignUrl(const AwsRequest& request, const SigningScope& scope,
                       const AwsCredentials& credentials, std::chrono::seconds lifetime);

// The headers to add to the request: X-Amz-Date, X-Amz-Security-Token and Authorization.
std::vector<Secret> SignHeaders(AwsRequest request, const SigningScope& scope,
                                const AwsCredentials& credentials);

}  // namespace walrelay
