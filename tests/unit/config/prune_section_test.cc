#include "fakes/config_validation.h"

namespace walrelay {
namespace {

using PruneSectionTest = ConfigValidation;

// The xmin of a row does not tell whether this relay has published it.
TEST_F(PruneSectionTest, PruningExcludesSkippedOrigins) {
  config_.prune.mode = PruneMode::kDelete;
  config_.source.origin = OriginFilter::kAny;
  ExpectValid();
  config_.source.origin = OriginFilter::kNone;
  ExpectWrong("prune.mode excludes source.origin");
}

}  // namespace
}  // namespace walrelay
