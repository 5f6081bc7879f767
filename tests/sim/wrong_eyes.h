// What wrong relays do not see, and what they say: mutants that live in the seam, so that the core
// stays as it is. Each function does nothing unless its mutant is selected.
#pragma once

#include <string>

#include "walrelay/lsn.h"
#include "walrelay/replication_source.h"

namespace walrelay::sim {

class WrongEyes {
 public:
  // A new connection.
  void Forget() { described_ = false; }
  // What the catalog says.
  static void Misread(SourceFacts& facts);
  // A message of the stream. False: it is passed over.
  bool Misread(std::string& message);
  // A status update, while the process ends or not. False: it is not sent.
  static bool Misreport(StandbyStatus& status, bool ending);

 private:
  bool described_ = false;  // the outbox, in this connection
  Lsn highest_row_;
};

}  // namespace walrelay::sim
