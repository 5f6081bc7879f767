// PipelineList: the pipelines of this process, for the pages.
//
// Thread-safe: the supervisor replaces the list, HTTP handlers read it.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "status/status_board.h"
#include "status/status_report.h"

namespace walrelay {

struct ListedPipeline {
  std::string name;  // "": the only pipeline of the process
  StatusIdentity identity;
  std::shared_ptr<const StatusBoard> board;
  // False: it has no thread, because it ended, or its configuration is invalid.
  bool running = true;
  bool row_data = true;  // see http.row_data

  StatusSnapshot Snapshot() const {
    return row_data ? board->Snapshot() : WithoutRowData(board->Snapshot());
  }
};

class PipelineList {
 public:
  explicit PipelineList(bool row_data = true) : row_data_(row_data) {}

  // By name.
  void Set(std::vector<ListedPipeline> pipelines) {
    for (ListedPipeline& each : pipelines) {
      each.row_data = row_data_;
    }
    const std::lock_guard lock(mutex_);
    pipelines_ = std::move(pipelines);
  }
  // A copy; the boards are shared.
  std::vector<ListedPipeline> Get() const {
    const std::lock_guard lock(mutex_);
    return pipelines_;
  }

 private:
  const bool row_data_;
  mutable std::mutex mutex_;
  std::vector<ListedPipeline> pipelines_;
};

}  // namespace walrelay
