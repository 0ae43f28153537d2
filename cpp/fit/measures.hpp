// How far the rows of a regression lie from it, and other rows from them: leverages, residuals, and
// the variances of coefficients, from moments. Phi is the Gram matrix of the features as they are
// penalised (divided by sd^power), H = Phi + penalty. In double precision while that keeps the
// digits, else in double-double, where windows of any rank are measured.
#pragma once
#include "fit/fit.hpp"
#include "linalg/half_inverse.hpp"

namespace efface {

/// Of a row u: u'H^-1 u with the part of the intercept, and the squared length of H^-1 u. A row
/// that the rows of the regression do not determine has a leverage by what they determine of it.
struct reading {
  double leverage, image_square;
  bool determined;
};

/// Of a new row of weight 1, and of the oldest row with its own weight.
struct forgetting {
  double leverage_new, leverage_old, term;

  /// The forgetting regret term (Def. 2); `cross` is the product of the two rows.
  static forgetting of(double leverage, double old, double cross) {
    const double apart = old > 0.0 ? std::max(0.0, leverage - cross * cross / old) : leverage;
    return {leverage, old, old * (apart + 1.0)};
  }
};

template <class Real>
class measures {
  static constexpr bool precise = !std::is_same_v<Real, double>;
  // Of the squared responses: with less left, digits of the residuals are missing.
  static constexpr double kept = precise ? 1e-18 : 1e-5;
  using solver = std::conditional_t<precise, semidefinite, half_inverse>;

 public:
  measures(arena& a, index d, index k)
      : d_(d),
        step_((d + 7) / 8 * 8),
        solver_(a, d),
        a_{precise ? a.take<Real>(d * d) : nullptr, d},
        scale_(a.take<Real>(d)),
        flat_(a.take<bool>(d)),
        theta_{a.take<Real>(k * step_), step_},
        left_(a.take<Real>(k)),
        work_{a.take<Real>(5 * step_), step_} {}

  /// Factorise H. False where digits may be missing. The moments must outlive the measures.
  bool factorise(const moments<Real>& m, const model& f, double penalty) {
    m_ = &m, penalty_ = penalty, intercept_ = f.intercept, rank_ = d_;
    constants_ = 0;
    for (index i = 0; i < d_; ++i) {
      flat_[i] = m.constant(i) || !(m.gram[i][i] > Real(0.0));
      constants_ += flat_[i];
      scale_[i] = flat_[i] ? Real(1.0) : detail::scale_of(m.gram[i][i] / m.weight, f.power);
      Real* row = row_of(i);
      for (index j = 0; j <= i; ++j)
        row[j] = flat_[i] || flat_[j] ? Real(0.0) : m.gram[i][j] * scale_[i] * scale_[j];
      row[i] += Real(penalty);
      if (!precise && flat_[i] && penalty == 0.0) row[i] = Real(1.0);
    }
    if constexpr (precise) {
      rank_ = solver_.factorise({a_.data, d_}, rank_tolerance(m.count, d_));
    } else {
      if (!(solver_.invert() >= safe)) return false;
      rank_ = penalty > 0.0 ? d_ : d_ - constants_;
    }
    return true;
  }

  /// Residuals and squared coefficients of the responses [first, last). False as above; by moments
  /// in double-double precision alone a perfect fit is never sure: see `vanishes`.
  bool respond(index first, index last) {
    bool sound = true;
    for (index r = first; r < last; ++r) {
      Real *b = theta_[r], explained(0.0);
      for (index j = 0; j < d_; ++j) b[j] = flat_[j] ? Real(0.0) : m_->gram[d_ + r][j] * scale_[j];
      std::copy_n(b, d_, work_[0]);
      solve(b);
      explained = inner(b, work_[0], d_) + Real(penalty_) * inner(b, b, d_);
      left_[r] = m_->gram[d_ + r][d_ + r] - explained;
      sound &= !vanishes(r);
    }
    return sound;
  }
  bool vanishes(index r) const {
    const double square = value(m_->gram[d_ + r][d_ + r]);
    return square > 0.0 && !(value(left_[r]) > kept * square);
  }
  /// The residuals of response r from the rows themselves.
  void respond_by_rows(const weighted_rows& rows, index lo, index hi, index r) {
    Real total(0.0);
    for (index i = lo; i < hi; ++i) {
      if (!(rows.weight(i) > 0.0)) continue;
      const Real rest = residual(rows, i, r);
      total = muladd(Real(rows.weight(i)) * rest, rest, total);
    }
    left_[r] = total;
  }
  /// Of row i and response r, after `respond`, without its weight.
  Real residual(const weighted_rows& rows, index i, index r) {
    Real rest = distance(rows.y[i * rows.k + r], d_ + r);
    const double* x = rows.x + i * d_;
    for (index j = 0; j < d_; ++j) rest = mulsub(distance(x[j], j) * scale_[j], theta_[r][j], rest);
    return rest;
  }

