// A digest of the settings that determine which record an event becomes: its topic, its key and
// with it its partition, and whether it becomes one.
//
// Pure.
#pragma once

#include <cstdint>

namespace walrelay {

struct Config;

// Differs if any setting of [source], [route], [format] or [on_error] differs that is not about the
// connection: rather once too often than once too rarely. Stable for one version of walrelay.
uint32_t RoutingDigest(const Config& config);

}  // namespace walrelay
