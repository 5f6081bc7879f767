#include "config/config_errors.h"

#include <fmt/format.h>

#include "base/check.h"
#include "base/text.h"
#include "walrelay/error.h"

namespace walrelay {

void ConfigErrors::Reject(std::string option, std::string_view what, std::string_view hint) {
  errors_.push_back({std::move(option), Error(ErrorCode::kConfigValue, what, hint)});
}

void ConfigErrors::RejectMissing(std::string option, std::string required_by,
                                 std::string_view what) {
  errors_.push_back(
      {std::move(option), Error(ErrorCode::kConfigValue, what), std::move(required_by)});
}

void ConfigErrors::Expect(const Option& option, std::string_view what) {
  Reject(option.Name(), fmt::format("{}: expected {}, got {}", option.Name(), what,
                                    Printable(option.show(config_), 82)));
}

void ConfigErrors::Expect(std::string_view option, std::string_view what) {
  const Option* const found = FindOption(option);
  WR_CHECK(found != nullptr, "an error names an option");
  Expect(*found, what);
}

void ConfigErrors::Add(std::string option, absl::Status error) {
  WR_CHECK(!error.ok(), "an error has a cause");
  errors_.push_back({std::move(option), std::move(error)});
}

}  // namespace walrelay
