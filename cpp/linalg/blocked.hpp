// Products, Cholesky factors and inverses of one larger matrix, eight columns per vector.
//
// Matrices are row-major, and the number of their columns is a multiple of eight. The order of
// every sum is fixed by the sizes alone: no BLAS, no threads, the same bits everywhere.
#pragma once
#include <algorithm>
#include <cmath>

#include "linalg/cholesky.hpp"
#include "linalg/dense.hpp"
#include "memory/arena.hpp"

namespace efface {

template <class T>
struct block {
  T* data;
  index rows, columns, step;
  operator block<const T>() const { return {data, rows, columns, step}; }
  T* operator[](index i) const { return data + i * step; }
  block at(index i, index j, index m, index n) const { return {data + i * step + j, m, n, step}; }
};
using matrix_view = block<double>;
using const_view = block<const double>;

namespace detail {
template <int Sign, int R, int W>
EFFACE_INLINE void add_product_tile(double* out, index step, const double* a, index apart, const double* b,
                                    index ahead, index count) {
  lanes sums[R][W];
  EFFACE_UNROLL for (int r = 0; r < R; ++r) EFFACE_UNROLL
    for (int c = 0; c < W; ++c) sums[r][c] = Sign == 0 ? lanes(0.0) : lanes::load(out + r * step + 8 * c);
  for (index k = 0; k < count; ++k) {
    lanes right[W];
    EFFACE_UNROLL for (int c = 0; c < W; ++c)
      right[c] = lanes::load(b + k * ahead + 8 * c);
    EFFACE_UNROLL for (int r = 0; r < R; ++r) {
      const lanes left = a[r * apart + k];
      EFFACE_UNROLL for (int c = 0; c < W; ++c)
        sums[r][c] = Sign < 0 ? mulsub(left, right[c], sums[r][c]) : muladd(left, right[c], sums[r][c]);
    }
  }
  EFFACE_UNROLL for (int r = 0; r < R; ++r) EFFACE_UNROLL
    for (int c = 0; c < W; ++c) sums[r][c].store(out + r * step + 8 * c);
}

template <int Sign, int R>
void add_product_rows(matrix_view out, const_view a, const_view b, index& i) {
  for (; i + R <= out.rows; i += R) {
    index j = 0;
    if constexpr (R == 1 && wide)  // more sums side by side: a product does not wait for the one before it
      for (; j + 64 <= out.columns; j += 64)
        add_product_tile<Sign, 1, 8>(out[i] + j, out.step, a[i], a.step, b[0] + j, b.step, a.columns);
    for (; (wide || R == 1) && j + 16 <= out.columns; j += 16)
      add_product_tile<Sign, R, 2>(out[i] + j, out.step, a[i], a.step, b[0] + j, b.step, a.columns);
    for (; j < out.columns; j += 8)
      add_product_tile<Sign, R, 1>(out[i] + j, out.step, a[i], a.step, b[0] + j, b.step, a.columns);
  }
}
}  // namespace detail

/// out += Sign a b; with Sign 0, out = a b.
template <int Sign>
void add_product(matrix_view out, const_view a, const_view b) {
  index i = 0;
  if constexpr (wide) detail::add_product_rows<Sign, 8>(out, a, b, i);
  detail::add_product_rows<Sign, register_width >= 4 ? 4 : 2>(out, a, b, i);
  detail::add_product_rows<Sign, 1>(out, a, b, i);
}

/// a <- a b for at most 16 columns, eight rows at a time. `before` has room for 128 numbers.
inline void multiply_in_place(matrix_view a, const_view b, double* before) {
  for (index i = 0; i < a.rows; i += 8) {
    const index m = std::min<index>(8, a.rows - i), n = a.columns;
    for (index r = 0; r < m; ++r) std::copy_n(a[i + r], n, before + r * n);
    add_product<0>(a.at(i, 0, m, n), {before, m, n, n}, b);
  }
}

/// The lower triangle of out = a a', and what lies in the same blocks. `scratch` takes a'.
inline void square(matrix_view out, const_view a, double* scratch) {
  const index n = out.columns;
  for (index i = 0; i < a.rows; ++i)
    for (index j = 0; j < a.columns; ++j) scratch[j * n + i] = a[i][j];
  for (index i = 0; i < a.rows; i += 8) {
    const index m = std::min<index>(8, a.rows - i), width = std::min(n, i / 16 * 16 + 16);
    add_product<0>(out.at(i, 0, m, width), a.at(i, 0, m, a.columns), {scratch, a.columns, width, n});
  }
}

/// A = L L', by panels of 16 columns. Of L, the inverses W of the diagonal blocks are kept.
class blocked_cholesky {
 public:
  blocked_cholesky(arena& a, index n)
      : n_(n),
        transposed_(a.take<double>(n * n)),
        corners_(a.take<double>(2 * panel * (n + panel))),
        scratch_(a.take<double>(2 * panel * panel)) {}

