#include "fakes/config_validation.h"

namespace walrelay {
namespace {

using namespace std::chrono_literals;

using PipelineSectionTest = ConfigValidation;

TEST_F(PipelineSectionTest, ModesThatNeedTheRecordExcludeOff) {
  for (const auto mode : {PipelineMode::kSlot, PipelineMode::kTopics, PipelineMode::kExactlyOnce}) {
    for (const auto progress :
         {ProgressRecording::kOff, ProgressRecording::kAuto, ProgressRecording::kRequired}) {
      config_.pipeline.mode = mode;
      config_.pipeline.progress = progress;
      if (mode != PipelineMode::kSlot && progress == ProgressRecording::kOff) {
        ExpectWrong("excludes pipeline.progress = \"off\"");
      } else {
        ExpectValid();
      }
      EXPECT_EQ(config_.pipeline.requires_record(),
                mode != PipelineMode::kSlot || progress == ProgressRecording::kRequired);
    }
  }
}

TEST_F(PipelineSectionTest, PruningExcludesOff) {
  config_.prune.mode = PruneMode::kDelete;
  config_.pipeline.progress = ProgressRecording::kOff;
  ExpectWrong("prune.mode = \"delete\" excludes pipeline.progress = \"off\"");
}

TEST_F(PipelineSectionTest, LingerHasALimit) {
  config_.pipeline.linger = 100ms;
  ExpectValid();
  config_.pipeline.linger = 100ms + Micros(1);
  ExpectWrong("pipeline.linger");
}

// A crash repeats what was published in this interval.
TEST_F(PipelineSectionTest, ConfirmationWaitsTenSecondsAtMost) {
  config_.pipeline.confirm_interval = 10s;
  ExpectValid();
  config_.pipeline.confirm_interval = 10s + Micros(1);
  ExpectWrong("pipeline.confirm_interval");
}

TEST_F(PipelineSectionTest, IdIsAPartOfATopicsName) {
  config_.pipeline.id = std::string(128, 'a');
  ExpectValid();
  for (const std::string& wrong : {std::string(129, 'a'), std::string("orders/eu")}) {
    config_.pipeline.id = wrong;
    ExpectWrong("pipeline.id: expected at most 128 letters");
  }
}

}  // namespace
}  // namespace walrelay
