// Weight, means, and squares and products around the means, of rows with k responses: what a fit
// needs to know. Sums in V = lanes give moments<double>, those in V = dd_lanes moments<dd>.
//
// A row is summed as (x - c, 1, y - c). In dd_lanes its differences and weighted differences keep
// their rounding errors, so that features which depend on each other still do.
#pragma once
#include <cmath>
#include <limits>

#include "linalg/cholesky.hpp"
#include "memory/arena.hpp"

namespace efface {

/// Rows side by side; no weights: all are 1.
struct weighted_rows {
  const double *x, *y, *w;
  index n, d, k;
  double weight(index i) const { return w ? w[i] : 1.0; }
  double value(index i, index j) const { return j < d ? x[i * d + j] : y[i * k + j - d]; }
};

template <class Real>
struct moments {
  moments(arena& a, index features, index responses)
      : d(features),
        k(responses),
        centre(a.take<double>(d + k)),
        bounds(a.take<double>(2 * (d + k))),
        mean(a.take<Real>(d + k)),
        scatter(a.take<Real>(k)),
        gram{a.take<Real>((d + k) * (d + k)), d + k} {}
  index d, k, count = 0;  // rows with weight
  Real weight{0.0};
  bool centred = true, spread = true;  // do the scatters have their digits?
  double *centre, *bounds;  // the least, then the largest value of every feature; then of every response
  Real *mean, *scatter;     // relative to the centre; of every response, squares around its mean
  rows_of<Real> gram;       // lower triangle, around centre + mean; around 0 if not centred

  /// Has a feature one value, or does it vary by no more than the rounding of its mean?
  bool constant(index j) const {
    if (!centred) return bounds[j] == 0.0 && bounds[d + j] == 0.0;
    const double rest = value(mean[j]), from = centre[j];
    const double reach = std::max(bounds[d + j] - from - rest, from - bounds[j] + rest);
    return bounds[j] == bounds[d + j] ||
           reach <= 16.0 * std::numeric_limits<double>::epsilon() * std::abs(from + rest);
  }
  bool constant_response(index r) const { return bounds[2 * d + r] == bounds[2 * d + k + r]; }

  /// What rounding leaves of a constant response is 0.
  void settle_constants() {
    for (index r = 0; r < k; ++r) {
      if (!constant_response(r)) continue;
      scatter[r] = Real(0.0);
      for (index i = 0; centred && i < d + k; ++i) (i <= d + r ? gram[d + r][i] : gram[i][d + r]) = Real(0.0);
    }
  }
};

/// A square of blocks, eight columns each.
template <class V>
struct block_gram {
  block_gram(arena& a, index n) : blocks((n + 7) / 8), data(a.take<V>(8 * blocks * blocks)) {}
  index blocks;
  V* data;
  V* operator[](index i) const { return data + i * blocks; }
  void clear() const { wipe(data, 8 * blocks * blocks * sizeof(V)); }
  /// Numbers side by side, of a row of lanes.
  const double* numbers(index i) const
    requires std::is_same_v<V, lanes>
  {
    return reinterpret_cast<const double*>((*this)[i]);
  }
  auto operator()(index i, index j) const {
    const V& block = (*this)[i][j / 8];
    if constexpr (std::is_same_v<V, lanes>)
      return block[j % 8];
    else
      return dd(block.high[j % 8], block.low[j % 8]);
  }
};

/// A few rows (x - c, 1, y - c) on their way into a sum: weighted on the left, plain on the right.
template <class V>
class staged_rows {
 public:
  static constexpr bool precise = !std::is_same_v<V, lanes>;
  static constexpr index most = 32;

  staged_rows(arena& a, index width)
      : step_((width + 7) / 8 * 8),
        high_(a.take<double>(2 * most * step_)),
        low_(precise ? a.take<double>(2 * most * step_) : nullptr) {}

  /// out += the rows [lo, hi)
  void add(const weighted_rows& rows, index lo, index hi, const double* centre, block_gram<V> out) {
    const index used = std::min(most, std::max<index>(hi - lo, 0));
    for (; lo < hi; lo += most) {
      const index count = std::min(most, hi - lo);
      for (index i = 0; i < count; ++i) put(rows, lo + i, i, centre);
      add_products(count, out);
    }
    wipe(high_, 2 * used * step_ * sizeof(double));
    if (precise) wipe(low_, 2 * used * step_ * sizeof(double));
  }

 private:
  void put(const weighted_rows& rows, index from, index at, const double* centre) {
    const double w = rows.weight(from);
    double *left = high_ + 2 * at * step_, *right = left + step_;
    const auto set = [&](index j, double value, double c) {
      if constexpr (precise) {
        const dd plain = dd::sum(value, -c), weighted = plain * dd(w);
        double *l = low_ + 2 * at * step_, *r = l + step_;
        left[j] = weighted.high, l[j] = weighted.low, right[j] = plain.high, r[j] = plain.low;
      } else {
        right[j] = value - c, left[j] = w * right[j];
      }
    };
    for (index j = 0; j < rows.d; ++j) set(j, rows.x[from * rows.d + j], centre[j]);
    set(rows.d, 1.0, 0.0);
    for (index r = 0; r < rows.k; ++r) set(rows.d + 1 + r, rows.y[from * rows.k + r], centre[rows.d + r]);
  }

  V term(V sum, index left, index right) const {
    const lanes a = high_[left], b = lanes::load(high_ + right);
    if constexpr (precise) {
      auto p = V::product(a, b);
      p.low = muladd(a, lanes::load(low_ + right), muladd(lanes(low_[left]), b, p.low));
      return sum + p;
    } else {
      return muladd(a, b, sum);
    }
  }

