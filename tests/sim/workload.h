// Workload: the applications that write to the database.
#pragma once

#include "context.h"
#include "scenario.h"
#include "sim_postgres.h"

namespace walrelay::sim {

class Workload {
 public:
  Workload(Context& context, SimPostgres& postgres, const Scenario& scenario)
      : context_(context), postgres_(postgres), scenario_(scenario) {}

  // Schedules every transaction of the scenario.
  void Schedule();
  // Commits one more transaction at once.
  void CommitOne();
  // Commits another transaction where `other` had committed: at another time with the same xid, if
  // that can be assigned, or with another xid at the same time.
  void CommitLike(const LogTransaction& other, bool same_xid);

 private:
  struct Open;

  void Begin(const PlannedTransaction& planned);
  void WriteRows(Open& open, uint32_t count);
  void WriteRow(Open& open);
  void WriteOtherRow(Open& open);
  void End(Open& open);
  Flaw DrawFlaw(Random& random) const;

  Context& context_;
  SimPostgres& postgres_;
  const Scenario& scenario_;
};

}  // namespace walrelay::sim
