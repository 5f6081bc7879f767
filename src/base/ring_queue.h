// RingQueue<T>: a FIFO in one growing array.
//
// std::deque allocates and frees a block every few entries as it advances; RingQueue allocates only
// when its size exceeds the previous maximum. Elements are addressed by position from the front.
// push_back invalidates references.
#pragma once

#include <cstddef>
#include <vector>

#include "base/check.h"

namespace walrelay {

// REQUIRES: T is default-constructible and movable; a removed element is replaced by T(). Not
// thread-safe. Positions beyond the end, and removing from an empty queue, abort (WR_CHECK).
template <typename T>
class RingQueue {
 public:
  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }

  T& operator[](size_t position) {
    // Stays on in release builds: an element that does not exist would be another transaction's.
    WR_CHECK(position < size_, "position is inside the queue");
    return slots_[Index(position)];
  }
  const T& operator[](size_t position) const {
    WR_CHECK(position < size_, "position is inside the queue");
    return slots_[Index(position)];
  }
  T& front() { return (*this)[0]; }
  const T& front() const { return (*this)[0]; }
  T& back() { return (*this)[size_ - 1]; }
  const T& back() const { return (*this)[size_ - 1]; }

  void push_back(T value) {
    if (size_ == slots_.size()) {
      Grow();
    }
    slots_[Index(size_)] = std::move(value);
    ++size_;
  }

  void pop_front() {
    WR_CHECK(size_ > 0, "the queue has a front");
    // Releases what the element holds.
    slots_[head_] = T();
    head_ = Index(1);
    --size_;
  }

  void pop_back() {
    WR_CHECK(size_ > 0, "the queue has a back");
    slots_[Index(size_ - 1)] = T();
    --size_;
  }

  // Keeps the capacity.
  void clear() {
    while (!empty()) {
      pop_front();
    }
  }

 private:
  // The capacity is a power of two.
  size_t Index(size_t position) const { return (head_ + position) & (slots_.size() - 1); }

  // Doubles the capacity, and moves the elements to the front.
  void Grow() {
    std::vector<T> larger(slots_.empty() ? 16 : slots_.size() * 2);
    for (size_t i = 0; i < size_; ++i) {
      larger[i] = std::move(slots_[Index(i)]);
    }
    slots_ = std::move(larger);
    head_ = 0;
  }

  std::vector<T> slots_;
  size_t head_ = 0;
  size_t size_ = 0;
};

}  // namespace walrelay
