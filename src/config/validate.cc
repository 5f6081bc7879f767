#include <utility>

#include "base/check.h"
#include "config/loader.h"
#include "config/section.h"
#include "walrelay/config.h"
#include "walrelay/error.h"

namespace walrelay {

std::vector<OptionError> FindInvalidValues(const Config& config, ConfigNeeds needs) {
  WR_CHECK(!config.source.tables.empty(), "the loader builds a table");
  ConfigErrors errors(config);
  for (const Section* section : Sections()) {
    for (const Option& option : section->options) {
      if (option.range.holds != nullptr && !option.range.holds(config)) {
        errors.Expect(option, option.range.expected);
      }
    }
    if (section->check != nullptr) {
      section->check(config, needs, errors);
    }
  }
  return errors.Take();
}

absl::Status ValidateConfig(const Config& config, ConfigNeeds needs) {
  std::vector<absl::Status> errors;
  for (OptionError& error : FindInvalidValues(config, needs)) {
    errors.push_back(std::move(error.error));
  }
  return errors.empty() ? absl::OkStatus() : JoinErrors(errors);
}

}  // namespace walrelay
