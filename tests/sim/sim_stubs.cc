// The simulator's implementation of the functions through which the core affects its process: a
// failed assertion ends the history, and a log line goes to the trace. And of those that are not
// linked: no table of the simulator has transforms, so that it does not need OpenSSL, and the
// version is compiled in elsewhere.

#include <fmt/format.h>

#include "base/check.h"
#include "base/digest.h"
#include "base/log.h"
#include "check_failure.h"
#include "context.h"
#include "sim_log.h"
#include "walrelay/config.h"
#include "walrelay/error.h"
#include "walrelay/version.h"

namespace walrelay {
namespace {

thread_local sim::Context* history = nullptr;

std::string_view TextOf(std::initializer_list<LogField> fields, std::string_view key) {
  for (const LogField& field : fields) {
    if (field.key == key) {
      return std::get<std::string>(field.value);
    }
  }
  return "";
}

// The line says which rows the operator has to publish by other means.
void ExcuseAccepted(std::initializer_list<LogField> fields) {
  const auto from = Lsn::Parse(TextOf(fields, "from"));
  const auto to = Lsn::Parse(TextOf(fields, "to"));
  if (from && to && TextOf(fields, "code") == ToString(ErrorCode::kPublicationChanged)) {
    history->oracle.ExcuseHidden(*from, *to);
  }
}

}  // namespace

void CheckFailed(const char* file, int line, const char* condition, const char* why) {
  throw sim::CheckFailure{fmt::format("{}:{}: {} ({})", file, line, condition, why)};
}

void Log(LogLevel /*level*/, std::string_view event, std::string_view message,
         std::initializer_list<LogField> fields) {
  if (history == nullptr) {
    return;
  }
  history->coverage.Count(event, "log ");
  if (event == "gap_accepted") {
    ExcuseAccepted(fields);
  }
  if (!history->trace) {
    return;
  }
  std::string line = fmt::format("  log {} {}", event, message);
  for (const LogField& field : fields) {
    line += fmt::format(" {}=", field.key);
    std::visit([&line](const auto& value) { line += fmt::format("{}", value); }, field.value);
  }
  history->Write(line);
}

void LogStatus(LogLevel level, std::string_view event, const absl::Status& status,
               std::initializer_list<LogField> fields) {
  if (history == nullptr) {
    return;
  }
  history->coverage.Count(ToString(CodeOf(status)), "logged ");
  Log(level, event, fmt::format("{} {}", ToString(CodeOf(status)), MessageOf(status)), fields);
}

std::string_view Version() {
  return "simulated";
}

struct Digest::Context {};
Digest::Digest(HashAlgorithm /*algorithm*/) {}
Digest::~Digest() = default;

absl::StatusOr<std::string_view> Digest::Hex(std::initializer_list<std::string_view> /*parts*/) {
  WR_CHECK(false, "no table of the simulator has transforms");
}

bool LogHasRoom() {
  return history == nullptr || !history->log_blocked;
}

void LogAudit(std::string_view event, const absl::Status& status,
              std::initializer_list<LogField> fields) {
  if (history != nullptr && history->log_blocked) {
    history->oracle.Fail("I18 audit", fmt::format("{} is logged while the log has no room", event));
  }
  LogStatus(LogLevel::kWarning, event, status, fields);
}

namespace sim {

LogTrace::LogTrace(Context& context) {
  history = &context;
}

LogTrace::~LogTrace() {
  history = nullptr;
}

}  // namespace sim
}  // namespace walrelay
