#include "fakes/config_validation.h"

namespace walrelay {
namespace {

using OnErrorSectionTest = ConfigValidation;

TEST_F(OnErrorSectionTest, DeadLettersNeedATopic) {
  for (auto cause : {&ErrorPolicy::null_route, &ErrorPolicy::null_key, &ErrorPolicy::topic,
                     &ErrorPolicy::too_large, &ErrorPolicy::value, &ErrorPolicy::refused}) {
    config_.on_error = {};
    config_.on_error.*cause = OnError::kSkip;
    ExpectValid();
    config_.on_error.*cause = OnError::kDeadLetter;
    ExpectWrong("on_error.dead_letter_topic");
    config_.on_error.dead_letter_topic = "dead";
    ExpectValid();
  }
}

}  // namespace
}  // namespace walrelay
