// Rows whose squares would leave the range of a double: features and responses are multiplied by
// powers of two first, which rounds nothing, and coefficients and penalties afterwards.
//
// With v_j = 2^-a_j x_j and the responses divided by 2^e, coefficients are multiplied by 2^(e - a_j).
// All a_j are that of the largest feature, a, so that the penalty and the minimum norm stay what they
// are. A feature 2^200 times smaller gets an own a_j; its penalty is multiplied by 2^(2 (a - a_j)).
#pragma once
#include "fit/fit.hpp"

namespace efface {

namespace detail {
inline constexpr int reach_of_squares = 240, reach_of_scales = 200, reach_of_roots = 100;

inline bool far(double size) {
  return size != 0.0 &&
         !(size >= std::ldexp(1.0, -reach_of_squares) && size <= std::ldexp(1.0, reach_of_squares));
}
/// Half the range of a feature, or its largest value where the regression is not centred.
template <class Real>
double half_range(const moments<Real>& m, index j) {
  const double low = m.bounds[j], high = m.bounds[m.d + j];
  return m.centred ? 0.5 * high - 0.5 * low : std::max(std::abs(low), std::abs(high));
}
inline int exponent_of_size(double size) {
  int exponent = 0;
  if (size > 0.0) std::frexp(size, &exponent);
  return exponent;
}
}  // namespace detail

/// Would squares of these features, or of their responses, be too large or too small?
template <class Real>
bool extreme(const moments<Real>& m) {
  for (index j = 0; j < m.d; ++j)
    if (detail::far(detail::half_range(m, j))) return true;
  for (index r = 0; r < m.k; ++r)
    if (detail::far(std::max(std::abs(m.bounds[2 * m.d + r]), std::abs(m.bounds[2 * m.d + m.k + r]))))
      return true;
  return false;
}

/// The fit of such rows, in double-double precision.
class extreme_fit {
 public:
  extreme_fit(const weighted_rows& rows, index lo, index hi, const model& f)
      : d_(rows.d),
        k_(rows.k),
        n_(hi - lo),
        f_(f),
        memory_(scratch_of<dd>(d_, k_) + bytes_of([&](arena& a) { parts(a, *this); })),
        p_(memory_, *this) {
    moments<double> m(memory_, d_, k_);
    m.centred = f.centred();
    describe(rows, lo, hi, m);
    choose_scales(rows, lo, m);
    for (index i = 0; i < n_; ++i) {
      p_.w[i] = rows.weight(lo + i);
      for (index j = 0; j < d_; ++j)
        p_.x[i * d_ + j] = m.constant(j) ? 0.0 : std::ldexp(rows.x[(lo + i) * d_ + j], -p_.shift[j]);
      for (index r = 0; r < k_; ++r) p_.y[i * k_ + r] = std::ldexp(rows.y[(lo + i) * k_ + r], -response_);
    }
  }

  void solve(solution& out) {
    model f = f_;
    f.ratio = p_.ratio;
    const int back = f.power == 1.0 ? 0 : top_;  // standardised features have no unit
    if (auto* rule = std::get_if<fixed>(&f.rule)) rule->alpha = std::ldexp(rule->alpha, -2 * back);
    if (auto* rule = std::get_if<lemma3>(&f.rule))
      rule->theta_max = std::ldexp(rule->theta_max, back - response_);
    const weighted_rows scaled{p_.x, p_.y, p_.w, n_, d_, k_};
    fit_sums<dd>(scaled, 0, n_, f, out, memory_);
    if (f.power == 0.0 && out.rank >= 0 && out.rank < d_) solve_without_small(scaled, f, out);
    const bool halved = f.power == 0.5;
    for (index r = 0; r < k_; ++r) {
      set_strong(f, out, r);
      for (index j = 0; j < d_; ++j)
        out.coef[r][j] = std::ldexp(out.coef[r][j], response_ - (halved ? top_ : p_.shift[j])) + p_.strong[j];
      out.level[r] = std::ldexp(out.level[r], response_);
      if (const auto* rule = std::get_if<fixed>(&f_.rule))
        out.penalty[r] = rule->alpha * f_.unit;
      else
        out.penalty[r] = std::ldexp(out.penalty[r], halved ? top_ : 2 * back);
    }
  }

 private:
  struct parts {
    parts(arena& a, const extreme_fit& e)
        : x(a.take<double>(e.n_ * e.d_)),
          put_by(a.take<double>(e.n_ * e.d_)),
          y(a.take<double>(e.n_ * e.k_)),
          w(a.take<double>(e.n_)),
          ratio(a.take<double>(e.d_)),
          strong(a.take<double>(e.d_)),
          shift(a.take<int>(e.d_)) {
      moments<double> m(a, e.d_, e.k_);
    }
    double *x, *put_by, *y, *w, *ratio, *strong;
    int* shift;
  };

