#include "admin/proof_control.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "encode/progress_codec.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

constexpr std::string_view kNone = "none";
constexpr std::string_view kProof = "proof ";

}  // namespace

std::string AnswerPublished(const std::optional<PublishedProof>& published) {
  if (!published || !published->streaming) {
    return std::string(kNone);
  }
  return fmt::format("{}{}\n{}", kProof, published->backend_pid,
                     EncodeProgress(published->progress));
}

absl::StatusOr<std::optional<PublishedProof>> ParsePublished(std::string_view answer) {
  if (answer == kNone) {
    return std::optional<PublishedProof>();
  }
  const size_t line = std::min(answer.find('\n'), answer.size());
  const std::string_view number = answer.substr(0, line).substr(std::min(kProof.size(), line));
  const char* end = number.data() + number.size();
  PublishedProof proof;
  const auto [stop, error] = std::from_chars(number.data(), end, proof.backend_pid);
  if (!answer.starts_with(kProof) || error != std::errc() || stop != end) {
    return Error(ErrorCode::kRelaySilent,
                 "the relay's version of walrelay does not support this command");
  }
  WR_ASSIGN_OR_RETURN(proof.progress,
                      DecodeProgress(answer.substr(std::min(line + 1, answer.size()))));
  return std::optional(std::move(proof));
}

}  // namespace walrelay
