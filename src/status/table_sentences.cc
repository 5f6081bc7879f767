#include <fmt/format.h>

#include "status/status_report.h"
#include "table/table_health.h"
#include "table/table_words.h"

namespace walrelay {

std::vector<std::string> TableSentences(const TableReading& table) {
  std::vector<std::string> sentences = {RowsWords(table) + ".", SizeWords(table) + "."};
  for (const auto& problem : {DeadRowsProblem(table), BloatProblem(table)}) {
    if (problem) {
      sentences.push_back(fmt::format("{}. What to do: {}", problem->text, problem->remedy));
    }
  }
  return sentences;
}

}  // namespace walrelay
