#include "auth/aws_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>

#include "base/text.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// STS explains an error in XML.
std::string StatusText(const HttpReply& reply) {
  const std::string_view code = XmlElement(reply.body.Reveal(), "Code");
  const std::string_view message = XmlElement(reply.body.Reveal(), "Message");
  return code.empty() ? fmt::format("HTTP status {}", reply.status)
                      : fmt::format("HTTP status {}: {}: {}", reply.status, Printable(code, 80),
                                    Printable(message, 300));
}

}  // namespace

std::string_view XmlElement(std::string_view document, std::string_view name) {
  const std::string open = fmt::format("<{}>", name);
  const size_t start = document.find(open);
  const size_t end = document.find(fmt::format("</{}>", name), start);
  return end == std::string_view::npos
             ? std::string_view()
             : document.substr(start + open.size(), end - start - open.size());
}

std::string AwsVariable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::optional<WallTime> ParseAwsTime(const std::string& text) {
  std::tm parts{};
  const char* rest = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (rest == nullptr || !std::string_view(rest).ends_with('Z')) {
    return std::nullopt;
  }
  return WallTime(std::chrono::seconds(::timegm(&parts)));
}

absl::Status AwsError(std::string_view provider, std::string_view why) {
  return Error(ErrorCode::kKafkaToken, fmt::format("{}: {}", provider, why),
               "Check the AWS credentials of this process; walrelay retries automatically.");
}

absl::StatusOr<Secret> CallAws(std::string_view provider, HttpCall call,
                               const AwsCallOptions& options) {
  call.timeout = std::min(call.timeout, options.timeout);
  call.interrupt_fd = options.interrupt_fd;
  auto reply = CallHttp(call);
  if (!reply.ok()) {
    return absl::IsCancelled(reply.status()) ? reply.status()
                                             : AwsError(provider, MessageOf(reply.status()));
  }
  return reply->status == 200 ? absl::StatusOr<Secret>(std::move(reply->body))
                              : AwsError(provider, StatusText(*reply));
}

}  // namespace walrelay
