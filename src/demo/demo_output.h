// DemoOutput: the terminal output of the demonstration. With its own brokers no line is longer than
// 100 columns.
#pragma once

#include <string_view>

#include "demo/delivery_times.h"
#include "demo/expected_events.h"
#include "demo/relay_process.h"

namespace walrelay {

class DemoOutput {
 public:
  DemoOutput();

  void Title(std::string_view text) const;
  void Fact(std::string_view name, std::string_view text) const;
  void Note(std::string_view text) const;
  void Header() const;
  // Prints one line: commit time, latency, topic and position, key, event type, start of the id.
  void Event(const PublishedEvent& event) const;
  void Summary(const Verdict& verdict, size_t transactions, size_t rolled_back_transactions,
               const DeliveryTimes& times) const;
  void NextSteps(std::string_view program) const;

 private:
  void Check(bool good, std::string_view text) const;

  bool colour_;
};

}  // namespace walrelay