  void add_products(index count, block_gram<V> out) const {
    constexpr int height = register_width >= 4 ? 4 : 2;
    const auto tile = [&]<int W>(std::integral_constant<int, W>, index i, index block) {
      V sums[height][W];
      EFFACE_UNROLL for (int r = 0; r < height; ++r) EFFACE_UNROLL
        for (int c = 0; c < W; ++c) sums[r][c] = out[i + r][block + c];
      for (index row = 0; row < count; ++row) EFFACE_UNROLL
        for (int r = 0; r < height; ++r) EFFACE_UNROLL
          for (int c = 0; c < W; ++c)
            sums[r][c] = term(sums[r][c], 2 * row * step_ + i + r, (2 * row + 1) * step_ + 8 * (block + c));
      EFFACE_UNROLL for (int r = 0; r < height; ++r) EFFACE_UNROLL
        for (int c = 0; c < W; ++c) out[i + r][block + c] = sums[r][c];
    };
    for (index i = 0; i < step_; i += height) {
      index block = 0;
      if constexpr (!precise && wide)
        for (; block + 4 <= i / 8 + 1; block += 4) tile(std::integral_constant<int, 4>{}, i, block);
      for (; block <= i / 8; ++block) tile(std::integral_constant<int, 1>{}, i, block);
    }
  }

  index step_;
  double *high_, *low_;
};

/// Sums of (x - c, 1, y - c) as moments; false where the centre is so far off that digits are lost.
template <class V, class Real>
bool set_moments(block_gram<V> total, moments<Real>& m) {
  const index d = m.d, p = m.d + m.k;
  const auto place = [&](index q) { return q < d ? q : q + 1; };
  m.weight = total(d, d);
  bool near = true;
  for (index i = 0; i < p; ++i) {
    const Real linear = i < d ? total(d, i) : total(i + 1, d);
    m.mean[i] = linear / m.weight;
    index j = 0;
    if constexpr (std::is_same_v<V, lanes>) {
      const double *row = total.numbers(place(i)), *sums = total.numbers(d);
      const double mean = m.centred ? m.mean[i] : 0.0;
      for (double* out = m.gram[i]; j < std::min(d, i + 1); ++j) out[j] = row[j] - mean * sums[j];
    }
    for (; j <= i; ++j) {
      const Real other = j < d ? total(d, j) : total(j + 1, d), raw = total(place(i), place(j));
      m.gram[i][j] = m.centred ? raw - m.mean[i] * other : raw;
    }
    near &=
        !m.centred || (i < d && m.constant(i)) || !(value(m.mean[i] * linear) > 32.0 * value(m.gram[i][i]));
  }
  m.spread = true;
  for (index r = 0; r < m.k; ++r) {
    const Real offset = m.mean[d + r] * total(d + 1 + r, d);
    m.scatter[r] = m.gram[d + r][d + r] - (m.centred ? Real(0.0) : offset);
    m.spread &= m.constant_response(r) || !(value(offset) > 32.0 * value(m.scatter[r]));
  }
  m.settle_constants();
  return near;
}

/// Bounds that contain a row as well; with `first`, that alone.
inline void widen(double* bounds, const weighted_rows& rows, index i, bool first) {
  const auto side = [&](double* low, double* high, const double* values, index count) {
    for (index j = 0; j < count; ++j) {
      low[j] = first ? values[j] : std::min(low[j], values[j]);
      high[j] = first ? values[j] : std::max(high[j], values[j]);
    }
  };
  side(bounds, bounds + rows.d, rows.x + i * rows.d, rows.d);
  side(bounds + 2 * rows.d, bounds + 2 * rows.d + rows.k, rows.y + i * rows.k, rows.k);
}
/// Bounds that contain others as well; with `first`, these alone.
inline void widen(double* bounds, const double* other, index d, index k, bool first) {
  const auto side = [&](index low, index high, index count) {
    for (index j = 0; j < count; ++j) {
      bounds[low + j] = first ? other[low + j] : std::min(bounds[low + j], other[low + j]);
      bounds[high + j] = first ? other[high + j] : std::max(bounds[high + j], other[high + j]);
    }
  };
  side(0, d, d), side(2 * d, 2 * d + k, k);
}

/// Bounds, count and centre of the rows [lo, hi).
template <class Real>
void describe(const weighted_rows& rows, index lo, index hi, moments<Real>& m) {
  std::fill_n(m.bounds, 2 * (m.d + m.k), 0.0);
  std::fill_n(m.centre, m.d + m.k, 0.0);
  double total = 0.0;
  m.count = 0;
  for (index i = lo; i < hi; ++i) {
    const double w = rows.weight(i);
    if (!(w > 0.0)) continue;
    widen(m.bounds, rows, i, m.count == 0);
    ++m.count, total += w;
    if (m.centred)  // a running mean: it cannot overflow, and is exact for a constant
      for (index j = 0; j < m.d + m.k; ++j) m.centre[j] += (rows.value(i, j) - m.centre[j]) * (w / total);
  }
}

/// The moments of the rows [lo, hi), from nothing.
template <class Real>
void set_moments(const weighted_rows& rows, index lo, index hi, moments<Real>& m, arena& a) {
  using V = std::conditional_t<std::is_same_v<Real, double>, lanes, dd_lanes>;
  arena::scope s(a);
  block_gram<V> total(a, m.d + m.k + 1);
  staged_rows<V> staged(a, m.d + m.k + 1);
  describe(rows, lo, hi, m);
  staged.add(rows, lo, hi, m.centre, total);
  set_moments(total, m);
}

}  // namespace efface
