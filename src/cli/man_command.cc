#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/man_page.h"
#include "walrelay/version.h"

namespace walrelay {
namespace {

ExitCode WritePages(const std::vector<ManPage>& pages, const std::string& directory) {
  for (const ManPage& page : pages) {
    std::ofstream file(directory + "/" + page.file, std::ios::trunc);
    file << page.text;
    file.close();
    if (!file) {
      return Report(Error(ErrorCode::kInternal, fmt::format("{}/{}: cannot write the page",
                                                            Printable(directory), page.file)));
    }
  }
  return ExitCode::kOk;
}

}  // namespace

ExitCode ManCommand(const CommandTree& tree, const ManFlags& flags) {
  const std::vector<ManPage> pages = ManPages(tree, std::string(Version()));
  if (!flags.directory.empty()) {
    return WritePages(pages, flags.directory);
  }
  // The file's name without its section: "walrelay.toml.5".
  const std::string name = flags.page.empty() ? tree.program.name : flags.page;
  const auto found = std::find_if(pages.begin(), pages.end(), [&](const ManPage& page) {
    return page.file.substr(0, page.file.size() - 2) == name;
  });
  if (found == pages.end()) {
    return Report(Error(ErrorCode::kUsage,
                        fmt::format("there is no manual page \"{}\"", Printable(name, 80)),
                        "For example: walrelay man walrelay-run"));
  }
  fmt::print("{}", found->text);
  return ExitCode::kOk;
}

}  // namespace walrelay
