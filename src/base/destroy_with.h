// A deleter for std::unique_ptr that owns an object of a C library: calls the library's own destroy
// function.
#pragma once

namespace walrelay {

// Stateless, so a unique_ptr with it is as small as a pointer.
// Not called for a null pointer (std::unique_ptr).
template <auto Destroy>
struct DestroyWith {
  template <typename T>
  void operator()(T* object) const {
    Destroy(object);
  }
};

}  // namespace walrelay
