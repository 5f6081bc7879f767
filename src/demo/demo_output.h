// DemoOutput: the terminal output of the demonstration. With its own brokers no line is longer than
// 100 columns.
//
// Uses colour if standard output is a terminal and NO_COLOR is not set. Not thread-safe. Text from
// records is escaped (Printable()) before it is printed.
#pragma once

#include <string_view>

#include "demo/delivery_times.h"
#include "demo/expected_events.h"
#include "demo/relay_process.h"

namespace walrelay {

class DemoOutput {
 public:
  DemoOutput();

  // A heading line, bold in colour.
  void Title(std::string_view text) const;
  // A line "  name  text", flushed at once: the next step may take seconds. `text` is printed as it
  // is.
  void Fact(std::string_view name, std::string_view text) const;
  // A highlighted line: something that the demonstration does to the relay, or requests of the
  // user.
  void Note(std::string_view text) const;
  // The column names for the lines of Event().
  void Header() const;
  // Prints one line: commit time, latency, topic and position, key, event type, start of the id.
  void Event(const PublishedEvent& event) const;
  // One line per guarantee, with a mark, then the latencies. `verdict` is of all records in the
  // topics; `times` only of those whose acknowledgement the relay printed before the SIGKILL or
  // after it.
  void Summary(const Verdict& verdict, size_t transactions, size_t rolled_back_transactions,
               const DeliveryTimes& times) const;
  // `program`: the path of the executable.
  void NextSteps(std::string_view program) const;

 private:
  void Check(bool good, std::string_view text) const;

  bool colour_;
};

}  // namespace walrelay
