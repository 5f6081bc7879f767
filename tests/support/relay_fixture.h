// A test of the relay between fakes.
#pragma once

#include <gtest/gtest.h>

#include "support/relay_between_fakes.h"

namespace walrelay::testing {

class RelayFixture : public ::testing::Test, protected RelayBetweenFakes {
 protected:
  using RelayBetweenFakes::Run;  // GoogleTest has one as well
};

}  // namespace walrelay::testing
