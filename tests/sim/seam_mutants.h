// SeamMutants: mutants that change the messages and positions that pass through the seam, so that
// the core stays unchanged. Each function does nothing unless its mutant is selected.
#pragma once

#include <string>

#include "walrelay/lsn.h"
#include "walrelay/replication_source.h"

namespace walrelay::sim {

class SeamMutants {
 public:
  // Resets the state of a connection.
  void Forget() { described_ = false; }
  // Changes what was read from the catalog.
  static void Misread(SourceInfo& info);
  // Changes a message of the stream. False: the message is skipped.
  bool Misread(std::string& message);
  // Changes a status update; `ending`: the process is stopping. False: the update is not sent.
  static bool Misreport(StandbyStatus& status, bool ending);

 private:
  bool described_ = false;  // the outbox was described on this connection
  Lsn highest_row_;
};

}  // namespace walrelay::sim