  // -- the window ------------------------------------------------------------------------------
  index rank() const { return rank_; }  // of H
  bool full() const { return rank_ == d_; }
  double total_weight() const { return value(m_->weight); }
  double unexplained(index r) const {
    const bool all = penalty_ == 0.0 && rank_ == m_->count - m_->centred;  // every row is fitted
    const double left = all ? 0.0 : std::max(value(left_[r]), 0.0);
    return left + (intercept_ ? 0.0 : square_of_mean(r));
  }
  /// The squared responses, around their mean if there is an intercept.
  double total(index r) const {
    return value(m_->gram[d_ + r][d_ + r]) + (intercept_ ? 0.0 : square_of_mean(r));
  }
  double size(index r) const { return value(inner(theta_[r], theta_[r], d_)); }
  double scatter() const {
    Real trace(0.0);
    for (index j = 0; j < d_; ++j)
      if (!flat_[j]) trace = muladd(m_->gram[j][j] * scale_[j], scale_[j], trace);
    return value(trace);
  }

  // -- rows ------------------------------------------------------------------------------------
  reading look(const double* x) { return look(x, work_[0], work_[1]); }

  /// `weight` is that of the oldest row.
  forgetting look_both(const double* newest, const double* oldest, double weight) {
    Real *u = work_[0], *image = work_[1], *v = work_[2], *other = work_[3];
    const double leverage = look(newest, u, image).leverage;
    const double old = weight * look(oldest, v, other).leverage;
    const double cross = std::sqrt(weight) * (value(inner(u, other, d_)) + base());
    return forgetting::of(leverage, old, cross);
  }

  // -- variances, of windows of full rank --------------------------------------------------------
  /// Column j of T, where T'T = H^-1.
  void half_column(index j, double* out) {
    if constexpr (precise) {
      const dd* half = half_of(j);
      for (index i = 0; i < d_; ++i) out[i] = value(half[i]);
    } else {
      std::copy_n(solver_.column(j), d_, out);
    }
  }
  /// Of coefficient j, in units of the noise variance.
  double variance(index j) {
    const double s = value(scale_[j]);
    return diagonal(j) * s * s;
  }
  /// tr H^-1 Phi: the degrees of freedom of the coefficients.
  double unknowns() {
    double count = double(d_);
    for (index j = 0; j < d_ && penalty_ > 0.0; ++j) count -= penalty_ * diagonal(j);
    return count;
  }
  /// Of the intercept: the leverage of x = 0.
  double intercept_variance() {
    if (!intercept_) return 0.0;
    std::fill_n(zeros(), d_, 0.0);
    return look(zeros()).leverage;
  }
  /// Feature j of a row as it is regressed on.
  double coordinate(double x, index j) const { return value(distance(x, j) * scale_[j]); }
  double mean(index j) const { return m_->centred ? m_->centre[j] + value(m_->mean[j]) : 0.0; }

 private:
  /// Entry (j, j) of H^-1.
  double diagonal(index j) {
    if constexpr (precise) {
      const dd* half = half_of(j);
      return value(inner(half, half, d_));
    } else {
      return solver_.diagonal(j);
    }
  }
  double* zeros() { return reinterpret_cast<double*>(work_[2]); }
  double base() const { return intercept_ ? value(Real(1.0) / m_->weight) : 0.0; }
  double square_of_mean(index r) const {
    return m_->centred ? value(m_->weight) * mean(d_ + r) * mean(d_ + r) : 0.0;
  }
  Real* row_of(index i) {
    if constexpr (precise)
      return a_[i];
    else
      return solver_[i];
  }
  /// Of a value from the mean of column j.
  Real distance(double x, index j) const {
    if (!m_->centred) return Real(x);
    if constexpr (precise)
      return dd::sum(x, -m_->centre[j]) - m_->mean[j];
    else
      return (x - m_->centre[j]) - m_->mean[j];
  }
  void place(const double* x, Real* out) const {
    for (index j = 0; j < d_; ++j) out[j] = distance(x[j], j) * scale_[j];
  }
  const dd* half_of(index j)
    requires precise
  {
    std::fill_n(work_[0], d_, Real(0.0)), work_[0][j] = Real(1.0);
    return solver_.halve(work_[0]);
  }
  /// b <- H^+ b; returns the squared length of what H does not reach.
  double solve(Real* b) {
    if constexpr (precise) {
      return solver_.solve(b);
    } else {
      std::fill(b + d_, b + step_, 0.0);
      solver_.halve(b, halves());
      solver_.complete(halves(), b);
      return 0.0;
    }
  }
  Real* halves() { return work_[4]; }

  /// u <- the row, image <- H^+ u
  reading look(const double* x, Real* u, Real* image) {
    bool determined = true;
    place(x, u);
    for (index j = 0; j < d_ && penalty_ == 0.0; ++j)
      if (flat_[j] && value(u[j]) != 0.0) determined = false, u[j] = Real(0.0);
    if constexpr (precise)
      if (determined && penalty_ == 0.0 && rank_ < d_) determined = solver_.reaches(u);
    std::copy_n(u, d_, image);
    const double outside = solve(image);
    reading found{value(inner(u, image, d_)) + base(), value(inner(image, image, d_)), determined};
    if (penalty_ > 0.0) {  // so small that H is not of full rank by its digits
      found.leverage += outside / penalty_;
      found.image_square += outside / (penalty_ * penalty_);
    }
    return found;
  }

  index d_, step_;
  solver solver_;
  rows_of<Real> a_;
  Real* scale_;
  bool* flat_;
  rows_of<Real> theta_;
  Real* left_;
  rows_of<Real> work_;
  const moments<Real>* m_ = nullptr;
  double penalty_ = 0.0;
  bool intercept_ = true;
  index rank_ = 0, constants_ = 0;
};

}  // namespace efface
