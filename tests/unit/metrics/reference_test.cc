#include "metrics/reference.h"

#include <gtest/gtest.h>

#include <string>

#include "fakes/source_tree.h"
#include "metrics/metrics.h"

namespace walrelay {
namespace {

TEST(MetricReferenceTest, DocsMatchTheProgramsOutput) {
  EXPECT_TRUE(testing::SourceFile("docs/reference/metrics.md") == MetricReference())
      << "run scripts/dev docs to regenerate the page";
}

TEST(MetricReferenceTest, EveryMetricIsInASectionOfTheReference) {
  const std::string reference = MetricReference();
  for (const MetricEntry& entry : Metrics::Catalogue()) {
    const size_t section = reference.find("\n## " + std::string(entry.section) + "\n");
    ASSERT_NE(section, std::string::npos) << entry.name;
    EXPECT_LT(section, reference.find("\n| `" + std::string(entry.name) + "` |")) << entry.name;
  }
}

}  // namespace
}  // namespace walrelay
