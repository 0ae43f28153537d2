// A = Q T Q' with T tridiagonal, by Householder reflections from the last row up, and
// (T + lam) solved for one lam or for a whole grid of them at once.
#pragma once
#include "linalg/dense.hpp"
#include "linalg/semidefinite.hpp"

namespace efface {

inline double inner(const double* a, const double* b, index n) { return dot(a, b, n); }
template <class Real>
void add_multiple(Real weight, const Real* row, Real* out, index n) {
  if constexpr (std::is_same_v<Real, double>)
    add_row(weight, row, out, n);
  else
    for (index i = 0; i < n; ++i) out[i] = muladd(weight, row[i], out[i]);
}

template <class Real>
class tridiagonal {
 public:
  tridiagonal(arena& a, index n)
      : n_(n),
        a_{a.take<Real>(n * padded<8>(n)), padded<8>(n)},
        diagonal_(a.take<Real>(n)),
        beside_(a.take<Real>(n)),
        factor_(a.take<Real>(n)),
        image_(a.take<Real>(n)),
        order_(a.take<index>(n)) {}

  index size() const { return n_; }
  const Real* diagonal() const { return diagonal_; }
  const Real* beside() const { return beside_; }  // [i]: between i - 1 and i

  void reduce(rows_of<const Real> a) {
    for (index i = 0; i < n_; ++i) {  // the least first: reflections of larger rows keep its digits
      index at = i;
      for (; at > 0 && a[order_[at - 1]][order_[at - 1]] > a[i][i]; --at) order_[at] = order_[at - 1];
      order_[at] = i;
    }
    for (index i = 0; i < n_; ++i)
      for (index j = 0; j <= i; ++j)
        a_[i][j] = a[std::max(order_[i], order_[j])][std::min(order_[i], order_[j])];
    double largest = 0.0;
    for (index i = 0; i < n_; ++i) largest = std::max(largest, value(a_[i][i]));
    nothing_ = largest * largest * (std::is_same_v<Real, double> ? 1e-40 : 1e-70);
    for (index i = n_ - 1; i >= 0; --i) {
      diagonal_[i] = a_[i][i], factor_[i] = Real(0.0);
      if (i > 0) reflect_row(i);
    }
  }
  /// b <- Q'b, where Q contains the order
  void to_basis(Real* b) const {
    std::copy_n(b, n_, image_);
    for (index i = 0; i < n_; ++i) b[i] = image_[order_[i]];
    for (index i = n_ - 1; i > 1; --i) reflect(i, b);
  }
  /// b <- Q b
  void from_basis(Real* b) const {
    for (index i = 2; i < n_; ++i) reflect(i, b);
    std::copy_n(b, n_, image_);
    for (index i = 0; i < n_; ++i) b[order_[i]] = image_[i];
  }
  /// b <- (T + lam)^-1 b
  void solve(Real lam, Real* b) const {
    Real* ratio = image_;
    Real pivot = diagonal_[0] + lam;
    for (index i = 1; i < n_; ++i) {
      ratio[i] = beside_[i] / pivot;
      b[i] = mulsub(ratio[i], b[i - 1], b[i]);
      b[i - 1] = b[i - 1] / pivot;
      pivot = mulsub(beside_[i], ratio[i], diagonal_[i] + lam);
    }
    b[n_ - 1] = b[n_ - 1] / pivot;
    for (index i = n_ - 2; i >= 0; --i) b[i] = mulsub(ratio[i + 1], b[i + 1], b[i]);
  }
  /// tr (T + lam)^-1, by the derivative of the pivots with respect to lam
  Real trace_of_inverse(Real lam) const {
    Real pivot = diagonal_[0] + lam, slope(1.0), trace = slope / pivot;
    for (index i = 1; i < n_; ++i) {
      const Real ratio = beside_[i] / pivot;
      slope = muladd(ratio * ratio, slope, Real(1.0));
      pivot = mulsub(beside_[i], ratio, diagonal_[i] + lam);
      trace = trace + slope / pivot;
    }
    return trace;
  }

 private:
  void reflect(index i, Real* b) const { add_multiple(-(factor_[i] * inner(a_[i], b, i)), a_[i], b, i); }
  /// Row i becomes (0 .. 0, beside, diagonal); what reflects it stays in its place.
  void reflect_row(index i) {
    Real *v = a_[i], last = v[i - 1];
    const Real rest = inner(v, v, i - 1);
    beside_[i] = last;
    if (!(value(rest) > nothing_)) return;  // rounding: further reflections would only underflow
    const Real square = muladd(last, last, rest);
    const Real size = value(last) > 0.0 ? -sqrt(square) : sqrt(square);
    beside_[i] = size, v[i - 1] = last - size;
    factor_[i] = Real(1.0) / mulsub(last, size, square);
    for (index r = 0; r < i; ++r) {  // image <- A v, from the lower triangle
      image_[r] = muladd(a_[r][r], v[r], inner(a_[r], v, r));
      add_multiple(v[r], a_[r], image_, r);
    }
    const Real half = factor_[i] * factor_[i] * Real(-0.5) * inner(image_, v, i);
    for (index r = 0; r < i; ++r) image_[r] = muladd(half, v[r], factor_[i] * image_[r]);
    for (index r = 0; r < i; ++r) {
      add_multiple(-v[r], image_, a_[r], r + 1);
      add_multiple(-image_[r], v, a_[r], r + 1);
    }
  }

