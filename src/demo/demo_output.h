// DemoOutput: the terminal output of the demonstration.
#pragma once

#include <string_view>
#include <vector>

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
  // Prints one line: commit time, latency, topic and position, key, headers.
  void Event(const PublishedEvent& event);
  void Summary(const Verdict& verdict, size_t transactions, size_t rolled_back_transactions) const;

 private:
  void Check(bool good, std::string_view text) const;

  bool colour_;
  std::vector<Micros> latencies_;
};

}  // namespace walrelay
