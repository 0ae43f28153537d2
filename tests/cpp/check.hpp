// Plain assertions for the tests of the core, and random numbers that are the same everywhere.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "linalg/definite.hpp"

namespace efface::test {

inline void check(bool holds, const char* what, long at = 0) {
  if (holds) return;
  std::fprintf(stderr, "failed: %s (%ld)\n", what, at);
  std::abort();
}

/// Uniform numbers and small integers from SplitMix64.
class random_numbers {
 public:
  explicit random_numbers(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15) {}
  double operator()() { return double(mix(state_++) >> 11) * 0x1p-52 - 1.0; }
  index below(index n) { return index(mix(state_++) % std::uint64_t(n)); }
  std::vector<double> several(index n) {
    std::vector<double> numbers(static_cast<std::size_t>(n));
    for (double& each : numbers) each = (*this)();
    return numbers;
  }

 private:
  std::uint64_t state_;
};

inline bool all_zero(const char* data, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i)
    if (data[i] != 0) return false;
  return true;
}

}  // namespace efface::test
