// From moments or rows to coefficients: a pure function. Features are divided by sd^power, the rule
// chooses the penalty, and where double precision does not suffice, double-double takes over.
#pragma once
#include "fit/normal_equations.hpp"

namespace efface {

struct model {
  bool intercept = true;
  double power = 0.0;  // features are divided by sd^power: 0, 1/2 or 1
  penalty_rule rule = fixed{0.0};
};

/// k rows of d coefficients, k intercepts, k penalties.
struct solution {
  rows_of<double> coef;
  double *level, *penalty;
  index rank = -1;
  int path = 0;  // 1: double sums, 2: double-double sums, 3 and 4: dual
};

namespace detail {
template <class Real>
Real scale_of(Real variance, double power) {
  if (power == 0.0) return Real(1.0);
  const Real deviation = sqrt(variance);
  return Real(1.0) / (power == 1.0 ? deviation : sqrt(deviation));
}

/// The penalties of a rule that needs no grid.
template <class Real>
void set_penalties(const model& f, const moments<Real>& m, const Real* scale, double* lam) {
  if (const auto* rule = std::get_if<fixed>(&f.rule)) return void(std::fill_n(lam, m.k, rule->alpha));
  const auto& rule = std::get<lemma3>(f.rule);
  double extent = 0.0;
  for (index j = 0; j < m.d; ++j) {
    const double at = m.centred ? m.centre[j] + value(m.mean[j]) : 0.0;
    extent = std::max(extent, value(scale[j]) * std::max(m.bounds[m.d + j] - at, at - m.bounds[j]));
  }
  for (index r = 0; r < m.k; ++r) {
    const double square = value(m.gram[m.d + r][m.d + r]), n = value(m.weight);
    lam[r] = rule(n, m.d, std::sqrt(std::max(square, 0.0) / (n - m.centred)), extent);
  }
}

/// Coefficients from those of the scaled features; intercepts.
template <class Real>
void finish(const moments<Real>& m, rows_of<const Real> theta, const Real* scale, solution& out) {
  for (index r = 0; r < m.k; ++r) {
    Real level = m.centred ? m.mean[m.d + r] + Real(m.centre[m.d + r]) : Real(0.0);
    for (index j = 0; j < m.d; ++j) {
      const Real coef = theta[r][j] * scale[j];
      out.coef[r][j] = value(coef);
      if (m.centred) level = mulsub(coef, m.mean[j] + Real(m.centre[j]), level);
    }
    out.level[r] = value(level);
  }
}
}  // namespace detail

/// From moments. False where digits may be missing.
template <class Real>
bool fit(const moments<Real>& m, const model& f, solution& out, arena& memory) {
  arena::scope s(memory);
  const index d = m.d, k = m.k;
  normal_equations<Real> system(memory, d, k);
  Real* scale = memory.take<Real>(d);
  index constants = 0;
  for (index i = 0; i < d; ++i) {
    const bool flat = m.constant(i) || !(m.gram[i][i] > Real(0.0));
    scale[i] = flat ? Real(0.0) : detail::scale_of(m.gram[i][i] / m.weight, f.power);
    constants += flat;
    for (index j = 0; j <= i; ++j) system.a[i][j] = m.gram[i][j] * scale[i] * scale[j];
    for (index r = 0; r < k; ++r) system.b[r][i] = m.gram[d + r][i] * scale[i];
  }
  for (index r = 0; r < k; ++r) system.square[r] = m.gram[d + r][d + r];
  out.path = std::is_same_v<Real, double> ? 1 : 2;
  if (std::holds_alternative<selected>(f.rule)) {
    const double n = value(m.weight);
    if (!system.select({n, std::max(n - m.centred, 0.0), 0.0, d}, false, out.penalty)) return false;
    out.rank = -1;
  } else {
    detail::set_penalties(f, m, scale, out.penalty);
    for (index i = 0; i < d; ++i)
      if (value(scale[i]) == 0.0 && std::is_same_v<Real, double>) system.a[i][i] = Real(1.0);
    if (!system.solve(out.penalty, rank_tolerance(m.count, d), out.rank)) return false;
    if (std::is_same_v<Real, double>) out.rank -= constants;
  }
  detail::finish(m, {system.b.data, d}, scale, out);
  return true;
}

/// The dual, for at most as many rows as unknowns: theta = Z'(Z Z' + lam)^-1 y.
template <class Real>
bool fit_few(const weighted_rows& rows, index lo, index hi, const model& f, solution& out, arena& memory) {
  arena::scope s(memory);
  const index d = rows.d, k = rows.k;
  moments<Real> m(memory, d, k);
  m.centred = f.intercept;
  describe(rows, lo, hi, m);
  const index n = m.count;
  normal_equations<Real> system(memory, n, k);
  rows_of<Real> z{memory.take<Real>(n * (d + k)), d + k}, theta{memory.take<Real>(k * d), d};
  Real *scale = memory.take<Real>(d), *root = memory.take<Real>(n);
  index at = 0;
  for (index i = lo; i < hi; ++i) {
    if (!(rows.weight(i) > 0.0)) continue;
    root[at] = sqrt(Real(rows.weight(i))), m.weight += Real(rows.weight(i));
    for (index j = 0; j < d + k; ++j) z[at][j] = Real(rows.value(i, j)) + Real(-m.centre[j]);
    if constexpr (!std::is_same_v<Real, double>)
      for (index j = 0; j < d + k; ++j) z[at][j] = dd::sum(rows.value(i, j), -m.centre[j]);
    for (index j = 0; m.centred && j < d + k; ++j)
      m.mean[j] = muladd(Real(rows.weight(i)), z[at][j], m.mean[j]);
    ++at;
  }
  for (index j = 0; j < d + k; ++j) {
    Real square(0.0);
    m.mean[j] = m.mean[j] / m.weight;
    for (index i = 0; i < n; ++i) {
      z[i][j] = (z[i][j] - m.mean[j]) * root[i];
      square = muladd(z[i][j], z[i][j], square);
    }
    m.gram[j][j] = square;
    if (j >= d) continue;
    scale[j] = m.constant(j) ? Real(0.0) : detail::scale_of(square / m.weight, f.power);
    for (index i = 0; i < n; ++i) z[i][j] *= scale[j];
  }
  for (index i = 0; i < n; ++i) {
    for (index j = 0; j <= i; ++j) system.a[i][j] = inner<Real>(z[i], z[j], d);
    for (index r = 0; r < k; ++r) system.b[r][i] = z[i][d + r];
  }
  for (index r = 0; r < k; ++r) system.square[r] = m.gram[d + r][d + r];
  out.path = std::is_same_v<Real, double> ? 3 : 4;
  const double weight = value(m.weight);
  if (std::holds_alternative<selected>(f.rule)) {
    if (!system.select({weight, std::max(weight - m.centred, 0.0), 0.0, d}, true, out.penalty)) return false;
    out.rank = -1;
  } else {
    detail::set_penalties(f, m, scale, out.penalty);
    if (m.centred) {  // Z'root = 0: another eigenvalue for the direction that the mean took
      Real trace(0.0);
      for (index i = 0; i < n; ++i) trace += system.a[i][i];
      const Real share = value(trace) > 0.0 ? trace / (Real(double(n)) * m.weight) : Real(1.0);
      for (index i = 0; i < n; ++i)
        for (index j = 0; j <= i; ++j) system.a[i][j] = muladd(share * root[i], root[j], system.a[i][j]);
    }
    if (!system.solve(out.penalty, rank_tolerance(n, d), out.rank)) return false;
    out.rank -= m.centred;
  }
  for (index r = 0; r < k; ++r)
    for (index i = 0; i < n; ++i) add_multiple(system.b[r][i], z[i], theta[r], d);
  detail::finish(m, {theta.data, d}, scale, out);
  return true;
}

/// From rows, in the precision that they need.
inline void fit_rows(const weighted_rows& rows, index lo, index hi, const model& f, solution& out, arena& a) {
  index count = 0;
  for (index i = lo; i < hi; ++i) count += rows.weight(i) > 0.0;
  if (count <= rows.d + f.intercept) {
    if (!fit_few<double>(rows, lo, hi, f, out, a)) fit_few<dd>(rows, lo, hi, f, out, a);
    return;
  }
  const auto from_sums = [&]<class Real>(Real) {
    arena::scope s(a);
    moments<Real> m(a, rows.d, rows.k);
    m.centred = f.intercept;
    set_moments(rows, lo, hi, m, a);
    return fit(m, f, out, a);
  };
  if (!from_sums(0.0)) from_sums(dd(0.0));
}

/// The scratch that fit_rows needs for d features, k responses: that of the largest path.
inline std::size_t scratch_of(index d, index k) {
  return bytes_of([&](arena& a) {
    moments<dd> m(a, d, k);
    normal_equations<dd> system(a, d + 1, k);
    a.take<dd>((d + 1) * (d + k) + k * d + 2 * (d + 1));
    arena::scope one(a);
    {
      arena::scope s(a);
      semidefinite solver(a, d + 1);
    }
    {
      arena::scope s(a);
      definite solver(a, d + 1, k);
    }
    {
      arena::scope s(a);
      tridiagonal<dd> t(a, d + 1);
      penalty_grid<dd> grid(a, d + 1);
      a.take<dd>(2 * (d + 1) + 16);
    }
    block_gram<dd_lanes> total(a, d + k + 1);
    staged_rows<dd_lanes> staged(a, d + k + 1);
  }) + 4096;
}

}  // namespace efface
