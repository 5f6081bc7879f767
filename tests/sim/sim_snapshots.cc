#include "sim_snapshots.h"

#include <utility>

#include "base/check.h"
#include "walrelay/error.h"

namespace walrelay::sim {
namespace {

absl::Status Unknown(std::string_view why) {
  return Error(ErrorCode::kVisibilityUnknown, why);
}

}  // namespace

void SimSnapshots::Request(int walsender_pid) {
  WR_CHECK(question_ == nullptr, "one question at a time");
  const bool connecting = !connected_ || walsender_pid_ != walsender_pid;
  if (connecting) {
    incarnation_ = server_.incarnation();
    cuts_ = network_.side_cuts;
  }
  connected_ = true;
  walsender_pid_ = walsender_pid;
  question_ = std::make_shared<Question>(Question{.connecting = connecting,
                                                  .incarnation = incarnation_,
                                                  .walsender_pid = walsender_pid,
                                                  .answered_at = std::nullopt,
                                                  .answer = XidSnapshot()});
  if (cuts_ != network_.side_cuts) {
    question_->answer = Unknown("the connection has gone");
    question_->answered_at = context_.now();
    return;
  }
  const std::weak_ptr<Question> weak = question_;
  context_.After((connecting ? 5 : 1) * network_.latency, [this, weak] {
    if (const auto question = weak.lock()) {
      Arrive(*question);
    }
  });
}

// The relay still waits for the answer, so this object exists.
void SimSnapshots::Arrive(Question& question) const {
  if (network_.unreachable || network_.side_hangs) {
    context_.coverage.Count("a snapshot request gets no answer");
    return;
  }
  question.answer = AnswerTo(question);
  question.answered_at = context_.now() + network_.latency;
}

absl::StatusOr<XidSnapshot> SimSnapshots::AnswerTo(Question& question) const {
  if (question.connecting && (network_.login_refused || network_.full || network_.side_refused)) {
    return Unknown("the server refuses the connection");
  }
  if (server_.power() != SimPostgres::Power::kUp || question.incarnation != server_.incarnation()) {
    return Unknown("the connection has gone");
  }
  const auto& sender = server_.sender();
  if (question.connecting && (!sender || sender->pid() != question.walsender_pid)) {
    return Error(ErrorCode::kConnectionLost, "the slot has another reader");
  }
  return server_.procs().Take();
}

absl::StatusOr<std::optional<XidSnapshot>> SimSnapshots::Poll() {
  WR_CHECK(question_ != nullptr, "a question is under way");
  if (!question_->answered_at || *question_->answered_at > context_.now()) {
    return std::nullopt;
  }
  const auto question = std::exchange(question_, nullptr);
  if (!question->answer.ok()) {
    Close();
    return question->answer.status();
  }
  return std::optional(*std::move(question->answer));
}

void SimSnapshots::Close() {
  question_.reset();
  connected_ = false;
}

std::optional<MonoTime> SimSnapshots::ReadableAt() const {
  return question_ ? question_->answered_at : std::nullopt;
}

}  // namespace walrelay::sim
