// The requests and answers of the control channel about a gap.
//
//   show        none | held ID CHECKS [ACCEPTED] | blocked ID CHECKS [ACCEPTED]
//   accept ID   accepting ID CHECKS [ACCEPTED] | other ID CHECKS [ACCEPTED] | none
//
// CHECKS counts the relay's checks of the source since the gap has been held: an acceptance takes
// effect with a later check. "blocked": the last check found another problem that must be fixed
// before the gap can be accepted. ACCEPTED is the id of the gap that was accepted last: another one
// may be held soon after. The first line of each answer is for programs, the rest is for
// people.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "status/status_board.h"

namespace walrelay {

// `accept` is called only with the id of the gap that is held, on any thread.
std::string AnswerControl(std::string_view request, const StatusBoard& board,
                          const std::function<void(std::string)>& accept);

// Formats a gap for people: code, range, meaning, remedy.
std::string DescribeGap(const Gap& gap);

}  // namespace walrelay
