// Loads arbitrary bytes as a configuration file, also in Debezium's format: the loader accepts the
// file or rejects it with an error code, and never crashes. An accepted configuration is printed.

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "config/reference.h"
#include "debezium/connector_config.h"
#include "walrelay/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace walrelay;
  ConfigInput input;
  input.file_name = "fuzz.toml";
  input.file_text.assign(reinterpret_cast<const char*>(data), size);
  input.needs = {.postgres = false, .kafka = false};
  const auto loaded = LoadConfigOrConnector(input);
  if (!loaded.ok()) {
    WR_CHECK(CodeOf(loaded.status()) < ErrorCode::kPostgresUnreachable,
             "the error is a configuration error");
  } else {
    (void)ShowConfig(*loaded);
  }
  return 0;
}
