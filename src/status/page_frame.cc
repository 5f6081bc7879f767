#include "status/page_frame.h"

#include <fmt/format.h>

#include "base/text.h"
#include "status/status_page_assets.h"

namespace walrelay {

std::string Html(std::string_view text) {
  std::string out;
  // Escaped for both contexts, so that a caller cannot choose the wrong one. Texts come from rows,
  // servers and other users' configuration: all of them are hostile.
  for (const char c : Printable(text, 4096)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string TimeTag(WallTime time, WallTime near) {
  const std::string text = Rfc3339(time);
  const bool same_day =
      std::chrono::floor<std::chrono::days>(time) == std::chrono::floor<std::chrono::days>(near);
  return fmt::format(R"(<time datetime="{}">{}{} UTC</time>)", text,
                     same_day ? "" : text.substr(0, 10) + " ", text.substr(11, 8));
}

// The policy allows exactly one script, by its hash, and requests to this server only: an escape
// that was missed could not run code. Without JavaScript the browser reloads the page.
std::string PageFrame(std::string_view title, std::string_view content) {
  return fmt::format(
      R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{}'; connect-src 'self'; base-uri 'none'; form-action 'none'">
<noscript><meta http-equiv="refresh" content="15"></noscript>
<title>{}</title>
<style>{}</style>
</head>
<body>
<div id="stale" role="alert">walrelay does not answer; this is its last known status</div>
<main>
{}</main>
<script>{}</script>
</body>
</html>
)",
      kStatusScriptHash, Html(title), kStatusStyle, content, kStatusScript);
}

}  // namespace walrelay
