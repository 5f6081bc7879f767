// ClusterWatch: whether Kafka is still the cluster in which events were published.
//
// Positions of records do not tell: another cluster has none of them. The memory is the id of the
// cluster, as Kafka or a progress record has named it. Single-threaded; no I/O.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace walrelay {

class ClusterWatch {
 public:
  // Kafka has answered as this cluster; "": unknown. Another one than before is WR-2207, also if
  // the former one answers again, until Accept().
  const absl::Status& OnCluster(std::string_view id);
  // A progress record names the cluster that has its events; "": unknown.
  void OnRecord(std::string_view id);
  // An operator has accepted on another instance that events are published in this cluster.
  void OnAcceptedElsewhere(std::string_view id) { other_id_ = id; }
  // From now on events are published in the cluster that has answered. Without such an answer the
  // next one counts.
  void Accept();

  // OK: no other cluster has answered.
  const absl::Status& changed() const { return changed_; }
  // "" while unknown.
  const std::string& id() const { return id_; }

 private:
  std::string id_;
  std::string other_id_;  // of the cluster that has answered, or was accepted elsewhere
  absl::Status changed_;
};

}  // namespace walrelay
