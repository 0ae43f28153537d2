// From moments or rows to coefficients: a pure function. Features are divided by sd^power, the rule
// chooses the penalty, and where double precision does not suffice, double-double takes over.
#pragma once
#include <memory>

#include "fit/normal_equations.hpp"

namespace efface {

struct model {
  bool intercept = true;
  double power = 0.0;  // features are divided by sd^power: 0, 1/2 or 1
  penalty_rule rule = fixed{0.0};
  double unit = 1.0;              // the weight that counts as one row, where weights fade
  const double* ratio = nullptr;  // by what the penalty of each feature is multiplied

  bool centred() const { return intercept || power == 1.0; }
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
  if (const auto* rule = std::get_if<fixed>(&f.rule))
    return void(std::fill_n(lam, m.k, rule->alpha * f.unit));
  const auto& rule = std::get<lemma3>(f.rule);
  const double weight = value(m.weight);
  double extent = 0.0;
  for (index j = 0; j < m.d; ++j) {
    const double from = m.centred ? m.centre[j] : 0.0, at = m.centred ? value(m.mean[j]) : 0.0;
    const double reach = std::max(m.bounds[m.d + j] - from - at, at - (m.bounds[j] - from));
    extent = std::max(extent, value(scale[j]) * reach);
  }
  for (index r = 0; r < m.k; ++r) {
    const double variance = std::max(value(m.scatter[r]), 0.0) / (weight - f.unit);
    lam[r] = f.unit * rule(weight / f.unit, m.d, std::sqrt(variance), extent);
  }
}

/// What the selection of a penalty depends on.
template <class Real>
evidence evidence_of(const model& f, const moments<Real>& m) {
  const double n = value(m.weight) / f.unit;
  return {n, std::max(n - f.intercept, 0.0), 0.0, m.d};
}

/// The squares of a response that centred features cannot explain, without an intercept.
template <class Real>
Real level_square(const model& f, const moments<Real>& m, index r) {
  if (f.intercept || !m.centred) return Real(0.0);
  const Real level = m.mean[m.d + r] + Real(m.centre[m.d + r]);
  return m.weight * level * level;
}

inline bool penalised(const double* lam, index k) {
  return std::any_of(lam, lam + k, [](double each) { return each > 0.0; });
}

/// Coefficients from those of the scaled features; intercepts.
template <class Real>
void finish(const model& f, const moments<Real>& m, rows_of<const Real> theta, const Real* scale,
            solution& out) {
  for (index r = 0; r < m.k; ++r) {
    Real level = f.intercept ? m.mean[m.d + r] + Real(m.centre[m.d + r]) : Real(0.0);
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
  if (std::is_same_v<Real, double> && !m.spread && !m.centred && std::holds_alternative<lemma3>(f.rule))
    return false;
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
  for (index r = 0; r < k; ++r) system.square[r] = m.gram[d + r][d + r] + detail::level_square(f, m, r);
  out.path = std::is_same_v<Real, double> ? 1 : 2;
  if (std::holds_alternative<selected>(f.rule)) {
    if (!system.select(detail::evidence_of(f, m), false, out.penalty)) return false;
    out.rank = -1;
  } else {
    detail::set_penalties(f, m, scale, out.penalty);
    for (index i = 0; i < d; ++i)
      if (value(scale[i]) == 0.0 && std::is_same_v<Real, double>) system.a[i][i] = Real(1.0);
    if (!system.solve(out.penalty, rank_tolerance(m.count, d), out.rank, f.ratio)) return false;
    if (std::is_same_v<Real, double>) out.rank -= constants;
    if (detail::penalised(out.penalty, k)) out.rank = -1;
  }
  detail::finish(f, m, {system.b.data, d}, scale, out);
  return true;
}

/// The dual, for at most as many rows as unknowns: theta = Z'(Z Z' + lam)^-1 y.
template <class Real>
bool fit_few(const weighted_rows& rows, index lo, index hi, const model& f, solution& out, arena& memory) {
  arena::scope s(memory);
  const index d = rows.d, k = rows.k;
  moments<Real> m(memory, d, k);
  m.centred = f.centred();
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
    for (index j = 0; j < d + k; ++j) m.mean[j] = muladd(Real(rows.weight(i)), z[at][j], m.mean[j]);
    ++at;
  }
  for (index j = 0; j < d + k; ++j) {
    Real square(0.0), around(0.0);
    m.mean[j] = m.mean[j] / m.weight;
    for (index i = 0; i < n; ++i) {
      const Real away = (z[i][j] - m.mean[j]) * root[i];
      z[i][j] = m.centred ? away : z[i][j] * root[i];
      square = muladd(z[i][j], z[i][j], square), around = muladd(away, away, around);
    }
    m.gram[j][j] = square;
    if (j >= d) {
      m.scatter[j - d] = m.constant_response(j - d) ? Real(0.0) : around;
      m.spread &= m.constant_response(j - d) || !(value(square) > 1e4 * value(around));
      continue;
    }
    scale[j] = m.constant(j) ? Real(0.0) : detail::scale_of(square / m.weight, f.power);
    for (index i = 0; i < n; ++i) z[i][j] *= scale[j];
  }
  for (index i = 0; i < n; ++i) {
    for (index j = 0; j <= i; ++j) system.a[i][j] = inner<Real>(z[i], z[j], d);
    for (index r = 0; r < k; ++r) system.b[r][i] = z[i][d + r];
  }
  for (index r = 0; r < k; ++r) {
    system.beyond[r] = value(detail::level_square(f, m, r));
    system.square[r] = m.gram[d + r][d + r] + Real(system.beyond[r]);
  }
  out.path = std::is_same_v<Real, double> ? 3 : 4;
  if (std::holds_alternative<selected>(f.rule)) {
    if (!system.select(detail::evidence_of(f, m), true, out.penalty)) return false;
    out.rank = -1;
  } else {
    if (std::is_same_v<Real, double> && !m.spread && std::holds_alternative<lemma3>(f.rule)) return false;
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
    if (detail::penalised(out.penalty, k)) out.rank = -1;
  }
  for (index r = 0; r < k; ++r)
    for (index i = 0; i < n; ++i) add_multiple(system.b[r][i], z[i], theta[r], d);
  detail::finish(f, m, {theta.data, d}, scale, out);
  return true;
}

/// The moments of the rows [lo, hi) and their fit. False as above.
template <class Real>
bool fit_sums(const weighted_rows& rows, index lo, index hi, const model& f, solution& out, arena& a) {
  arena::scope s(a);
  moments<Real> m(a, rows.d, rows.k);
  m.centred = f.centred();
  set_moments(rows, lo, hi, m, a);
  return fit(m, f, out, a);
}

/// The fit of no rows.
inline void set_empty(const model& f, index d, index k, solution& out) {
  const auto* rule = std::get_if<fixed>(&f.rule);
  std::fill_n(out.coef.data, k * d, 0.0), std::fill_n(out.level, k, 0.0);
  std::fill_n(out.penalty, k, rule ? rule->alpha * f.unit : 0.0);
  out.rank = 0, out.path = 0;
}

/// Are the rows too few to determine all coefficients? Then the dual is smaller, and more precise.
inline bool few(index count, index d, const model& f) { return count <= d + f.centred(); }

/// The scratch that a fit needs in this precision, of d features and k responses.
template <class Real>
std::size_t scratch_of(index d, index k) {
  constexpr bool precise = !std::is_same_v<Real, double>;
  using V = std::conditional_t<precise, dd_lanes, lanes>;
  return bytes_of([&](arena& a) {
    moments<Real> m(a, d, k), other(a, d, k);
    normal_equations<Real> system(a, d + 1, k);
    a.take<Real>((d + 1) * (d + k)), a.take<Real>(k * d), a.take<Real>(d), a.take<Real>(d + 1);
    const auto tried = [&](auto make) {
      arena::scope s(a);
      make();
    };
    if constexpr (precise)
      tried([&] { semidefinite solver(a, d + 1); });
    else
      tried([&] { definite solver(a, d + 1, k); });
    tried([&] {
      tridiagonal<Real> t(a, d + 1);
      penalty_grid<Real> grid(a, d + 1);
      a.take<Real>(d + 1), a.take<Real>(d + 1);
      a.take<double>(5 * penalty_grid<Real>::width), a.take<choice>(1);
    });
    tried([&] {
      block_gram<V> total(a, d + k + 1);
      staged_rows<V> staged(a, d + k + 1);
    });
  });
}

/// The scratch of fits: that of double-double precision is made when it is first needed.
class workspace {
 public:
  workspace(index d, index k) : d_(d), k_(k), fast_(scratch_of<double>(d, k)) {}
  arena& fast() { return fast_; }
  arena& precise() {
    if (!precise_) precise_ = std::make_unique<arena>(scratch_of<dd>(d_, k_));
    return *precise_;
  }
  /// Calls `look` with every arena.
  template <class Look>
  void each(Look look) const {
    look(fast_);
    if (precise_) look(*precise_);
  }

 private:
  index d_, k_;
  arena fast_;
  std::unique_ptr<arena> precise_;
};

}  // namespace efface
