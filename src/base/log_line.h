// LogLine: one line of the log, as JSON or as text.
//
// Values are escaped and truncated: text from rows and servers can neither end a line nor imitate a
// field. Pure, except for the time of the line. For log.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "walrelay/log_level.h"
#include "walrelay/pipeline_identity.h"

namespace walrelay {

// The content of a line. Views and pointers are valid while it is written.
struct LogLine {
  LogLevel level;
  const PipelineIdentity* pipeline;  // nullptr: none
  std::string_view event;
  std::string_view message;
  const std::vector<LogField>& fields;
};

// Both without the end of the line. A JSON line names the pipeline always, a text line only with
// `name_pipeline`.
std::string JsonLine(const LogLine& line);
std::string TextLine(const LogLine& line, bool colour, bool name_pipeline);

}  // namespace walrelay
