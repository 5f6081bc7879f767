// What the control channel answers about a gap.
//
//   show        none | held ID LOOKS | obstructed ID LOOKS
//   accept ID   accepting ID LOOKS | other ID LOOKS | none
//
// LOOKS counts the relay's looks at the source since it holds the gap: an acceptance takes effect
// with a later one. Obstructed: at the last look something had to be fixed before the gap can be
// accepted. The first line of each answer is for the program, what follows is for people.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "relay/status_board.h"

namespace walrelay {

// `accept` is called with the id of the gap that is held, and only with that; on any thread.
std::string AnswerControl(std::string_view request, const StatusBoard& board,
                          const std::function<void(std::string)>& accept);

// A gap as people read it: code, range, meaning, remedy.
std::string DescribeGap(const Gap& gap);

}  // namespace walrelay
