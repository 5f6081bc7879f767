#include "cli/man_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>

#include "config/reference.h"

namespace walrelay {
namespace {

// Text that troff prints as it is. A line of text must not begin with a control character.
std::string Escaped(std::string_view text) {
  std::string out = text.starts_with('.') || text.starts_with('\'') ? "\\&" : "";
  for (const char c : text) {
    switch (c) {
      case '\\':
        out += "\\e";
        break;
      case '-':  // as typed: a plain "-" is a hyphen, which cannot be copied
        out += "\\-";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string Bold(std::string_view text) {
  return "\\fB" + Escaped(text) + "\\fR";
}

std::string Italic(std::string_view text) {
  return "\\fI" + Escaped(text) + "\\fR";
}

// "" for an invalid place; otherwise the text of a Markdown link whose "[" is at `at`, and the
// index after it.
std::pair<std::string_view, size_t> LinkText(std::string_view text, size_t at) {
  const size_t middle = text.find("](", at);
  const size_t end = middle == std::string_view::npos ? middle : text.find(')', middle);
  return end == std::string_view::npos ? std::pair(std::string_view(), at)
                                       : std::pair(text.substr(at + 1, middle - at - 1), end + 1);
}

// One line of Markdown: `code` becomes bold, a link its text.
std::string FromMarkdown(std::string_view text) {
  std::string out;
  size_t begin = 0;
  for (size_t at = text.find_first_of("`["); at != std::string_view::npos;
       at = text.find_first_of("`[", at)) {
    const bool code = text[at] == '`';
    const size_t end = text.find('`', at + 1);
    const auto [inner, after] = code && end != std::string_view::npos
                                    ? std::pair(text.substr(at + 1, end - at - 1), end + 1)
                                : code ? std::pair(std::string_view(), at)
                                       : LinkText(text, at);
    if (after == at) {
      ++at;  // no markup
      continue;
    }
    out += Escaped(text.substr(begin, at - begin)) + (code ? Bold(inner) : FromMarkdown(inner));
    at = begin = after;
  }
  return out + Escaped(text.substr(begin));
}

std::string PageTitle(std::string_view name, int section, const std::string& version,
                      std::string_view title) {
  std::string upper;
  for (const char c : name) {
    upper += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return fmt::format(".TH {} {} \"\" \"walrelay {}\" \"{}\"\n", Escaped(upper), section,
                     Escaped(version), title);
}

// The line that apropos lists, without the name of the program, which precedes it.
std::string_view Summary(const CommandNode& command) {
  const std::string_view clause = FirstClause(command.description);
  const bool repeats = clause.starts_with(command.name + " ");
  return clause.substr(repeats ? command.name.size() + 1 : 0);
}

// ", " between the names, then the value: "-c, --config FILE".
std::string Names(const FlagNode& flag) {
  std::vector<std::string> names;
  for (const std::string& name : flag.names) {
    names.push_back(Bold(name));
  }
  std::string out = fmt::format("{}", fmt::join(names, ", "));
  if (flag.value.empty()) {
    return out;
  }
  return out + (out.empty() ? "" : " ") + (flag.value_is_optional ? "[" : "") + Italic(flag.value) +
         (flag.value_is_optional ? "]" : "");
}

class CommandPages {
 public:
  CommandPages(const CommandTree& tree, const std::string& version)
      : tree_(tree), version_(version) {}

  // `path`: "walrelay", "walrelay config".
  void Add(const CommandNode& command, const std::string& path, std::vector<ManPage>& out) const {
    const std::string name = Joined(path);
    std::string text = PageTitle(name, 1, version_, "User Commands");
    text += fmt::format(".SH NAME\n{} \\- {}\n", Escaped(name), FromMarkdown(Summary(command)));
    text += ".SH SYNOPSIS\n" + Synopsis(command, path);
    text += ".SH DESCRIPTION\n" + FromMarkdown(command.description) +
            (command.description.ends_with('.') ? "\n" : ".\n");
    text += Commands(command, path) + Options(command) + ExitStatuses() + Rest(command, path);
    out.push_back({name + ".1", std::move(text)});
    for (const CommandNode& child : command.commands) {
      Add(child, path + " " + child.name, out);
    }
  }

 private:
  // The name of a page: "walrelay-config-show".
  static std::string Joined(std::string path) {
    for (char& c : path) {
      c = c == ' ' ? '-' : c;
    }
    return path;
  }

  static std::string Synopsis(const CommandNode& command, const std::string& path) {
    std::string out = fmt::format("{} [{}]", Bold(path), Italic("OPTION"));
    for (const FlagNode& flag : command.flags) {
      if (flag.names.empty()) {
        out += " " + Names(flag);
      }
    }
    return out + (command.commands.empty() ? "\n" : " " + Italic("COMMAND") + "\n");
  }

  static std::string Commands(const CommandNode& command, const std::string& path) {
    std::string out = command.commands.empty() ? "" : ".SH COMMANDS\n";
    for (const CommandNode& child : command.commands) {
      out += fmt::format(".TP\n{}(1)\n{}.\n", Bold(Joined(path + " " + child.name)),
                         FromMarkdown(Summary(child)));
    }
    return out;
  }

  std::string Options(const CommandNode& command) const {
    std::string out = ".SH OPTIONS\n";
    for (const FlagNode& flag : command.flags) {
      out += fmt::format(".TP\n{}\n{}.{}\n", Names(flag), FromMarkdown(flag.description),
                         Choices(flag.value));
    }
    return out;
  }

  // The values of a flag that has a few.
  std::string Choices(const std::string& value) const {
    for (const ValueWords& words : tree_.values) {
      if (words.value == value && words.words.size() <= 8) {
        return fmt::format(" {} is one of {}.", Italic(value),
                           Escaped(fmt::format("{}", fmt::join(words.words, ", "))));
      }
    }
    return "";
  }

  std::string ExitStatuses() const {
    std::string out = ".SH \"EXIT STATUS\"\n";
    for (const ExitStatus& status : tree_.exit_statuses) {
      out += fmt::format(".TP\n{}\n{}.\n", Bold(fmt::format("{}", status.code)),
                         Escaped(status.meaning));
    }
    return out;
  }

  std::string Rest(const CommandNode& command, const std::string& path) const {
    std::string out;
    if (path == tree_.program.name) {
      out =
          ".SH ENVIRONMENT\n.TP\n\\fBWALRELAY_CONFIG\\fR\nThe configuration file.\n.TP\n"
          "\\fBWALRELAY_\\fISECTION\\fB__\\fIKEY\\fR\nSets an option of the configuration, for "
          "example\n"
          "\\fBWALRELAY_KAFKA__BOOTSTRAP_SERVERS\\fR.\n"
          ".SH FILES\n.TP\n\\fI/etc/walrelay/walrelay.toml\\fR\nThe configuration, see "
          "\\fBwalrelay.toml\\fR(5).\n";
    }
    out += ".SH \"SEE ALSO\"\n";
    if (path != tree_.program.name) {
      out += Bold(Joined(path.substr(0, path.rfind(' ')))) + "(1), ";
    }
    for (const CommandNode& child : command.commands) {
      out += Bold(Joined(path + " " + child.name)) + "(1), ";
    }
    return out + "\\fBwalrelay.toml\\fR(5)\n";
  }

  const CommandTree& tree_;
  const std::string& version_;
};

// The reference of the configuration, written in Markdown, as a manual page. It has headings,
// paragraphs, blocks of code, and tables with the columns key, type, default and description.
class ConfigPage {
 public:
  std::string Convert(std::string_view markdown) && {
    while (!markdown.empty()) {
      const size_t end = std::min(markdown.find('\n'), markdown.size());
      AddLine(markdown.substr(0, end));
      markdown.remove_prefix(std::min(end + 1, markdown.size()));
    }
    return std::move(out_);
  }

 private:
  void AddLine(std::string_view line) {
    if (line.starts_with("```")) {
      in_code_ = !in_code_;
      out_ += in_code_ ? ".PP\n.RS 4\n.nf\n" : ".fi\n.RE\n";
    } else if (in_code_) {
      out_ += Escaped(line) + "\n";
    } else if (line.starts_with("### ")) {
      Heading(".SS", std::string(line.substr(4)));
    } else if (line.starts_with("## ")) {
      Heading(".SH", std::string(line.substr(3)));
    } else if (line.starts_with('|')) {
      AddRow(line);
    } else if (line.empty()) {
      paragraph_ends_ = true;
    } else if (!line.starts_with("# ") && !line.starts_with("<!--")) {
      out_ += std::exchange(paragraph_ends_, false) && !after_heading_ ? ".PP\n" : "";
      after_heading_ = false;
      out_ += FromMarkdown(line) + "\n";
    }
  }

  // A heading is bold as a whole.
  void Heading(std::string_view macro, std::string text) {
    std::erase(text, '`');
    out_ += fmt::format("{} \"{}\"\n", macro, Escaped(text));
    after_heading_ = true;
    paragraph_ends_ = false;
  }

  // | `key` | type | `default` | description |
  void AddRow(std::string_view line) {
    std::vector<std::string_view> cells;
    for (size_t at = 1; at < line.size();) {
      const size_t end = std::min(line.find(" | ", at), line.size() - 2);
      cells.push_back(line.substr(at + 1, end > at ? end - at - 1 : 0));
      at = end + 2;
    }
    if (cells.size() != 4 || cells[0] == "key" || cells[0] == "---") {
      return;
    }
    out_ += fmt::format(".TP\n{} ({}{})\n{}\n", FromMarkdown(cells[0]), Escaped(cells[1]),
                        cells[2].empty() ? "" : ", default " + FromMarkdown(cells[2]),
                        FromMarkdown(cells[3]));
  }

  std::string out_;
  bool in_code_ = false;
  bool paragraph_ends_ = false;
  bool after_heading_ = true;
};

std::string ConfigPageText(const std::string& version) {
  return PageTitle("walrelay.toml", 5, version, "File Formats") +
         ".SH NAME\nwalrelay.toml \\- configuration of walrelay\n.SH DESCRIPTION\n" +
         ConfigPage().Convert(ConfigReference()) +
         ".SH \"SEE ALSO\"\n\\fBwalrelay\\fR(1), \\fBwalrelay\\-config\\fR(1), "
         "\\fBwalrelay\\-check\\fR(1)\n";
}

}  // namespace

std::vector<ManPage> ManPages(const CommandTree& tree, const std::string& version) {
  std::vector<ManPage> pages;
  CommandPages(tree, version).Add(tree.program, tree.program.name, pages);
  pages.push_back({"walrelay.toml.5", ConfigPageText(version)});
  return pages;
}

}  // namespace walrelay
