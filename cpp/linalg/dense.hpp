// Products of rows of numbers, eight columns at a time, in a fixed order.
#pragma once
#include <algorithm>
#include <type_traits>
#include <vector>

#include "number/twofold.hpp"

namespace efface {

inline double dot(const double* a, const double* b, index n) {
  lanes sums[4] = {0.0, 0.0, 0.0, 0.0};
  index i = 0;
  for (; i + 32 <= n; i += 32)
    for (int k = 0; k < 4; ++k)
      sums[k] = muladd(lanes::load(a + i + 8 * k), lanes::load(b + i + 8 * k), sums[k]);
  for (; i + 8 <= n; i += 8) sums[0] = muladd(lanes::load(a + i), lanes::load(b + i), sums[0]);
  double total = sum((sums[0] + sums[1]) + (sums[2] + sums[3]));
  for (; i < n; ++i) total = muladd(a[i], b[i], total);
  return total;
}

/// out += weight row
inline void add_row(double weight, const double* row, double* out, index n) {
  const lanes w = weight;
  index i = 0;
  for (; i + 8 <= n; i += 8) muladd(w, lanes::load(row + i), lanes::load(out + i)).store(out + i);
  for (; i < n; ++i) out[i] = muladd(weight, row[i], out[i]);
}

EFFACE_INLINE lanes add_product(lanes sum, lanes a, lanes b) { return muladd(a, b, sum); }
EFFACE_INLINE dd_lanes add_product(dd_lanes sum, lanes a, lanes b) { return sum + dd_lanes::product(a, b); }

/// Rows and columns in blocks of eight; V is lanes, or dd_lanes for sums of twice the precision.
template <class V>
class block_matrix {
 public:
  block_matrix() = default;
  explicit block_matrix(index n) : blocks_((n + 7) / 8), data_(8 * blocks_ * blocks_, V(0.0)) {}
  V* operator[](index i) { return data_.data() + i * blocks_; }
  const V* operator[](index i) const { return data_.data() + i * blocks_; }
  index blocks() const { return blocks_; }
  /// Entry (i, j), j <= i, in the precision of a double.
  double operator()(index i, index j) const {
    double a = number((*this)[i] + j / 8, j % 8);
    if constexpr (!std::is_same_v<V, lanes>) a += number(&(*this)[i][j / 8].low, j % 8);
    return a;
  }
  dd precise(index i, index j) const
    requires std::is_same_v<V, dd_lanes>
  {
    const V& block = (*this)[i][j / 8];
    return {number(&block.high, j % 8), number(&block.low, j % 8)};
  }
  void clear() { std::fill(data_.begin(), data_.end(), V(0.0)); }
  void set_sum(const block_matrix& a, const block_matrix& b) {
    for (std::size_t i = 0; i < data_.size(); ++i) data_[i] = a.data_[i] + b.data_[i];
  }

 private:
  static double number(const void* block, index at) {
    double a;
    std::memcpy(&a, static_cast<const char*>(block) + at * sizeof a, sizeof a);
    return a;
  }

  index blocks_ = 0;
  std::vector<V> data_;
};

/// out += rows' rows, by blocks on and below the diagonal. Rows have 8 out.blocks() numbers.
template <class V>
void add_gram(const double* rows, index count, block_matrix<V>& out) {
  constexpr int height = register_width >= 4 ? 4 : 2, most = std::is_same_v<V, lanes> && wide ? 4 : 1;
  const index step = 8 * out.blocks();
  auto add = [&]<int W>(std::integral_constant<int, W>, index i, index block) {
    V sums[height][W];
    EFFACE_UNROLL for (int r = 0; r < height; ++r) EFFACE_UNROLL
      for (int c = 0; c < W; ++c) sums[r][c] = out[i + r][block + c];
    for (const double* row = rows; row < rows + count * step; row += step) {
      lanes right[W];
      EFFACE_UNROLL for (int c = 0; c < W; ++c)
        right[c] = lanes::load(row + 8 * (block + c));
      EFFACE_UNROLL for (int r = 0; r < height; ++r) EFFACE_UNROLL
        for (int c = 0; c < W; ++c) sums[r][c] = add_product(sums[r][c], row[i + r], right[c]);
    }
    EFFACE_UNROLL for (int r = 0; r < height; ++r) EFFACE_UNROLL
      for (int c = 0; c < W; ++c) out[i + r][block + c] = sums[r][c];
  };
  for (index i = 0; i < step; i += height)
    for (index block = 0, end = i / 8 + 1; block < end;) {
      const index width = std::min<index>(most, end - block);
      switch (width) {
        case 1: add(std::integral_constant<int, 1>{}, i, block); break;
        case 2: add(std::integral_constant<int, 2>{}, i, block); break;
        case 3: add(std::integral_constant<int, 3>{}, i, block); break;
        default: add(std::integral_constant<int, 4>{}, i, block);
      }
      block += width;
    }
}

}  // namespace efface
