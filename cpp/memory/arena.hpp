// All that a model derives from rows, in one allocation that is overwritten when rows leave.
#pragma once
#include <algorithm>
#include <cstring>
#include <new>

#include "number/lanes.hpp"

namespace efface {

/// Zeros that no compiler removes: the memory is said to be read afterwards.
inline void wipe(void* at, std::size_t bytes) {
  std::memset(at, 0, bytes);
  asm volatile("" : : "r"(at) : "memory");
}

/// Whoever needs memory takes it in its constructor. An arena without memory only counts.
class arena {
 public:
  arena() = default;
  explicit arena(std::size_t bytes)
      : size_(bytes), data_(static_cast<char*>(::operator new[](bytes, std::align_val_t{64}))) {
    wipe(data_, size_);
  }
  arena(const arena&) = delete;
  arena& operator=(const arena&) = delete;
  ~arena() {
    if (!data_ || !owned_) return;
    wipe(data_, size_);
    ::operator delete[](data_, std::align_val_t{64});
  }

  template <class T>
  T* take(index n) {
    const std::size_t at = used_;
    used_ += (std::size_t(n) * sizeof(T) + 63) / 64 * 64;
    most_ = std::max(most_, used_);
    if (!data_) return nullptr;
    if (used_ > size_) throw std::bad_alloc();
    return reinterpret_cast<T*>(data_ + at);
  }
  /// What is taken while it exists is overwritten and given back.
  class scope {
   public:
    explicit scope(arena& a) : a_(a), at_(a.used_) {}
    scope(const scope&) = delete;
    scope& operator=(const scope&) = delete;
    ~scope() {
      if (a_.data_) wipe(a_.data_ + at_, a_.used_ - at_);
      a_.used_ = at_;
    }

   private:
    arena& a_;
    std::size_t at_;
  };

  std::size_t used() const { return used_; }
  std::size_t most() const { return most_; }
  std::size_t size() const { return size_; }
  const char* data() const { return data_; }

 protected:
  arena(void* data, std::size_t bytes) : size_(bytes), data_(static_cast<char*>(data)), owned_(false) {}

 private:
  std::size_t size_ = 0, used_ = 0, most_ = 0;
  char* data_ = nullptr;
  bool owned_ = true;
};

/// Hands out memory that another one owns, as it is.
class borrowed_arena : public arena {
 public:
  borrowed_arena(void* data, std::size_t bytes) : arena(data, bytes) {}
};

/// The bytes that `make` takes from an arena.
template <class Make>
std::size_t bytes_of(Make make) {
  arena none;
  make(none);
  return none.most();
}

}  // namespace efface
