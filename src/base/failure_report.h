// FailureReport: what a process reports to its parent when an internal error ends it.
//
// A handler of the signals that end a process in such a case (abort(), an invalid address) sends
// one message: the signal, the pipeline of the thread, and the failed WR_CHECK if there is one.
// Then the process ends by the same signal.
//
// The handler is async-signal-safe: it copies bytes to a static buffer and calls send(). It needs
// no lock and no memory, whatever the thread that failed was doing. An overflow of the stack is not
// reported, because the handler runs on the stack of the thread.
//
// Source: signal-safety(7).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "walrelay/pipeline_identity.h"

namespace walrelay {

struct FailureReport {
  // The pipeline in whose LogScope the thread failed. nullopt: the thread had none, as threads of
  // libraries have.
  std::optional<PipelineIdentity> pipeline;
  std::string what;  // one line: the failed WR_CHECK, or the signal
};

// From now on the process sends a report before a signal ends it. `fd`: a socket that keeps the
// limits of messages; it stays open until the end. The report of the first thread counts.
// Call it before other threads start.
void ReportFailuresTo(int fd);

// If the calling thread fails, its report has this text instead of the signal. `text` must outlive
// the process.
void SetFailureText(const char* text);

// Returns nullopt if the message is not a report.
std::optional<FailureReport> ParseFailureReport(std::string_view message);

// "signal 11 (SIGSEGV)".
std::string DescribeSignal(int signal);

}  // namespace walrelay
