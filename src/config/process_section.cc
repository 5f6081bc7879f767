#include "config/option_rows.h"
#include "config/section.h"

namespace walrelay {
namespace {

using enum OptionType;
constexpr auto kLog = &Config::log;

constexpr Option kProcessRows[] = {
    Row<&Config::http, &HttpConfig::listen>(
        "http", "listen", kString,
        "`address:port` for `/status`, `/livez`, `/readyz` and `/metrics`; `\"\"`: no HTTP "
        "server. GET only, no secrets, no TLS: keep it on loopback or inside the pod."),
    Row<&Config::http, &HttpConfig::row_data>(
        "http", "row_data", kBoolean,
        "Whether the status pages and the reasons on `/readyz` quote ids, keys and values of a row "
        "that blocks publishing. `false`: they name the error only, and the log names the row. For "
        "a listener that others can reach."),
    // Each poll is a query on the primary.
    Within(Row<&Config::metrics, &MetricsConfig::slot_poll_interval>(
               "metrics", "slot_poll_interval", kDuration,
               "How often walrelay polls the slot, over a separate connection."),
           "at least \"100ms\"",
           [](const Config& config) {
             return config.metrics.slot_poll_interval >= std::chrono::milliseconds(100);
           }),
    Row<&Config::metrics, &MetricsConfig::table_count_interval>(
        "metrics", "table_count_interval", kDuration,
        "How often walrelay counts the rows of the outbox tables, for which the role needs "
        "`SELECT`; `\"0s\"`: never. A count takes a second at most; one that takes long makes the "
        "next one later (docs/monitoring.md)."),
    Row<&Config::metrics, &MetricsConfig::max_topics>(
        "metrics", "max_topics", kInteger,
        "Maximum number of topics with a separate series; further topics are counted as "
        "`__other__`."),
    ChoiceRow<kLog, &LogConfig::level>("log", "level", "Minimum log level."),
    ChoiceRow<kLog, &LogConfig::format>("log", "format",
                                        "`auto`: text on a terminal, JSON lines otherwise."),
};

}  // namespace

// [http], [metrics] and [log]: no rule connects their options.
const Section kProcessSection = {kProcessRows, nullptr};

}  // namespace walrelay
