#include "fakes/config_validation.h"

namespace walrelay {
namespace {

using namespace std::chrono_literals;

using PruneSectionTest = ConfigValidation;

// The xmin of a row does not tell whether this relay has published it.
TEST_F(PruneSectionTest, PruningExcludesSkippedOrigins) {
  config_.prune.mode = PruneMode::kDelete;
  config_.source.origin = OriginFilter::kAny;
  ExpectValid();
  config_.source.origin = OriginFilter::kNone;
  ExpectWrong("prune.mode excludes source.origin");
}

TEST_F(PruneSectionTest, PassesAndStatementsHaveLimits) {
  config_.prune.interval = 1s;
  config_.prune.batch_rows = 100'000;
  config_.prune.max_rows_per_second = 1;
  config_.prune.partitions_ahead = 1'000;
  ExpectValid();
  config_.prune.interval = 1s - Micros(1);
  ExpectWrong("prune.interval: expected at least \"1s\"");
  config_.prune.interval = 1s;
  for (const int64_t wrong : {0, 100'001}) {
    config_.prune.batch_rows = wrong;
    ExpectWrong("prune.batch_rows: expected 1 to 100000 rows");
  }
  config_.prune.batch_rows = 1;
  config_.prune.max_rows_per_second = 0;
  ExpectWrong("prune.max_rows_per_second: expected at least 1");
  config_.prune.max_rows_per_second = 1;
  for (const int64_t wrong : {0, 1'001}) {
    config_.prune.partitions_ahead = wrong;
    ExpectWrong("prune.partitions_ahead: expected 1 to 1000");
  }
}

}  // namespace
}  // namespace walrelay
