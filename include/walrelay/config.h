// Config: everything an operator can set, as plain data.
//
// The loader (src/config) fills and validates it; a Config that the loader returned is consistent.
// Default member values are the documented defaults. docs/configuration.md describes each key and
// is generated from the loader's table of options.
//
// Each section has a header of its own. Code that needs one section takes that section.
#pragma once

#include "walrelay/config/format.h"
#include "walrelay/config/http.h"
#include "walrelay/config/kafka.h"
#include "walrelay/config/log.h"
#include "walrelay/config/metrics.h"
#include "walrelay/config/on_error.h"
#include "walrelay/config/pipeline.h"
#include "walrelay/config/prune.h"
#include "walrelay/config/route.h"
#include "walrelay/config/source.h"

namespace walrelay {

// The limits that the section of the sink sets for everything that makes or counts records.
struct SinkLimits {
  int64_t max_record_bytes = 0;   // key, value and overhead of one record
  int64_t max_batch_bytes = 0;    // of a batch, except for a single larger record
  Micros transaction_timeout{0};  // a transaction that is open for longer is aborted
};

// All sections of the configuration file.
struct Config {
  SourceConfig source;
  RouteConfig route;
  FormatConfig format;
  ErrorPolicy on_error;
  KafkaConfig kafka;
  PipelineConfig pipeline;
  PruneConfig prune;
  HttpConfig http;
  MetricsConfig metrics;
  LogConfig log;

  SinkLimits limits() const {
    return {kafka.max_record_bytes, kafka.max_batch_bytes, kafka.transaction_timeout};
  }
  // "": "walrelay.progress.<pipeline.id>".
  const std::string& progress_topic() const { return kafka.progress_topic; }
  // Whether a sink can be connected to.
  bool has_brokers() const { return !kafka.bootstrap_servers.empty(); }

  bool operator==(const Config&) const = default;
};

}  // namespace walrelay
