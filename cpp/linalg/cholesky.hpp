// Cholesky factorisation and substitution by tiles held in registers: one template for double,
// double-double, eight systems at once (lanes), and eight double-double systems at once.
//
// A matrix has m rows, m a multiple of Tile; only the lower triangle is read. The diagonal of the
// factor is inverted. `Size` is `index`, or a std::integral_constant where m is known at compile
// time: then Tile can be m, and all loops are unrolled.
#pragma once
#include "number/twofold.hpp"

namespace efface {

inline constexpr double safe = 1e-4;  // the least share of a diagonal entry that a pivot may have
template <class T>
inline constexpr double safe_in = safe;
template <class F>
inline constexpr double safe_in<twofold<F>> = 1e-16;  // what stays are 16 digits either way
inline constexpr double clear = 0.3;  // with more in every pivot, no far smaller margin is possible

/// Rows `step` numbers apart.
template <class T>
struct rows_of {
  T* data;
  index step;
  EFFACE_INLINE T* operator[](index i) const { return data + i * step; }
};

template <class T>
using mask_of = decltype(T(0.0) > T(0.0));

/// Of a factorisation: are all pivots large enough to be used; so large that there is no doubt?
template <class T>
struct verdict {
  mask_of<T> sound{true}, certain{true};
};

/// R x C numbers in registers; a lower tile has those on and below the diagonal only.
template <class T, int R, int C, bool Lower = false>
struct tile {
  T at[R][C];

  static constexpr int width(int r) { return Lower ? r + 1 : C; }
  template <class F>
  EFFACE_INLINE void each(F f) {
    EFFACE_UNROLL for (int r = 0; r < R; ++r) EFFACE_UNROLL
      for (int c = 0; c < C; ++c)
        if (c < width(r)) f(r, c, at[r][c]);
  }
  EFFACE_INLINE void load(rows_of<const T> a) {
    each([&](int r, int c, T& t) { t = a[r][c]; });
  }
  EFFACE_INLINE void store(rows_of<T> a) {
    each([&](int r, int c, T& t) { a[r][c] = t; });
  }
  /// += Sign a b', for `count` columns of both.
  template <int Sign>
  EFFACE_INLINE void add_products(rows_of<const T> a, rows_of<const T> b, index count) {
    for (index k = 0; k < count; ++k) {
      T right[C];
      EFFACE_UNROLL for (int c = 0; c < C; ++c)
        right[c] = b[c][k];
      each([&](int r, int c, T& t) {
        t = Sign < 0 ? mulsub(a[r][k], right[c], t) : muladd(a[r][k], right[c], t);
      });
    }
  }
  /// <- this L'^-1, for the lower triangle L of C x C numbers.
  EFFACE_INLINE void divide(rows_of<const T> l) {
    EFFACE_UNROLL for (int c = 0; c < C; ++c) EFFACE_UNROLL
      for (int r = 0; r < R; ++r) {
        EFFACE_UNROLL for (int k = 0; k < c; ++k)
          at[r][c] = mulsub(at[r][k], l[c][k], at[r][c]);
        at[r][c] *= l[c][c];
      }
  }
  /// <- the Cholesky factor, its diagonal inverted.
  EFFACE_INLINE void factorise(const T* scale, verdict<T>& v) {
    EFFACE_UNROLL for (int c = 0; c < C; ++c) {
      T& pivot = at[c][c];
      const auto good = pivot > T(safe_in<T>) * scale[c];
      v.sound &= good;
      v.certain &= pivot > T(clear) * scale[c];
      pivot = select(good, T(1.0) / sqrt(select(good, pivot, T(1.0))), T(0.0));
      EFFACE_UNROLL for (int r = c + 1; r < R; ++r)
        at[r][c] *= pivot;
      EFFACE_UNROLL for (int r = c + 1; r < R; ++r) EFFACE_UNROLL
        for (int k = c + 1; k <= r; ++k) at[r][k] = mulsub(at[r][c], at[k][c], at[r][k]);
    }
  }
};

/// a = L L' in place. Pivots are compared with `scale`.
template <int Tile, class T, class Size>
verdict<T> factorise(rows_of<T> a, Size m, const T* scale) {
  verdict<T> v;
  const auto at = [&](index i, index j) { return rows_of<const T>{a[i] + j, a.step}; };
  for (index j = 0; j < m; j += Tile) {
    tile<T, Tile, Tile, true> corner;
    corner.load(at(j, j));
    corner.template add_products<-1>(at(j, 0), at(j, 0), j);
    corner.factorise(scale + j, v);
    corner.store({a[j] + j, a.step});
    for (index i = j + Tile; i < m; i += Tile) {
      tile<T, Tile, Tile> t;
      t.load(at(i, j));
      t.template add_products<-1>(at(i, 0), at(j, 0), j);
      t.divide(at(j, j));
      t.store({a[i] + j, a.step});
    }
  }
  return v;
}

/// b <- L^-1 b
template <int Tile, class T, class Size>
void substitute(rows_of<T> l, Size m, T* b) {
  for (index i = 0; i < m; i += Tile) {
    tile<T, 1, Tile> t;
    t.load({b + i, 0});
    t.template add_products<-1>({b, 0}, {l[i], l.step}, i);
    t.divide({l[i] + i, l.step});
    t.store({b + i, 0});
  }
}

/// b <- L'^-1 b; products are subtracted in one order, whatever the Tile.
template <int Tile, class T, class Size>
void substitute_back(rows_of<T> l, Size m, T* b) {
  for (index i = m - Tile; i >= 0; i -= Tile) {
    T t[Tile];
    EFFACE_UNROLL for (int c = 0; c < Tile; ++c)
      t[c] = b[i + c];
    EFFACE_UNROLL for (int c = Tile - 1; c >= 0; --c) {
      t[c] *= l[i + c][i + c];
      EFFACE_UNROLL for (int k = 0; k < c; ++k)
        t[k] = mulsub(t[c], l[i + c][i + k], t[k]);
    }
    EFFACE_UNROLL for (int c = 0; c < Tile; ++c)
      b[i + c] = t[c];
    for (index j = 0; j < i; ++j) {
      T left = b[j];
      EFFACE_UNROLL for (int c = Tile - 1; c >= 0; --c)
        left = mulsub(t[c], l[i + c][j], left);
      b[j] = left;
    }
  }
}

/// The margin: the smallest 1 - R^2 of a column regressed on all others, from the inverse's diagonal.
/// `scratch` holds m numbers.
template <int Tile, class T, class Size>
T margin(rows_of<T> l, Size m, const T* scale, T* scratch) {
  T least(1.0);
  for (index i = 0; i < m; ++i) {
    const index first = i / Tile * Tile;
    for (index j = 0; j < m; ++j) scratch[j] = T(i == j ? 1.0 : 0.0);
    substitute<Tile>(rows_of<T>{l[first] + first, l.step}, index(m - first), scratch + first);
    T square(0.0);
    for (index j = first; j < m; ++j) square = muladd(scratch[j], scratch[j], square);
    const T share = T(1.0) / (square * scale[i]);
    least = select(least > share, share, least);
  }
  return least;
}

template <int Tile>
constexpr index padded(index m) {
  return (m + Tile - 1) / Tile * Tile;
}

}  // namespace efface
