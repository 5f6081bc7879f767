#include "cli/man_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace walrelay {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

CommandTree DocumentedTree() {
  CommandTree tree;
  tree.program = {
      .name = "walrelay", .description = "Publishes events.", .flags = {}, .commands = {}};
  tree.program.commands = {
      {.name = "run",
       .description = "Run it: until `walrelay` is stopped",
       .flags =
           {{.names = {"-c", "--config"}, .value = "FILE", .description = "A back\\slash"},
            {.names = {"--gap"}, .value = "ID", .description = "Accept", .value_is_optional = true},
            {.names = {"--events"}, .value = "FORMAT", .description = "Print"},
            {.names = {}, .value = "TOPIC", .description = "The topic"}},
       .commands = {}}};
  tree.values = {{"FORMAT", {"text", "json"}}};
  tree.exit_statuses = {{0, "success"}, {3, "problems found"}};
  return tree;
}

std::string Page(const std::string& file) {
  const auto pages = ManPages(DocumentedTree(), "0.1.0");
  const auto found = std::find_if(pages.begin(), pages.end(),
                                  [&](const ManPage& page) { return page.file == file; });
  return found == pages.end() ? "" : found->text;
}

TEST(ManPageTest, EachCommandHasAPage) {
  std::vector<std::string> files;
  for (const ManPage& page : ManPages(DocumentedTree(), "0.1.0")) {
    files.push_back(page.file);
  }
  EXPECT_THAT(files, ElementsAre("walrelay.1", "walrelay-run.1", "walrelay.toml.5"));
}

TEST(ManPageTest, PageHasNameAndVersion) {
  EXPECT_THAT(Page("walrelay-run.1"), HasSubstr(".TH WALRELAY\\-RUN 1 \"\" \"walrelay 0.1.0\""));
  EXPECT_THAT(Page("walrelay-run.1"), HasSubstr("walrelay\\-run \\- Run it\n"));
}

TEST(ManPageTest, FlagsAreDescribed) {
  EXPECT_THAT(
      Page("walrelay-run.1"),
      AllOf(HasSubstr(".TP\n\\fB\\-c\\fR, \\fB\\-\\-config\\fR \\fIFILE\\fR\nA back\\eslash.\n"),
            HasSubstr("\\fB\\-\\-gap\\fR [\\fIID\\fR]\n"),
            HasSubstr("Print. \\fIFORMAT\\fR is one of text, json.\n"),
            HasSubstr("\\fBwalrelay run\\fR [\\fIOPTION\\fR] \\fITOPIC\\fR\n"),
            HasSubstr(".TP\n\\fB3\\fR\nproblems found.\n")));
}

TEST(ManPageTest, CodeIsBold) {
  EXPECT_THAT(Page("walrelay-run.1"), HasSubstr("Run it: until \\fBwalrelay\\fR is stopped.\n"));
}

TEST(ManPageTest, ConfigurationIsConvertedFromItsReference) {
  const std::string page = Page("walrelay.toml.5");
  EXPECT_THAT(page, AllOf(HasSubstr(".SH \"[source]\"\n"), HasSubstr(".SH \"[kafka]\"\n"),
                          HasSubstr(".SS \"[[source.placement]]\"\n")));
  EXPECT_THAT(page, HasSubstr(".TP\n\\fBslot\\fR (string, default \\fB\"walrelay\"\\fR)\n"));
  EXPECT_THAT(page, HasSubstr(".nf\n[source]\ndsn = "));
  EXPECT_THAT(page, Not(HasSubstr("```")));
  EXPECT_THAT(page, Not(HasSubstr("\n|")));
  EXPECT_THAT(page, Not(HasSubstr("<!--")));
}

}  // namespace
}  // namespace walrelay
