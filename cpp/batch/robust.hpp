// Robust variances of the coefficients of least squares on many ranges of rows: HC0 to HC3
// (MacKinnon and White 1985), and HAC (Newey and West 1987). The influence of a row on the
// coefficients is A^-1 z = T'T z, where A is the Gram matrix and z the centred row; a variance is the
// sum of squares of influence times residual. Rows without weight do not count, not even as lags.
#pragma once
#include "batch/range_measures.hpp"

namespace efface {

enum class robust_kind { hc0, hc1, hc2, hc3, hac };

/// Which variances; fewer than 0 lags stand for floor(4 (n / 100)^(2/9)) of n rows.
struct robust_choice {
  robust_kind kind;
  index lags;

  index count(index n) const {
    if (kind != robust_kind::hac) return 0;
    return lags < 0 ? index(std::floor(4.0 * std::pow(double(n) / 100.0, 2.0 / 9.0))) : lags;
  }
};

/// The regression on one range of at most n rows, of full rank.
class robust_range {
 public:
  robust_range(arena& a, index n, index d, index k)
      : d_(d),
        w_((d + 8) / 8 * 8),
        half_{a.take<double>(w_ * w_), w_},
        whole_{a.take<double>(w_ * w_), w_},
        influence_{a.take<double>(n * w_), w_},
        product_{a.take<double>(n * w_), w_},
        root_(a.take<double>(n)),
        rest_(a.take<double>(n)),
        residual_{a.take<double>(k * n), n},
        total_(a.take<double>(w_)) {}

  /// What the rows [lo, hi) have in common for all responses.
  template <class Real>
  void set(measures<Real>& m, const weighted_rows& rows, index lo, index hi, bool intercept) {
    n_ = 0, unknowns_ = d_ + intercept;
    for (index i = 0; i < d_; ++i) whole_[i][d_] = 0.0;
    for (index j = 0; j < d_; ++j) {
      m.half_column(j, half_[j]);
      const double mean = intercept ? m.mean(j) : 0.0;  // the intercept is the prediction at 0
      for (index i = 0; i < d_; ++i) {
        whole_[i][j] = half_[j][i];
        whole_[i][d_] = mulsub(mean, half_[j][i], whole_[i][d_]);
      }
    }
    for (index i = lo; i < hi; ++i) {
      if (!(rows.weight(i) > 0.0)) continue;
      double* row = influence_[n_];
      const double root = root_[n_] = std::sqrt(rows.weight(i));
      for (index j = 0; j < d_; ++j) row[j] = root * m.coordinate(rows.x[i * d_ + j], j);
      std::fill(row + d_, row + w_, 0.0);
      for (index r = 0; r < rows.k; ++r) residual_[r][n_] = root * value(m.residual(rows, i, r));
      ++n_;
    }
    const matrix_view all{influence_.data, n_, w_, w_}, halves{product_.data, n_, w_, w_};
    add_product<0>(halves, all, {half_.data, w_, w_, w_});
    add_product<0>(all, halves, {whole_.data, w_, w_, w_});
    const double base = intercept ? 1.0 / m.total_weight() : 0.0;
    for (index i = 0; i < n_; ++i) {
      rest_[i] = 1.0 - dot(product_[i], product_[i], w_) - root_[i] * root_[i] * base;
      influence_[i][d_] += root_[i] * base;
    }
  }

  /// Variances of response r: those of d coefficients, then that of the intercept.
  const double* variances(index r, robust_choice choice) {
    scale_residuals(choice.kind, residual_[r]);
    for (index i = 0; i < n_; ++i) {
      const lanes rest = residual_[r][i];
      for (index c = 0; c < w_; c += 8) (rest * lanes::load(influence_[i] + c)).store(product_[i] + c);
    }
    const index lags = choice.count(n_);
    std::fill_n(total_, w_, 0.0);
    add_neighbours(0, 1.0);
    for (index lag = 1; lag <= std::min(lags, n_ - 1); ++lag)  // Bartlett weights
      add_neighbours(lag, 2.0 * (1.0 - double(lag) / (double(lags) + 1.0)));
    return total_;
  }

 private:
  /// Multiply the residuals by what HC1 to HC3 ask for.
  void scale_residuals(robust_kind kind, double* residual) const {
    const double none = std::numeric_limits<double>::quiet_NaN(), n = double(n_);
    const double all = n_ > unknowns_ ? std::sqrt(n / (n - double(unknowns_))) : none;
    const double least = 64.0 * std::numeric_limits<double>::epsilon() * double(unknowns_);
    for (index i = 0; i < n_; ++i) {
      if (kind == robust_kind::hc1) residual[i] *= all;
      if (kind != robust_kind::hc2 && kind != robust_kind::hc3) continue;
      const double rest = rest_[i] > least ? rest_[i] : none;  // else the row alone determines a coefficient
      residual[i] /= kind == robust_kind::hc2 ? std::sqrt(rest) : rest;
    }
  }
  /// total += weight sum of v_i v_(i - lag), column by column
  void add_neighbours(index lag, double weight) {
    for (index c = 0; c < w_; c += 8) {
      lanes sum = 0.0;
      for (index i = lag; i < n_; ++i)
        sum = muladd(lanes::load(product_[i] + c), lanes::load(product_[i - lag] + c), sum);
      muladd(lanes(weight), sum, lanes::load(total_ + c)).store(total_ + c);
    }
  }

  index d_, w_, n_ = 0, unknowns_ = 0;
  rows_of<double> half_, whole_, influence_, product_;  // T' and T; a row per row of the range
  double *root_, *rest_;                                // root weights, 1 - leverages
  rows_of<double> residual_;                            // a row per response
  double* total_;
};

/// variance (ranges, k, d), base (ranges, k); NaN where the rows do not determine the coefficients.
inline void robust_ranges(const row_ranges& ranges, bool intercept, robust_choice choice, double* variance,
                          double* base) {
  const index d = ranges.rows.d, k = ranges.rows.k, longest = ranges.longest();
  range_measures each(ranges, {intercept, 0.0, fixed{0.0}});
  arena memory(bytes_of([&](arena& a) { robust_range one(a, longest, d, k); }));
  robust_range one(memory, longest, d, k);
  const double none = std::numeric_limits<double>::quiet_NaN();
  std::fill_n(variance, ranges.count * k * d, none), std::fill_n(base, ranges.count * k, none);
  for (index i = 0; i < ranges.count; ++i) {
    const index lo = ranges.lo[i], hi = ranges.hi[i];
    if (hi - lo < d + intercept) continue;
    each.start(i);
    if (each.count() < d + intercept) continue;
    each.measure(0.0, 0, k, [&](auto& m) {
      if (!m.full()) return;
      one.set(m, ranges.rows, lo, hi, intercept);
      for (index r = 0; r < k; ++r) {
        const double* found = one.variances(r, choice);
        std::copy_n(found, d, variance + (i * k + r) * d);
        base[i * k + r] = intercept ? found[d] : 0.0;
      }
    });
  }
}

}  // namespace efface
