// Where walrelay does not do as Debezium does, on purpose.
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

// nullptr: none for this case.
const Deviation* FindDeviation(const Case& one);

// The text of a Java object ("Struct{…}", "java.nio.HeapByteBuffer[…]") instead of the value:
// walrelay blocks. One rule for every case, whatever its name.
bool IsJavaObject(std::string_view text);

}  // namespace walrelay::conformance
