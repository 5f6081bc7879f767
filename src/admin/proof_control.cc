#include "admin/proof_control.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <utility>

#include "encode/progress_codec.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

constexpr std::string_view kNone = "none";
constexpr std::string_view kProof = "proof ";

bool Take(std::string_view& text, std::string_view expected) {
  const bool found = text.starts_with(expected);
  text.remove_prefix(found ? expected.size() : 0);
  return found;
}

template <typename Number>
bool TakeNumber(std::string_view& text, Number& out) {
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  text.remove_prefix(static_cast<size_t>(stop - text.data()));
  return error == std::errc();
}

}  // namespace

std::string AnswerPublished(const std::optional<PublishedProof>& published) {
  if (!published || !published->current) {
    return std::string(kNone);
  }
  return fmt::format("{}{} {}\n{}", kProof, published->backend_pid,
                     published->server_started.time_since_epoch().count(),
                     EncodeProgress(published->progress));
}

absl::StatusOr<std::optional<PublishedProof>> ParsePublished(std::string_view answer) {
  if (answer == kNone) {
    return std::optional<PublishedProof>();
  }
  const size_t line = std::min(answer.find('\n'), answer.size());
  std::string_view head = answer.substr(0, line);
  PublishedProof proof;
  int64_t started = 0;
  if (!Take(head, kProof) || !TakeNumber(head, proof.backend_pid) || !Take(head, " ") ||
      !TakeNumber(head, started) || !head.empty()) {
    return Error(ErrorCode::kRelaySilent,
                 "the relay's version of walrelay does not support this command");
  }
  proof.server_started = WallTime(Micros(started));
  WR_ASSIGN_OR_RETURN(proof.progress,
                      DecodeProgress(answer.substr(std::min(line + 1, answer.size()))));
  return std::optional(std::move(proof));
}

}  // namespace walrelay
