#include "base/error_reference.h"

#include <fmt/format.h>

#include <charconv>

namespace walrelay {
namespace {

constexpr std::string_view kIntroduction =
    R"(# Errors

<!-- Made by `walrelay explain --markdown`; a test compares the two. Change error_codes.def instead. -->

Every problem has a code, in logs, in `/readyz` and on the command line; `walrelay explain WR-2101` prints this page's
text for it. What the relay does about it is one of:

)";

struct Block {
  unsigned first;
  std::string_view title;
};
constexpr Block kBlocks[] = {{1000, "Configuration"},
                             {2000, "Postgres"},
                             {3000, "Rows"},
                             {4000, "Kafka"},
                             {5000, "The process"}};

std::string_view NameOf(Reaction reaction) {
  switch (reaction) {
    case Reaction::kRetry:
      return "retry";
    case Reaction::kStandby:
      return "stand by";
    case Reaction::kBlocked:
      return "blocked";
    case Reaction::kDefinite:
      return "definite";
    case Reaction::kGap:
      return "gap";
    case Reaction::kConfiguration:
      return "configuration";
    case Reaction::kUsage:
      return "usage";
  }
  return "?";
}

}  // namespace

std::string_view DescribeReaction(Reaction reaction) {
  switch (reaction) {
    case Reaction::kRetry:
      return "it passes by itself: the relay retries with back-off until it does";
    case Reaction::kStandby:
      return "another instance is at work: this one waits for the slot and takes over";
    case Reaction::kBlocked:
      return "the line stands until a person or a broker changes something; the relay stays, says "
             "so, "
             "and looks again";
    case Reaction::kDefinite:
      return "at the first start the process ends; once it ran, or stood by, it retries with "
             "back-off, blocked until somebody fixes it";
    case Reaction::kGap:
      return "events may be missing: the relay publishes nothing until an operator accepts that "
             "with walrelay resume --accept-gap, or ends with exit code 4 (source.on_gap)";
    case Reaction::kConfiguration:
      return "at the first start the process ends with exit code 78; later it retries, as for a "
             "definite error";
    case Reaction::kUsage:
      return "the process ends with exit code 64";
  }
  return "?";
}

std::string ErrorReference() {
  std::string out(kIntroduction);
  for (const Reaction reaction :
       {Reaction::kRetry, Reaction::kStandby, Reaction::kBlocked, Reaction::kDefinite,
        Reaction::kGap, Reaction::kConfiguration, Reaction::kUsage}) {
    out += fmt::format("- **{}**: {}.\n", NameOf(reaction), DescribeReaction(reaction));
  }
  const Block* block = std::begin(kBlocks);
  for (const ErrorEntry& entry : ErrorCatalogue()) {
    if (block != std::end(kBlocks) && static_cast<unsigned>(entry.code) > block->first) {
      out += fmt::format("\n## {}\n", (block++)->title);
    }
    out += fmt::format("\n### {}: {}\n\n*{}.* {}\n\nWhat to do: {}\n", ToString(entry.code),
                       entry.title, NameOf(entry.reaction), entry.meaning, entry.remedy);
  }
  return out;
}

std::optional<ErrorCode> FindErrorCode(std::string_view text) {
  if (text.starts_with("WR-") || text.starts_with("wr-")) {
    text.remove_prefix(3);
  }
  unsigned number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  for (const ErrorEntry& entry : ErrorCatalogue()) {
    if (error == std::errc() && end == text.data() + text.size() &&
        static_cast<unsigned>(entry.code) == number) {
      return entry.code;
    }
  }
  return std::nullopt;
}

}  // namespace walrelay
