#include "postgres/standby_slots.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace walrelay {
namespace {

// Removes the first name of a list. Names of slots have lower-case letters, digits and underscores;
// a list may quote them, and SplitIdentifierString() reads upper-case letters as lower-case ones.
std::string TakeSlotName(std::string_view& list) {
  const size_t end = std::min(list.find(','), list.size());
  std::string name;
  for (const char c : list.substr(0, end)) {
    if (c >= 'A' && c <= 'Z') {
      name += static_cast<char>(c - 'A' + 'a');
    } else if (c != '"' && c != ' ' && c != '\t' && c != '\n') {
      name += c;
    }
  }
  list.remove_prefix(std::min(end + 1, list.size()));
  return name;
}

// "": it does not make a walsender wait.
std::string StandbyStateOf(const StandbySlot& slot, Lsn position) {
  if (slot.logical) {
    return "is a logical slot, which no standby reads";
  }
  if (slot.invalidated) {
    return "is invalidated";
  }
  if (!slot.active) {
    return "has no reader: the standby is not connected";
  }
  return slot.restart_lsn < position
             ? fmt::format("is {} behind", HumanBytes(BytesBetween(slot.restart_lsn, position)))
             : "";
}

}  // namespace

std::vector<AwaitedStandby> AwaitedStandbys(std::string_view setting,
                                            const std::vector<StandbySlot>& slots, Lsn position) {
  std::vector<AwaitedStandby> awaited;
  while (!setting.empty()) {
    const std::string name = TakeSlotName(setting);
    if (name.empty()) {
      continue;
    }
    const auto slot = std::find_if(slots.begin(), slots.end(),
                                   [&name](const StandbySlot& each) { return each.name == name; });
    const std::string state =
        slot == slots.end() ? "does not exist" : StandbyStateOf(*slot, position);
    if (!state.empty()) {
      awaited.push_back({.slot = name, .state = state});
    }
  }
  return awaited;
}

}  // namespace walrelay
