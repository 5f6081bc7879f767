#include "conformance/deviations.h"

namespace walrelay::conformance {
namespace {

using enum Instead;

constexpr Deviation kDeviations[] = {
#define WALRELAY_DEVIATION(concerns, instead, reason) {concerns, instead, reason},
#include "conformance/deviations.def"
#undef WALRELAY_DEVIATION
};

bool Concerns(std::string_view what, const Case& one) {
  constexpr std::string_view kOption = "option:";
  constexpr std::string_view kOperation = "op:";
  if (what == "message:undecoded") {
    return one.op == "message" && !one.message_decoder;
  }
  if (what == "message:loose") {
    return one.op == "message" && one.message_decoder && !one.message_is_transactional;
  }
  if (what.starts_with(kOperation)) {
    return one.op == what.substr(kOperation.size());
  }
  if (what.starts_with(kOption)) {
    const std::string_view option = what.substr(kOption.size());
    const size_t equals = option.find('=');
    const std::string name(option.substr(0, equals));
    for (const DebeziumOptions* options : {&one.router, &one.connector}) {
      const auto found = options->find(name);
      if (found != options->end()) {
        return found->second != option.substr(equals + 1);
      }
    }
    return false;
  }
  return one.id == what;
}

}  // namespace

const Deviation* FindDeviation(const Case& one) {
  for (const Deviation& deviation : kDeviations) {
    if (Concerns(deviation.concerns, one)) {
      return &deviation;
    }
  }
  return nullptr;
}

bool IsJavaObject(std::string_view text) {
  return text.starts_with("Struct{") || text.find("java.nio.HeapByteBuffer[") != text.npos;
}

}  // namespace walrelay::conformance