  index n_;
  double nothing_ = 0.0;  // the square of entries that are far below the rounding of the matrix
  rows_of<Real> a_;
  Real *diagonal_, *beside_, *factor_, *image_;
  index* order_;
};

inline constexpr int first_exponent = -30, exponent_step = 2, exponents = 21;
inline constexpr double exponent_of(int k) { return first_exponent + exponent_step * k; }

/// (T + lam) for the grid lam = 2^k base: determinants and traces, and of right-hand sides b what
/// they explain, b'(T + lam)^-1 b, and |(T + lam)^-1 b|^2, by derivatives with respect to lam.
template <class Real>
class penalty_grid {
 public:
  using V = std::conditional_t<std::is_same_v<Real, double>, lanes, dd_lanes>;
  static constexpr int groups = 3, width = 8 * groups;

  penalty_grid(arena& a, index n)
      : lam(a.take<double>(width)),
        log_det(a.take<double>(width)),
        trace(a.take<double>(width)),
        explained(a.take<double>(width)),
        length(a.take<double>(width)),
        n_(n),
        steps_(a.take<step>(n)) {}

  double *lam, *log_det, *trace, *explained, *length;  // of `width` numbers each

  void factorise(const tridiagonal<Real>& t, double base) {
    V inverse[groups], slope[groups], total[groups];
    lanes product[groups], lams[groups];
    for (int k = 0; k < width; ++k) {
      lam[k] = base * std::ldexp(1.0, first_exponent + exponent_step * std::min(k, exponents - 1));
      log_det[k] = 0.0;
    }
    for (int g = 0; g < groups; ++g) {
      inverse[g] = slope[g] = total[g] = V(0.0);
      product[g] = 1.0, lams[g] = lanes::load(lam + 8 * g);
    }
    for (index i = 0; i < n_; ++i) {
      const V before = broadcast(i > 0 ? t.beside()[i] : Real(0.0)), diagonal = broadcast(t.diagonal()[i]);
      EFFACE_UNROLL for (int g = 0; g < groups; ++g) {
        auto& s = steps_[i];
        s.ratio[g] = before * inverse[g];
        s.bend[g] = s.ratio[g] * inverse[g] * slope[g];
        const V pivot = mulsub(before, s.ratio[g], diagonal + V(lams[g]));
        s.inverse[g] = inverse[g] = V(1.0) / pivot;
        s.steep[g] = slope[g] = muladd(before, s.bend[g], V(1.0));
        total[g] = muladd(slope[g], inverse[g], total[g]);
        product[g] = product[g] * (value(pivot) / lams[g]);
      }
      if (i % 24 == 23 || i + 1 == n_)  // the product stays below 2^1000
        for (int k = 0; k < exponents; ++k)
          log_det[k] += std::log(product[k / 8][k % 8]), product[k / 8].set(k % 8, 1.0);
    }
    for (int g = 0; g < groups; ++g) value(total[g]).store(trace + 8 * g);
  }

  /// `square` - b'(T + lam)^-1 b, and |theta|^2, for b in the basis of T.
  void explain(const Real* b, Real square, double* left) {
    V target[groups], change[groups], sum[groups], size[groups];
    for (int g = 0; g < groups; ++g) target[g] = change[g] = sum[g] = size[g] = V(0.0);
    for (index i = 0; i < n_; ++i) {
      const V pull = broadcast(b[i]);
      EFFACE_UNROLL for (int g = 0; g < groups; ++g) {
        const auto& s = steps_[i];
        const V moved = mulsub(s.ratio[g], change[g], s.bend[g] * target[g]);
        target[g] = mulsub(s.ratio[g], target[g], pull), change[g] = moved;
        const V image = target[g] * s.inverse[g];
        sum[g] = muladd(target[g], image, sum[g]);
        size[g] = mulsub(image, mulsub(image, s.steep[g], moved + moved), size[g]);
      }
    }
    for (int g = 0; g < groups; ++g) {
      value(broadcast(square) - sum[g]).store(left + 8 * g);
      value(sum[g]).store(explained + 8 * g);
      value(size[g]).store(length + 8 * g);
    }
  }

 private:
  struct step {
    V ratio[groups], bend[groups], inverse[groups], steep[groups];
  };
  static V broadcast(Real a) {
    if constexpr (std::is_same_v<Real, double>)
      return V(a);
    else
      return V(lanes(a.high), lanes(a.low));
  }
  index n_;
  step* steps_;
};

}  // namespace efface
