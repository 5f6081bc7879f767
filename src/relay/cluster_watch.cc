#include "relay/cluster_watch.h"

#include <fmt/format.h>

#include "base/text.h"
#include "walrelay/error.h"

namespace walrelay {

const absl::Status& ClusterWatch::OnCluster(std::string_view id) {
  if (id.empty() || id == id_) {
    return changed_;
  }
  if (id_.empty()) {
    id_ = id;
  } else if (changed_.ok()) {
    other_id_ = id;
    changed_ =
        Error(ErrorCode::kClusterChanged,
              fmt::format("cluster id {}, previously {}", Printable(id, 64), Printable(id_, 64)));
  }
  return changed_;
}

void ClusterWatch::OnRecord(std::string_view id) {
  if (!id.empty()) {
    id_ = id;
  }
}

// Without a change this relay has not asked yet.
void ClusterWatch::Accept() {
  id_ = changed_.ok() ? std::string() : other_id_;
  changed_ = absl::OkStatus();
}

}  // namespace walrelay
