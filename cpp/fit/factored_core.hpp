// A core of rows, factorised once for a fixed penalty, and rows outside it, which come and go.
//
// The core is A = L L', around its mean. For the rows U outside it, V = U L'^-1,
// S = I + V V' + root root' / W for the intercept (W is the weight of the core), and r = y - V g with
// g = b L'^-1. With those of them whose places are J, S_JJ w = r_J, and the coefficients are
// (g + w'V_J) L^-1. So a row joins by one row of V and S, and leaves by not being in J: nothing is
// ever subtracted. Rows are times the root of their weight.
#pragma once
#include "linalg/trust.hpp"
#include "sums/moments.hpp"

namespace efface {

class factored_core {
 public:
  /// `most`: how many rows can be outside.
  factored_core(arena& a, index features, index responses, index most, double alpha, bool intercept)
      : d(features),
        k(responses),
        w((d + 7) / 8 * 8),
        wide((most + 7) / 8 * 8 + 8),
        most_(most),
        alpha_(alpha),
        intercept_(intercept),
        factor_(a, w),
        probes_(a, w),
        rows_{a.take<double>((w + k + most) * w), w},
        squares_{a.take<double>(most * w), w},
        schur_{a.take<double>(most * wide), wide},
        residual_{a.take<double>(k * wide), wide},
        root_(a.take<double>(wide)),
        scale_(a.take<double>(w)),
        centre_(a.take<double>(2 * (d + k))),
        offset_(centre_ + d + k),
        inside_(a.take<double>(w)),
        core_theta_{a.take<double>(k * w), w},
        scratch_(a.take<double>(w * wide)),
        constant_(a.take<bool>(d)),
        odd_(a.take<bool>(most)) {}
  const index d, k, w, wide;

  const double* image(index at) const { return rows_[w + k + at]; }  // V
  const double* target(index r) const { return rows_[w + r]; }       // g
  rows_of<double> schur() const { return schur_; }
  rows_of<double> residual() const { return residual_; }
  double margin() const { return margin_; }
  index constants() const { return constants_; }
  const double* squares(index at) const { return squares_[at]; }  // of the row, feature by feature
  const double* inside() const { return inside_; }                // of the core
  /// Does a row differ in a feature that is constant in the core, without a penalty?
  bool odd(index at) const { return odd_[at]; }

  /// The core has these moments, and `count` rows of the array are outside: `row_at` says which.
  template <class RowAt>
  void form(const moments<double>& m, const weighted_rows& rows, index count, RowAt row_at) {
    margin_ = 0.0;
    if (!(m.weight > 0.0) || !set_system(m)) return;
    for (index i = 0; i < count; ++i) place(rows, row_at(i), i);
    const auto v = factor_.factorise({rows_.data, w + k + count, w, w}, scale_);
    if (!v.sound) return;
    margin_ = v.certain ? efface::clear : probes_.margin(factor_, lower(), scale_);
    if (!(margin_ >= safe)) return;
    std::copy_n(rows_[w], k * w, core_theta_.data);
    factor_.divide({core_theta_.data, k, w, w}, lower());
    square({schur_.data, count, wide, wide}, {image(0), count, w, w}, scratch_);
    wipe(scratch_, w * wide * sizeof(double));
    for (index i = 0; i < count; ++i) {
      add_row(root_[i] / weight_, root_, schur_[i], i + 1);
      complete(i);
    }
  }

  /// One more row outside, at the place `at`; the live ones begin at `lo`.
  void join(const weighted_rows& rows, index from, index at, index lo) {
    place(rows, from, at);
    factor_.divide_transposed({rows_[w + k + at], 1, w, w});
    for (index j = lo; j <= at; ++j)
      schur_[at][j] = muladd(root_[at] / weight_, root_[j], dot(image(at), image(j), w));
    complete(at);
  }

  /// g + w'V_J becomes coefficients, row by row.
  void divide(matrix_view theta) const { factor_.divide(theta, lower()); }

  /// Have the coefficients of response r their digits? `w` belongs to the rows lo .. hi - 1 outside,
  /// `all` has the squares of the core and of more rows than these, if they are known, and `scratch`
  /// room for as many.
  bool keep_digits(const double* theta, index r, const double* weights, index lo, index hi, double margin,
                   const double* all, double* scratch) const {
    double reach = 0.0;
    for (index q = lo; q < hi; ++q) reach = std::max(reach, weights[q - lo] * weights[q - lo] * schur_[q][q]);
    const summed_terms terms{theta, core_theta_[r], scale_, reach, w};
    if (all && terms.keep_digits(inside_, all, margin)) return true;
    std::copy_n(inside_, w, scratch);
    for (index q = lo; q < hi; ++q) add_row(1.0, squares_[q], scratch, w);
    return terms.keep_digits(scratch, scratch, margin);
  }

