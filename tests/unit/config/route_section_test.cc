#include "fakes/config_validation.h"

namespace walrelay {
namespace {

using RouteSectionTest = ConfigValidation;

TEST_F(RouteSectionTest, CommitTimeHasAHeaderOfItsOwn) {
  table().placements = {{.column = "tenant", .name = "x-tenant"},
                        {.column = "n", .where = Placement::Where::kPartition, .name = "part"}};
  for (const char* good : {"", "ce_time", "part", "commit time"}) {
    config_.route.commit_time_header = good;
    ExpectValid();
  }
  for (const char* bad : {"id", "event_type", "traceparent", "wr-pos", "x-tenant", "walrelay.x",
                          "__debezium.context.taskId"}) {
    config_.route.commit_time_header = bad;
    ExpectWrong("route.commit_time_header: records may have another header");
  }
}

}  // namespace
}  // namespace walrelay
