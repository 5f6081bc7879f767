#include "stream/row_marks.h"

#include <tuple>

#include "base/check.h"

namespace walrelay {

RowMarks::RowMarks(size_t limit) : limit_(limit) {
  WR_CHECK(limit > 1, "dropping every other mark makes room");
}

void RowMarks::Add(uint64_t transaction, uint64_t number, Position row) {
  WR_CHECK(marks_.empty() || std::tie(marks_.back().transaction, marks_.back().number) <
                                 std::tie(transaction, number),
           "records are marked in the order in which they are sent");
  if (marks_.size() == limit_) {
    Thin();
  }
  marks_.push_back({.transaction = transaction, .number = number, .row = row});
}

std::optional<Position> RowMarks::Find(uint64_t transaction, uint64_t number) const {
  // The marks up to the record.
  size_t count = 0;
  for (size_t end = marks_.size(); count < end;) {
    const size_t middle = count + (end - count) / 2;
    const Mark& mark = marks_[middle];
    if (std::tie(mark.transaction, mark.number) <= std::tie(transaction, number)) {
      count = middle + 1;
    } else {
      end = middle;
    }
  }
  if (count == 0 || marks_[count - 1].transaction != transaction) {
    return std::nullopt;
  }
  return marks_[count - 1].row;
}

void RowMarks::ForgetBefore(uint64_t transaction) {
  while (!marks_.empty() && marks_.front().transaction < transaction) {
    marks_.pop_front();
  }
}

// The first mark stays.
void RowMarks::Thin() {
  const size_t kept = (marks_.size() + 1) / 2;
  for (size_t i = 1; i < kept; ++i) {
    marks_[i] = marks_[2 * i];
  }
  while (marks_.size() > kept) {
    marks_.pop_back();
  }
}

}  // namespace walrelay
