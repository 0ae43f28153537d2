// The rules that choose a penalty. A rule is a function of moments: another one is another struct.
#pragma once
#include <variant>

#include "linalg/tridiagonal.hpp"
#include "sums/moments.hpp"

namespace efface {

struct fixed {
  double alpha;
};
/// lam = sqrt(2 n log(2 d / delta)) sd(y) max|x| / theta_max (Lemma 3); none with more than
/// switch_at rows per feature.
struct lemma3 {
  double delta = 0.05, theta_max = 1.0, switch_at = std::numeric_limits<double>::infinity();

  double operator()(double n, index d, double deviation, double extent) const {
    if (n < 2.0 || n > switch_at * double(d)) return 0.0;
    return std::sqrt(2.0 * n * std::log(2.0 * double(d) / delta)) * deviation * extent / theta_max;
  }
};
/// The penalty that the rows select (rule S): the mean exponent over a grid.
struct selected {};

using penalty_rule = std::variant<fixed, lemma3, selected>;

/// What the weights of a grid depend on, besides the grid.
struct evidence {
  double n, freedom, square;  // rows, degrees of freedom, y'y
  index d;
  double rho() const { return freedom > 0.0 ? std::max(0.0, 1.0 - double(d) / freedom) : 0.0; }
  double floor() const {
    const double eps = std::numeric_limits<double>::epsilon();
    return std::max(n, 1.0) * eps * eps * square;
  }
};

/// The log of a Beta(1/2, 1/2) prior on R^2 = 1 / (1 + u), u = n 2^k / d.
inline void set_prior(const evidence& e, double* prior) {
  for (int k = 0; k < exponents; ++k) {
    const double u = std::ldexp(e.n / double(e.d), int(exponent_of(k)));
    prior[k] = 0.5 * std::log(u) - std::log1p(u);
  }
}

/// The mean exponent, and the weight of each penalty in it.
struct choice {
  double exponent, weight[exponents], log_weight[exponents];  // logarithms relative to the largest
};

/// Weigh the penalties: `left` = Q, `residual` = Q - lam |theta|^2, `free` = nu.
inline choice weigh(const evidence& e, const double* log_det, const double* free, const double* left,
                    const double* residual, const double* prior) {
  const double rho = e.rho(), floor = e.floor();
  choice c{};
  double top = -std::numeric_limits<double>::infinity(), total = 0.0;
  for (int k = 0; k < exponents; ++k) {
    double criterion = (1.0 - rho) * (e.freedom * std::log(std::max(left[k], floor)) + log_det[k]);
    if (rho > 0.0)
      criterion += rho * e.freedom * std::log(std::max(residual[k], floor) / (free[k] * free[k]));
    c.weight[k] = prior[k] - 0.5 * criterion;
    top = std::max(top, c.weight[k]);
  }
  for (int k = 0; k < exponents; ++k) {
    c.log_weight[k] = c.weight[k] - top;
    total += c.weight[k] = std::exp(c.log_weight[k]);
  }
  for (int k = 0; k < exponents; ++k) c.weight[k] /= total, c.exponent += c.weight[k] * exponent_of(k);
  return c;
}

/// How far rounding errors can move the exponent: `noise` of left and residual, and `shift` of
/// eigenvalues, whose inverses have the sum `inverse_trace`. Penalties without weight count too: errors
/// may have taken it from them.
inline double doubt(const evidence& e, const choice& c, const double* left, const double* residual,
                    const double* noise, double shift, const double* inverse_trace) {
  const auto error = [&](int k) {  // of the logarithm of a weight
    const double floor = e.floor();
    const double least = std::max(e.rho() > 0.0 ? std::min(left[k], residual[k]) : left[k], floor);
    return 0.5 * e.freedom * std::log((least + noise[k]) / std::max(least - noise[k], floor)) +
           0.5 * (e.freedom + 1.0) * shift * inverse_trace[k];
  };
  const int top = int(std::max_element(c.weight, c.weight + exponents) - c.weight);
  const double base = error(top);
  double moved = base < 0.01 ? 0.0 : 1.0;
  for (int k = 0; k < exponents; ++k) {
    const double most = base + error(k), share = std::min(c.log_weight[k] + most, 50.0);
    moved += std::abs(exponent_of(k) - c.exponent) * std::exp(share) * -std::expm1(-most);
  }
  return moved;
}

}  // namespace efface