  /// The lower triangle of `rows` has A in its first n rows, U below: rows <- U L'^-1. Returns
  /// whether all pivots are sound. With `triangular`, U is n rows of the identity.
  verdict<double> factorise(matrix_view rows, const double* scale, bool triangular = false) {
    verdict<double> v;
    for (index j = 0; j < n_; j += panel) {
      const index width = std::min(panel, n_ - j);
      const index end = triangular ? n_ + j + width : rows.rows;
      const auto ahead = rows.at(j, 0, end - j, j);
      const auto target = rows.at(j, j, end - j, width);
      if (j > 0) add_product<-1>(target, ahead, {transposed_ + j, j, width, n_});
      invert_corner(target, scale + j, width, corner(j), v);
      const auto below = rows.at(j + width, j, end - j - width, width);
      multiply_in_place(below, {corner(j) + panel * panel, width, width, panel}, scratch_);
      for (index i = j + width; i < n_; ++i)
        for (index c = 0; c < width; ++c) transposed_[(j + c) * n_ + i] = rows[i][j + c];
    }
    wipe(scratch_, 2 * panel * panel * sizeof(double));
    return v;
  }

  /// rows <- rows L'^-1
  void divide_transposed(matrix_view rows) const {
    for (index j = 0; j < n_; j += panel) {
      const index width = std::min(panel, n_ - j), rest = n_ - j - width;
      const auto part = rows.at(0, j, rows.rows, width);
      multiply_in_place(part, {corner(j) + panel * panel, width, width, panel}, scratch_);
      if (rest > 0)
        add_product<-1>(rows.at(0, j + width, rows.rows, rest), part,
                        {transposed_ + j * n_ + j + width, width, rest, n_});
    }
    wipe(scratch_, 2 * panel * panel * sizeof(double));
  }

  /// rows <- rows L^-1; `factor` is what `factorise` left.
  void divide(matrix_view rows, const_view factor) const {
    for (index j = (n_ - 1) / panel * panel; j >= 0; j -= panel) {
      const index width = std::min(panel, n_ - j);
      const auto part = rows.at(0, j, rows.rows, width);
      multiply_in_place(part, {corner(j), width, width, panel}, scratch_);
      if (j > 0) add_product<-1>(rows.at(0, 0, rows.rows, j), part, factor.at(j, 0, width, j));
    }
    wipe(scratch_, 2 * panel * panel * sizeof(double));
  }

  void clear() {
    wipe(transposed_, n_ * n_ * sizeof(double)), wipe(corners_, 2 * panel * (n_ + panel) * sizeof(double));
  }

 private:
  static constexpr index panel = 16;
  double* corner(index j) { return corners_ + 2 * panel * j; }
  const double* corner(index j) const { return corners_ + 2 * panel * j; }

  /// W and W' of a diagonal block, by elimination on (A | I) along whole rows.
  void invert_corner(const_view a, const double* scale, index width, double* w, verdict<double>& v) const {
    const rows_of<double> wide{scratch_, 2 * panel};
    std::fill_n(scratch_, 2 * panel * panel, 0.0);
    for (index i = 0; i < width; ++i) {
      for (index j = 0; j <= i; ++j) wide[i][j] = wide[j][i] = a[i][j];
      wide[i][panel + i] = 1.0;
    }
    for (index p = 0; p < width; ++p) {
      const double pivot = wide[p][p];
      v.sound &= pivot > safe * scale[p];
      v.certain &= pivot > efface::clear * scale[p];
      const double inverse = pivot > 0.0 ? 1.0 / pivot : 0.0, root = std::sqrt(inverse);
      for (index i = p + 1; i < width; ++i) {
        const lanes factor = wide[i][p] * inverse;
        EFFACE_UNROLL for (int c = 0; c < 2 * panel; c += 8)
          mulsub(factor, lanes::load(wide[p] + c), lanes::load(wide[i] + c)).store(wide[i] + c);
      }
      for (index j = 0; j < panel; ++j) {
        w[p * panel + j] = root * wide[p][panel + j];
        w[panel * panel + j * panel + p] = w[p * panel + j];
      }
    }
  }

  index n_;
  double *transposed_, *corners_, *scratch_;
};

}  // namespace efface
