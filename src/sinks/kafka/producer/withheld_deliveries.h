// WithheldDeliveries: the acknowledged records of a transaction that is not committed yet.
//
// Keeps what a Delivery contains, without librdkafka's messages: those count as outstanding until
// they are destroyed, which a commit would wait for. Memory is reused from one transaction to the
// next.
//
// Single-threaded.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "walrelay/clock.h"
#include "walrelay/sink.h"

namespace walrelay {

class WithheldDeliveries {
 public:
  // `details`: key and headers are kept.
  explicit WithheldDeliveries(bool details) : details_(details) {}

  // `delivery` is copied, except for its topic, which must outlive the entry.
  void Add(const Delivery& delivery, MonoTime now);
  // Passes all to `listener`, progress records last, and forgets them. The latency is that until
  // `now`.
  void Release(DeliveryListener& listener, MonoTime now);
  // Reports all as failed and purged, and forgets them.
  void Fail(DeliveryListener& listener, const absl::Status& error);

 private:
  // In bytes_.
  struct Text {
    size_t begin = 0;
    size_t size = 0;
    bool null = true;
  };
  struct StoredHeader {
    Text name;
    Text value;
  };
  struct Entry {
    DeliveryToken token;
    size_t bytes = 0;
    MonoTime produced;
    std::string_view topic;
    int32_t partition = -1;
    int64_t offset = -1;
    Text key;
    size_t headers_end = 0;  // in headers_; those of an entry begin at the end of its predecessor
  };

  Text Store(std::optional<std::string_view> text);
  std::optional<std::string_view> TextOf(const Text& text) const;
  void Pass(size_t index, DeliveryListener& listener, MonoTime now);
  void Clear();

  const bool details_;
  std::vector<Entry> entries_;
  std::string bytes_;
  std::vector<StoredHeader> headers_;
  std::vector<Header> passed_;  // the headers of the delivery that is being passed on
};

}  // namespace walrelay
