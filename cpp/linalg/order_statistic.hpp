// The smallest value that a given weight of values does not exceed: a quantile without sorting.
#pragma once
#include <algorithm>
#include <limits>

#include "memory/arena.hpp"

namespace efface {

namespace detail {
struct counted {
  double weight, values;
};

/// The weight and the number of the values up to a limit.
inline counted up_to(const double* value, const double* weight, index n, double limit) {
  lanes total = 0.0, count = 0.0;
  for (index i = 0; i < n; i += 8) {
    const auto above = lanes::load(value + i) > lanes(limit);
    total += select(above, lanes(0.0), lanes::load(weight + i));
    count += select(above, lanes(0.0), lanes(1.0));
  }
  return {sum(total), sum(count)};
}
}  // namespace detail

/// The least value such that the values up to it weigh at least `target`; the largest if none.
/// n is a multiple of eight; places without a value hold infinity and weight 0.
///
/// The value is enclosed by bisection, since counting needs no branches; the last few are sorted.
inline double order_statistic(const double* value, const double* weight, index n, double target,
                              arena& memory) {
  constexpr int bisections = 60;
  constexpr double few = 16.0;
  arena::scope s(memory);
  const double inf = std::numeric_limits<double>::infinity();
  double low = inf, high = -inf;
  lanes least = inf, most = -inf;
  for (index i = 0; i < n; i += 8) {
    const lanes at = lanes::load(value + i), finite = select(lanes(inf) > at, at, lanes(-inf));
    least = select(least > at, at, least), most = select(finite > most, finite, most);
  }
  for (int k = 0; k < 8; ++k) low = std::min(low, least[k]), high = std::max(high, most[k]);
  detail::counted below = detail::up_to(value, weight, n, low), upto = detail::up_to(value, weight, n, high);
  if (!(below.weight < target)) return low;
  for (int k = 0; k < bisections && upto.values - below.values > few; ++k) {
    const double middle = low + 0.5 * (high - low);
    const detail::counted at = detail::up_to(value, weight, n, middle);
    if (at.weight < target)
      low = middle, below = at;
    else
      high = middle, upto = at;
  }
  index count = 0;
  struct candidate {
    double value, weight;
  };
  auto* left = memory.take<candidate>(n);
  for (index i = 0; i < n; ++i)
    if (value[i] > low && value[i] <= high) left[count++] = {value[i], weight[i]};
  std::sort(left, left + count, [](const candidate& a, const candidate& b) { return a.value < b.value; });
  index at = 0;
  for (double reached = below.weight; at < count; ++at)
    if (!((reached += left[at].weight) < target)) break;
  return left[std::min(at, count - 1)].value;
}

}  // namespace efface
