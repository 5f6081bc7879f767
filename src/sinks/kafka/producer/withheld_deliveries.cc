#include "sinks/kafka/producer/withheld_deliveries.h"

namespace walrelay {

void WithheldDeliveries::Add(const Delivery& delivery, MonoTime now) {
  Entry entry{.token = delivery.token,
              .bytes = delivery.bytes,
              .produced = now - delivery.latency,
              .topic = delivery.topic,
              .partition = delivery.partition,
              .offset = delivery.offset};
  if (details_) {
    entry.key = Store(delivery.key);
    for (const Header& header : delivery.headers) {
      headers_.push_back({Store(header.name), Store(header.value)});
    }
  }
  entry.headers_end = headers_.size();
  entries_.push_back(entry);
}

void WithheldDeliveries::Release(DeliveryListener& listener, MonoTime now) {
  for (const bool progress : {false, true}) {
    for (size_t i = 0; i < entries_.size(); ++i) {
      if (entries_[i].token.is_progress() == progress) {
        Pass(i, listener, now);
      }
    }
  }
  Clear();
}

void WithheldDeliveries::Fail(DeliveryListener& listener, const absl::Status& error) {
  for (const Entry& entry : entries_) {
    listener.OnFailed({.token = entry.token, .bytes = entry.bytes, .error = error, .purged = true});
  }
  Clear();
}

void WithheldDeliveries::Pass(size_t index, DeliveryListener& listener, MonoTime now) {
  const Entry& entry = entries_[index];
  passed_.clear();
  for (size_t i = index == 0 ? 0 : entries_[index - 1].headers_end; i < entry.headers_end; ++i) {
    passed_.push_back({*TextOf(headers_[i].name), TextOf(headers_[i].value)});
  }
  Delivery delivery{.token = entry.token,
                    .bytes = entry.bytes,
                    .latency = now - entry.produced,
                    .topic = entry.topic,
                    .partition = entry.partition,
                    .offset = entry.offset};
  delivery.key = TextOf(entry.key);
  delivery.headers = passed_;
  listener.OnDelivered(delivery);
}

WithheldDeliveries::Text WithheldDeliveries::Store(std::optional<std::string_view> text) {
  if (!text) {
    return {};
  }
  const size_t begin = bytes_.size();
  bytes_.append(*text);
  return {.begin = begin, .size = text->size(), .null = false};
}

std::optional<std::string_view> WithheldDeliveries::TextOf(const Text& text) const {
  return text.null ? std::nullopt
                   : std::optional(std::string_view(bytes_).substr(text.begin, text.size));
}

void WithheldDeliveries::Clear() {
  entries_.clear();
  bytes_.clear();
  headers_.clear();
}

}  // namespace walrelay
