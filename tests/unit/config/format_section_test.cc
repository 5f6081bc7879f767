#include "fakes/config_validation.h"

namespace walrelay {
namespace {

using FormatSectionTest = ConfigValidation;

TEST_F(FormatSectionTest, OnlyBytesHaveADelegate) {
  config_.format.key = {.format = Format::kBytes, .delegate = Delegate::kJson};
  ExpectValid();
  config_.format.key.format = Format::kJson;
  ExpectWrong("format.key_delegate: only format.key \"bytes\" has a delegate");
  config_.format.key = {};
  config_.format.value.delegate = Delegate::kString;
  ExpectWrong("format.value_delegate: only format.value \"bytes\" has a delegate");
}

TEST_F(FormatSectionTest, RawPayloadsAreNotExpanded) {
  config_.format.expand_json = true;
  ExpectWrong("format.expand_json requires format.value");
  config_.format.value.format = Format::kJson;
  ExpectValid();
}

}  // namespace
}  // namespace walrelay
