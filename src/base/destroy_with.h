// What std::unique_ptr needs to own an object of a C library: the library's own function for its
// end.
#pragma once

namespace walrelay {

template <auto Destroy>
struct DestroyWith {
  template <typename T>
  void operator()(T* object) const {
    Destroy(object);
  }
};

}  // namespace walrelay
