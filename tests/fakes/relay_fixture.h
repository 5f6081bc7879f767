// A test fixture for the relay between fakes.
#pragma once

#include <gtest/gtest.h>

#include "fakes/relay_between_fakes.h"

namespace walrelay::testing {

class RelayFixture : public ::testing::Test, protected RelayBetweenFakes {
 protected:
  using RelayBetweenFakes::Run;  // ::testing::Test has a Run() too
};

}  // namespace walrelay::testing
