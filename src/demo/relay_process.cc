#include "demo/relay_process.h"

#include <poll.h>
#include <signal.h>
#include <simdjson.h>
#include <unistd.h>

#include <filesystem>

#include "absl/time/time.h"
#include "base/absl_strings.h"
#include "base/check.h"

namespace walrelay {
namespace {

using simdjson::dom::element;

// RFC 3339; the epoch if it is not.
WallTime TimeOf(std::string_view text) {
  absl::Time time;
  return absl::ParseTime(absl::RFC3339_full, ToAbsl(text), &time, nullptr)
             ? WallTime(Micros(absl::ToUnixMicros(time)))
             : WallTime();
}

// "" or 0 for a member that is missing or has another type.
std::string TextOf(element line, std::string_view field) {
  std::string_view text;
  return line[field].get_string().get(text) == simdjson::SUCCESS ? std::string(text) : "";
}

int64_t NumberOf(element line, std::string_view field) {
  int64_t number = 0;
  return line[field].get_int64().get(number) == simdjson::SUCCESS ? number : 0;
}

void ReadHeaders(element line, PublishedEvent& event) {
  simdjson::dom::array headers;
  if (line["headers"].get_array().get(headers) != simdjson::SUCCESS) {
    return;
  }
  for (const element header : headers) {
    std::vector<std::string> pair;
    simdjson::dom::array parts;
    if (header.get_array().get(parts) != simdjson::SUCCESS) {
      return;
    }
    for (const element part : parts) {
      std::string_view text;
      pair.emplace_back(part.get_string().get(text) == simdjson::SUCCESS ? text : "NULL");
    }
    if (pair.size() == 2) {
      event.headers.emplace_back(pair[0], pair[1]);
    }
  }
}

}  // namespace

std::optional<PublishedEvent> ParsePublishedEvent(const std::string& line) {
  // Not simdjson::ondemand: its values must not be used after a malformed line.
  simdjson::dom::parser parser;
  element fields;
  if (parser.parse(line).get(fields) != simdjson::SUCCESS || !fields.is_object()) {
    return std::nullopt;
  }
  PublishedEvent event;
  event.committed = TimeOf(TextOf(fields, "committed"));
  event.latency = Micros(NumberOf(fields, "latency_us"));
  event.topic = TextOf(fields, "topic");
  event.partition = NumberOf(fields, "partition");
  event.offset = NumberOf(fields, "offset");
  event.key = TextOf(fields, "key");
  ReadHeaders(fields, event);
  return event;
}

RelayProcess::RelayProcess(std::vector<std::string> arguments, std::vector<std::string> environment,
                           std::string log_file)
    : arguments_(std::move(arguments)),
      environment_(std::move(environment)),
      log_file_(std::move(log_file)) {
  // An empty configuration file: the demonstration must not read the user's walrelay.toml.
  arguments_.insert(arguments_.begin(),
                    {Program(), "run", "--config", "/dev/null", "--events", "json"});
}

// The running executable itself, wherever it is installed.
std::string RelayProcess::Program() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored).string();
}

absl::Status RelayProcess::Start() {
  // Variables of the user's own configuration are withheld: they would change the relay's.
  auto child = ChildProcess::Start({.arguments = arguments_,
                                    .environment = environment_,
                                    .withheld = "WALRELAY_",
                                    .error_file = log_file_,
                                    .capture_output = true});
  if (child.ok()) {
    child_.emplace(*std::move(child));
    // A line that the killed process had not completed is discarded.
    buffer_.clear();
  }
  return child.status();
}

void RelayProcess::Kill() {
  WR_CHECK(child_.has_value(), "the process was started");
  child_->Signal(SIGKILL);
  child_->Wait();
}

int RelayProcess::Stop() {
  WR_CHECK(child_.has_value(), "the process was started");
  child_->Signal(SIGTERM);
  return child_->Wait();
}

bool RelayProcess::running() {
  return child_ && child_->running();
}

void RelayProcess::ReadEvents(Micros wait,
                              const std::function<void(const PublishedEvent&)>& handle) {
  pollfd polled{child_ ? child_->output() : -1, POLLIN, 0};
  char chunk[16 * 1024];
  // Waits once for the first output, and then takes what is there.
  for (int timeout = static_cast<int>(wait.count() / 1000); ::poll(&polled, 1, timeout) > 0;
       timeout = 0) {
    const ssize_t size = ::read(polled.fd, chunk, sizeof(chunk));
    if (size <= 0) {
      return;
    }
    buffer_.append(chunk, static_cast<size_t>(size));
    for (size_t end = buffer_.find('\n'); end != std::string::npos; end = buffer_.find('\n')) {
      if (const auto event = ParsePublishedEvent(buffer_.substr(0, end))) {
        handle(*event);
      }
      buffer_.erase(0, end + 1);
    }
  }
}

}  // namespace walrelay
