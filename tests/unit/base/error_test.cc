#include "walrelay/error.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "fakes/status_matchers.h"

namespace walrelay {
namespace {

TEST(ErrorTest, ErrorHasItsCodeAndHint) {
  const absl::Status status = Error(ErrorCode::kSlotMissing, "no slot of that name", "create one");
  EXPECT_EQ(CodeOf(status), ErrorCode::kSlotMissing);
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(MessageOf(status), "no slot of that name");
  EXPECT_EQ(RemedyFor(status), "create one");
}

TEST(ErrorTest, RemedyComesFromTheCatalogueWithoutAHint) {
  const absl::Status status = Error(ErrorCode::kWalLevel, "wal_level is replica");
  EXPECT_NE(RemedyFor(status).find("ALTER SYSTEM SET wal_level"), std::string::npos);
}

TEST(ErrorTest, AnnotationKeepsCodeAndHint) {
  const absl::Status status =
      Annotate(Error(ErrorCode::kWalLevel, "wal_level is replica", "restart"), "checking");
  EXPECT_THAT(status, HasError(ErrorCode::kWalLevel, "checking: wal_level is replica"));
  EXPECT_EQ(RemedyFor(status), "restart");
}

TEST(ErrorTest, StatusWithoutACodeIsInternal) {
  EXPECT_EQ(CodeOf(absl::UnknownError("from a library")), ErrorCode::kInternal);
}

TEST(ErrorTest, ExplanationHasCodeMeaningAndRemedy) {
  const std::string text = Explain(Error(ErrorCode::kSlotMissing, "slot \"walrelay\""));
  EXPECT_TRUE(text.starts_with("WR-2101 the replication slot does not exist: slot \"walrelay\"\n"));
  EXPECT_NE(text.find("what it means:"), std::string::npos);
  EXPECT_NE(text.find("what to do:"), std::string::npos);
}

// The message of such an error names place, value and expectation.
TEST(ErrorTest, ExplanationDoesNotRepeatTheMessage) {
  EXPECT_EQ(Explain(Error(ErrorCode::kConfigValue, "source.slot: expected a name")),
            "WR-1003 a configuration value is invalid: source.slot: expected a name");
  EXPECT_EQ(Explain(Error(ErrorCode::kConfigValue, "source.dsn is missing", "Set it.")),
            "WR-1003 a configuration value is invalid: source.dsn is missing\n"
            "  what to do:    Set it.");
  const std::string text = Explain(Error(ErrorCode::kHttpListen, "no"));
  EXPECT_EQ(text.find("what it means"), std::string::npos) << text;
  EXPECT_NE(text.find("what to do"), std::string::npos) << text;
}

TEST(ErrorTest, SeveralErrorsAreListedWithTheAdviceOfEach) {
  const absl::Status joined =
      JoinErrors(std::vector<absl::Status>{Error(ErrorCode::kConfigValue, "a.toml:1:1: x"),
                                           Error(ErrorCode::kNamedFile, "p", "Mount it."),
                                           Error(ErrorCode::kNamedFile, "q", "Mount it.")});
  EXPECT_THAT(joined, HasError(ErrorCode::kConfigErrors, "a.toml:1:1: x; p; q"));
  EXPECT_EQ(ExitCodeFor(joined), ExitCode::kConfiguration);
  EXPECT_EQ(Explain(joined),
            "WR-1008 the configuration has several errors:\n"
            "  a.toml:1:1: x (WR-1003)\n"
            "  p (WR-1009)\n"
            "      Mount it.\n"
            "  q (WR-1009)");
}

TEST(ErrorTest, SingleErrorIsNotAList) {
  const absl::Status error = Error(ErrorCode::kSlotMissing, "x");
  EXPECT_EQ(JoinErrors(std::vector<absl::Status>{error}), error);
}

TEST(ErrorTest, MessageCannotAddALineToAList) {
  const std::string text =
      Explain(JoinErrors(std::vector<absl::Status>{Error(ErrorCode::kConfigValue, "a\n  b (WR-9)"),
                                                   Error(ErrorCode::kConfigValue, "c\x1b[2J")}));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

// Text from servers, libraries and paths is printed on a terminal.
TEST(ErrorTest, ControlCharactersOfAMessageAreNotPrinted) {
  const std::string text = Explain(Error(ErrorCode::kSlotMissing, "a\n\x1b[2J", "b\r\x1b[2J"));
  EXPECT_EQ(text.find_first_of("\x1b\r"), std::string::npos) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
}

TEST(ErrorTest, ExitCodesAreAsDocumented) {
  EXPECT_EQ(ExitCodeFor(absl::OkStatus()), ExitCode::kOk);
  EXPECT_EQ(ExitCodeFor(Error(ErrorCode::kSlotLost, "")), ExitCode::kGap);
  EXPECT_EQ(ExitCodeFor(Error(ErrorCode::kUsage, "")), ExitCode::kUsage);
  EXPECT_EQ(ExitCodeFor(Error(ErrorCode::kPostgresUnreachable, "")), ExitCode::kUnavailable);
  EXPECT_EQ(ExitCodeFor(Error(ErrorCode::kPostgresLogin, "")), ExitCode::kPermission);
  EXPECT_EQ(ExitCodeFor(Error(ErrorCode::kConfigUnknownKey, "")), ExitCode::kConfiguration);
  EXPECT_EQ(ExitCodeFor(Error(ErrorCode::kSlotMissing, "")), ExitCode::kConfiguration);
  EXPECT_EQ(ExitCodeFor(absl::UnknownError("?")), ExitCode::kInternal);
}

TEST(ErrorCatalogueTest, EveryEntryHasMeaningAndRemedy) {
  for (const ErrorEntry& entry : ErrorCatalogue()) {
    EXPECT_FALSE(entry.title.empty() || entry.title.ends_with('.')) << entry.name;
    EXPECT_TRUE(entry.meaning.ends_with('.')) << entry.name;
    EXPECT_FALSE(entry.remedy.empty()) << entry.name;
    EXPECT_EQ(&Describe(entry.code), &entry);
  }
}

}  // namespace
}  // namespace walrelay
