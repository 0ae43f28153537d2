// Containers whose memory is overwritten before it is given back.
#pragma once
#include <memory>
#include <vector>

#include "memory/arena.hpp"

namespace efface {

template <class T>
struct wiping_allocator {
  using value_type = T;
  wiping_allocator() = default;
  template <class U>
  wiping_allocator(const wiping_allocator<U>&) noexcept {}
  T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t{64})); }
  void deallocate(T* at, std::size_t n) noexcept {
    wipe(at, n * sizeof(T));
    ::operator delete(at, std::align_val_t{64});
  }
  friend bool operator==(const wiping_allocator&, const wiping_allocator&) { return true; }
};

template <class T>
using wiped = std::vector<T, wiping_allocator<T>>;

}  // namespace efface