  /// Where the rank does not need features far smaller than others, the minimum norm gives them none.
  void solve_without_small(const weighted_rows& scaled, const model& f, solution& out) {
    const index rank = out.rank;
    bool some = false;
    for (index j = 0; j < d_; ++j) {
      if (p_.ratio[j] == 1.0) continue;
      some = true;
      for (index i = 0; i < n_; ++i) std::swap(p_.x[i * d_ + j], p_.put_by[i * d_ + j]);
    }
    if (!some) return;
    fit_sums<dd>(scaled, 0, n_, f, out, memory_);
    if (out.rank == rank) return;
    for (index i = 0; i < n_ * d_; ++i) p_.x[i] += p_.put_by[i];
    fit_sums<dd>(scaled, 0, n_, f, out, memory_);
  }

  /// Coefficients of features whose penalty is far above their squares: products with the residuals
  /// over the penalty.
  void set_strong(const model& f, const solution& out, index r) {
    std::fill_n(p_.strong, d_, 0.0);
    const auto* given = std::get_if<fixed>(&f_.rule);
    for (index j = 0; f.power == 0.0 && j < d_; ++j) {
      if (!(out.penalty[r] * p_.ratio[j] > too_strong)) continue;
      const int back = p_.shift[j] - (given ? 0 : 2 * top_);
      p_.strong[j] =
          std::ldexp(pull(out, r, j) / (given ? given->alpha * f_.unit : out.penalty[r]), response_ + back);
    }
  }
  double pull(const solution& out, index r, index j) const {
    double sum = 0.0, mean = 0.0, total = 0.0;
    for (index i = 0; i < n_; ++i) total += p_.w[i], mean += p_.w[i] * p_.x[i * d_ + j];
    mean = f_.centred() ? mean / total : 0.0;
    for (index i = 0; i < n_; ++i) {
      const double fitted = dot(out.coef[r], p_.x + i * d_, d_) + out.level[r];
      sum += p_.w[i] * (p_.x[i * d_ + j] - mean) * (p_.y[i * k_ + r] - fitted);
    }
    return sum;
  }

  void choose_scales(const weighted_rows& rows, index lo, const moments<double>& m) {
    top_ = -5000;
    for (index j = 0; j < d_; ++j) {
      p_.shift[j] = detail::exponent_of_size(detail::half_range(m, j));
      if (!m.constant(j)) top_ = std::max(top_, p_.shift[j]);
    }
    if (top_ == -5000) top_ = 0;
    for (index j = 0; j < d_; ++j) {
      const int reach = f_.power == 0.5 ? detail::reach_of_roots : detail::reach_of_scales;
      const int below = std::max(p_.shift[j] - top_, -reach);
      if (f_.power != 1.0) p_.shift[j] -= below;
      p_.ratio[j] = f_.power == 0.0 ? std::ldexp(1.0, std::min(2 * (top_ - p_.shift[j]), 1023)) : 1.0;
    }
    double largest = 0.0;
    for (index i = 0; i < n_ * k_; ++i)
      if (rows.weight(lo + i / k_) > 0.0) largest = std::max(largest, std::abs(rows.y[lo * k_ + i]));
    response_ = detail::exponent_of_size(largest);
  }

  index d_, k_, n_;
  model f_;
  int top_ = 0, response_ = 0;
  arena memory_;
  parts p_;
};

/// From rows, in the precision that they need. No row with weight: nothing but the fixed penalty.
inline void fit_rows(const weighted_rows& rows, index lo, index hi, const model& f, solution& out,
                     workspace& work) {
  arena& a = work.fast();
  arena::scope s(a);
  moments<double> m(a, rows.d, rows.k);
  m.centred = f.centred();
  describe(rows, lo, hi, m);
  if (m.count == 0) return set_empty(f, rows.d, rows.k, out);
  if (extreme(m)) return extreme_fit(rows, lo, hi, f).solve(out);
  if (few(m.count, rows.d, f)) {
    if (!fit_few<double>(rows, lo, hi, f, out, a)) fit_few<dd>(rows, lo, hi, f, out, work.precise());
  } else if (!fit_sums<double>(rows, lo, hi, f, out, a)) {
    fit_sums<dd>(rows, lo, hi, f, out, work.precise());
  }
}

}  // namespace efface
