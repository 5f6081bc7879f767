// The parts that the HTML pages share: escaping, times, and the frame around the content.
//
// Pure.
#pragma once

#include <string>
#include <string_view>

#include "walrelay/clock.h"

namespace walrelay {

// Escapes text for HTML content and attributes. Control characters are made visible.
std::string Html(std::string_view text);

// "2026-11-20 08:14:02 UTC" as a <time> element; without the date if `near` is on the same day.
std::string TimeTag(WallTime time, WallTime near = WallTime());

// The page with this title, which is escaped, and this content, which is HTML. It is complete
// without JavaScript, and has a Content-Security-Policy that permits only its own script and style.
std::string PageFrame(std::string_view title, std::string_view content);

}  // namespace walrelay
