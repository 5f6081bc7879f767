#include "fakes/source_tree.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace walrelay::testing {

std::string SourceFile(const std::string& path) {
  std::ifstream file(WALRELAY_SOURCE_DIR "/" + path);
  EXPECT_TRUE(file.is_open()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace walrelay::testing