  /// The intercept of response r for the features as they are.
  double level(const double* coef, index r, const double* weights, index lo, index hi) const {
    if (!intercept_) return 0.0;
    const double moved = dot(weights, root_ + lo, hi - lo) / weight_;
    return moved + (offset_[d + r] - dot(offset_, coef, d)) + (centre_[d + r] - dot(centre_, coef, d));
  }

  /// Overwrite what belongs to the place of a row that has left.
  void clear(index at) {
    wipe(rows_[w + k + at], w * sizeof(double)), wipe(squares_[at], w * sizeof(double));
    wipe(schur_[at], wide * sizeof(double));
    for (index i = at; i < most_; ++i) schur_[i][at] = 0.0;
    for (index r = 0; r < k; ++r) residual_[r][at] = 0.0;
    root_[at] = 0.0, odd_[at] = false;
  }
  /// Overwrite what belongs to rows outside.
  void clear_outside() {
    wipe(rows_[w + k], most_ * w * sizeof(double)), wipe(squares_.data, most_ * w * sizeof(double));
    wipe(schur_.data, most_ * wide * sizeof(double)), wipe(residual_.data, k * wide * sizeof(double));
    wipe(root_, wide * sizeof(double)), wipe(odd_, most_);
  }
  /// Overwrite everything.
  void clear() {
    clear_outside();
    factor_.clear();
    wipe(rows_.data, (w + k) * w * sizeof(double)), wipe(core_theta_.data, k * w * sizeof(double));
    wipe(scale_, w * sizeof(double)), wipe(inside_, w * sizeof(double)), wipe(constant_, d);
    wipe(centre_, 2 * (d + k) * sizeof(double));
    weight_ = margin_ = 0.0, constants_ = 0;
  }

 private:
  matrix_view lower() const { return {rows_.data, w, w, w}; }

  bool set_system(const moments<double>& m) {
    std::copy_n(m.centre, d + k, centre_), std::copy_n(m.mean, d + k, offset_);
    weight_ = m.weight, constants_ = 0;
    for (index j = 0; j < d; ++j) {
      constants_ += constant_[j] = m.constant(j);
      if (constant_[j]) offset_[j] = m.bounds[j] - m.centre[j];  // exactly: rows that agree become 0
    }
    for (index r = 0; r < k; ++r)
      if (m.constant_response(r)) offset_[d + r] = m.bounds[2 * d + r] - m.centre[d + r];
    if (!intercept_) std::fill_n(centre_, 2 * (d + k), 0.0);
    for (index i = 0; i < w; ++i) {
      const bool none = i >= d || constant_[i], unit = i >= d || (constant_[i] && alpha_ == 0.0);
      if (none)
        std::fill_n(rows_[i], i, 0.0);
      else
        std::copy_n(m.gram[i], i, rows_[i]);
      for (index j = 0; constants_ > 0 && j < std::min(i, d); ++j)
        if (constant_[j]) rows_[i][j] = 0.0;
      rows_[i][i] = scale_[i] = unit ? 1.0 : none ? alpha_ : m.gram[i][i] + alpha_;
      inside_[i] = unit ? 0.0 : scale_[i];
      for (index r = 0; r < k; ++r) rows_[w + r][i] = none ? 0.0 : m.gram[d + r][i];
      if (!(scale_[i] > least_square)) return false;
    }
    return true;
  }

  void place(const weighted_rows& rows, index from, index at) {
    const double *x = rows.x + from * d, *y = rows.y + from * k, root = std::sqrt(rows.weight(from));
    double *u = rows_[w + k + at], *square = squares_[at];
    for (index j = 0; j < d; ++j) u[j] = root * (x[j] - centre_[j] - offset_[j]);
    std::fill(u + d, u + w, 0.0);
    odd_[at] = false;
    if (constants_ > 0 && alpha_ == 0.0)
      for (index j = 0; j < d; ++j) odd_[at] |= constant_[j] && u[j] != 0.0;
    for (index j = 0; j < w; ++j) square[j] = u[j] * u[j];
    for (index r = 0; r < k; ++r) residual_[r][at] = root * (y[r] - centre_[d + r] - offset_[d + r]);
    root_[at] = intercept_ ? root : 0.0;
  }

  /// S and r of a row, once V is there.
  void complete(index at) {
    schur_[at][at] += 1.0;
    for (index r = 0; r < k; ++r) residual_[r][at] -= dot(image(at), target(r), w);
  }

  index most_;
  double alpha_, weight_ = 0.0, margin_ = 0.0;
  bool intercept_;
  index constants_ = 0;  // features that are constant in the core
  blocked_cholesky factor_;
  random_probes probes_;
  rows_of<double> rows_;  // A, then L; g; V
  rows_of<double> squares_, schur_, residual_;
  double *root_, *scale_, *centre_, *offset_, *inside_;
  rows_of<double> core_theta_;
  double* scratch_;
  bool *constant_, *odd_;
};

}  // namespace efface
