#include "fakes/config_validation.h"

namespace walrelay {
namespace {

using namespace std::chrono_literals;

using ProcessSectionTest = ConfigValidation;

TEST_F(ProcessSectionTest, SlotIsNotPolledWithoutAPause) {
  config_.metrics.slot_poll_interval = 100ms;
  ExpectValid();
  config_.metrics.slot_poll_interval = 99ms;
  ExpectWrong("metrics.slot_poll_interval: expected at least \"100ms\", got \"99ms\"");
}

}  // namespace
}  // namespace walrelay
