#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/man_page.h"
#include "walrelay/version.h"

namespace walrelay {
namespace {

struct ManFlags {
  std::string page;       // "walrelay-run"; "": walrelay
  std::string directory;  // write all pages to this folder instead, which must exist
};

void Declare(FlagSet& set, ManFlags& flags) {
  set.Add("page", flags.page, "PAGE", "The name of the page: walrelay-run, walrelay.toml");
  set.Add("--directory", flags.directory, "FOLDER", "Write all pages to this folder");
}

absl::StatusOr<ExitCode> WritePages(const std::vector<ManPage>& pages,
                                    const std::string& directory) {
  for (const ManPage& page : pages) {
    std::ofstream file(directory + "/" + page.file, std::ios::trunc);
    file << page.text;
    file.close();
    if (!file) {
      return Error(ErrorCode::kInternal,
                   fmt::format("{}/{}: cannot write the page", Printable(directory), page.file));
    }
  }
  return ExitCode::kOk;
}

absl::StatusOr<ExitCode> Execute(const ManFlags& flags, const AllCommands& all) {
  const CommandTree tree = all.Tree();
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
    return Error(ErrorCode::kUsage,
                 fmt::format("there is no manual page \"{}\"", Printable(name, 80)),
                 "For example: walrelay man walrelay-run");
  }
  fmt::print("{}", found->text);
  return ExitCode::kOk;
}

}  // namespace

// For packages: --help does not list it. 64 for an unknown page, 70 if a file cannot be written.
// Existing files are replaced.
Command ManCommand() {
  Command command = MakeCommand<ManFlags>(
      "man", "Print the manual page of a command, or write all pages to a folder", Declare,
      Execute);
  command.hidden = true;
  return command;
}

}  // namespace walrelay
