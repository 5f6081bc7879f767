// The cases in which walrelay differs from Debezium on purpose.
#pragma once

#include <string_view>

#include "conformance/case_file.h"

namespace walrelay::conformance {

enum class Instead { kRefused, kNothing, kOtherName };

struct Deviation {
  std::string_view concerns;
  Instead instead;
  std::string_view reason;
};

// nullptr: the case has no deviation.
const Deviation* FindDeviation(const Case& one);

// Whether the expected bytes are the text of a Java object ("Struct{…}",
// "java.nio.HeapByteBuffer[…]") instead of the value: walrelay blocks. The rule applies to every
// case.
bool IsJavaObject(std::string_view text);

}  // namespace walrelay::conformance
