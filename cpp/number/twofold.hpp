// Double-double arithmetic: a number is the unevaluated sum of two, about 32 digits.
//
// The base F is double, or lanes: eight double-double numbers at once.
#pragma once
#include "number/lanes.hpp"

namespace efface {

template <class F>
struct twofold {
  F high{0.0}, low{0.0};

  EFFACE_INLINE twofold() = default;
  EFFACE_INLINE twofold(F a) : high(a) {}  // NOLINT
  EFFACE_INLINE twofold(F a, F b) : high(a), low(b) {}
  EFFACE_INLINE twofold(double a)
    requires(!std::is_same_v<F, double>)
      : high(a) {}  // NOLINT

  /// a + b and its rounding error (Knuth).
  EFFACE_INLINE static twofold sum(F a, F b) {
    F s = a + b, t = s - a;
    return {s, (a - (s - t)) + (b - t)};
  }
  /// The same where |a| >= |b| (Dekker).
  EFFACE_INLINE static twofold ordered_sum(F a, F b) {
    F s = a + b;
    return {s, b - (s - a)};
  }
  /// a b and its rounding error.
  EFFACE_INLINE static twofold product(F a, F b) {
    F p = a * b;
    if constexpr (fused) return {p, muladd(a, b, -p)};
    constexpr double splitter = 134217729.0;  // 2^27 + 1
    F c = F(splitter) * a, e = F(splitter) * b;
    F ah = c - (c - a), bh = e - (e - b), al = a - ah, bl = b - bh;
    return {p, al * bl - (((p - ah * bh) - al * bh) - ah * bl)};
  }

  EFFACE_INLINE friend twofold operator+(twofold a, twofold b) {
    twofold s = sum(a.high, b.high);
    return ordered_sum(s.high, s.low + (a.low + b.low));
  }
  EFFACE_INLINE twofold operator-() const { return {-high, -low}; }
  EFFACE_INLINE friend twofold operator-(twofold a, twofold b) { return a + -b; }
  EFFACE_INLINE friend twofold operator*(twofold a, twofold b) {
    twofold p = product(a.high, b.high);
    return ordered_sum(p.high, p.low + muladd(a.high, b.low, a.low * b.high));
  }
  EFFACE_INLINE friend twofold operator/(twofold a, twofold b) {
    F q = a.high / b.high;
    twofold r = a - b * twofold(q);
    return ordered_sum(q, r.high / b.high);
  }
  EFFACE_INLINE twofold& operator+=(twofold b) { return *this = *this + b; }
  EFFACE_INLINE twofold& operator*=(twofold b) { return *this = *this * b; }
  EFFACE_INLINE friend auto operator>(twofold a, twofold b) { return (a - b).high > F(0.0); }
  EFFACE_INLINE friend twofold muladd(twofold a, twofold b, twofold c) { return a * b + c; }
  EFFACE_INLINE friend twofold mulsub(twofold a, twofold b, twofold c) { return c - a * b; }
  EFFACE_INLINE friend twofold sqrt(twofold a) {  // Karp
    F r = sqrt(a.high);
    twofold rest = a - product(r, r);
    return ordered_sum(r, rest.high / (r + r));
  }
  template <class Mask>
  EFFACE_INLINE friend twofold select(Mask m, twofold a, twofold b) {
    return {select(m, a.high, b.high), select(m, a.low, b.low)};
  }
};

using dd = twofold<double>;
using dd_lanes = twofold<lanes>;

EFFACE_INLINE lanes value(lanes a) { return a; }
EFFACE_INLINE double value(double a) { return a; }
template <class F>
EFFACE_INLINE F value(twofold<F> a) {
  return a.high + a.low;
}

}  // namespace efface
