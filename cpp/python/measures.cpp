// Measures of many ranges of rows: gauges and forgetting regret terms, standard errors.
#include "python/bindings.hpp"

#include "batch/inference.hpp"
#include "batch/robust.hpp"

namespace efface {
namespace {

row_ranges ranges_of(const_matrix x, const_matrix y, const_vector w, const_places lo, const_places hi) {
  const index n = index(x.shape(0)), d = index(x.shape(1)), k = index(y.shape(1));
  return {{x.data(), y.data(), w.data(), n, d, k}, lo.data(), hi.data(), index(lo.shape(0))};
}

/// Columns of numbers, side by side in an array.
template <int Count>
void set_columns(double* (&columns)[Count], double* data, std::size_t size) {
  for (double*& column : columns) column = data, data += size;
}

/// Gauges (6, ranges, k), regret terms (3, ranges, k; no range unless asked for) and ranks (ranges).
nb::tuple measure(const_matrix x, const_matrix y, const_vector w, const_places lo, const_places hi,
                  const_matrix rows, const_places at, const_matrix penalty, bool intercept, double power,
                  bool terms, bool ranks) {
  const row_ranges ranges = ranges_of(x, y, w, lo, hi);
  const std::size_t m = ranges.count, k = ranges.rows.k;
  auto gauges = new_array<double>({6, m, k}), regrets = new_array<double>({3, terms ? m : 0, k});
  auto rank = new_array<std::int64_t>({m});
  gauge_columns out{};
  set_columns(out.gauges, gauges.data(), m * k);
  if (terms) set_columns(out.terms, regrets.data(), m * k);
  {
    nb::gil_scoped_release unlocked;
    const model f{intercept, power, fixed{0.0}};
    measure_ranges(ranges, f, penalty.data(), rows.data(), at.data(), ranks, out, rank.data());
  }
  return nb::make_tuple(gauges, regrets, rank);
}

/// Gauges (6, rows, k) by one window, and its rank.
nb::tuple gauge(const_matrix x, const_matrix y, const_vector w, const_matrix rows, const_vector penalty,
                bool intercept, double power) {
  const std::int64_t first = 0, last = std::int64_t(x.shape(0));
  const index d = index(x.shape(1)), k = index(y.shape(1));
  const row_ranges one{{x.data(), y.data(), w.data(), last, d, k}, &first, &last, 1};
  auto gauges = new_array<double>({6, rows.shape(0), std::size_t(k)});
  gauge_columns out{};
  std::int64_t rank = 0;
  set_columns(out.gauges, gauges.data(), rows.shape(0) * k);
  {
    nb::gil_scoped_release unlocked;
    const model f{intercept, power, fixed{0.0}};
    gauge_rows(one, f, penalty.data(), rows.data(), index(rows.shape(0)), out, &rank);
  }
  return nb::make_tuple(gauges, rank);
}

/// Variances (ranges, d) and that of the intercept (ranges); squared residuals and responses (ranges, k);
/// degrees of freedom of the coefficients (ranges).
nb::tuple infer(const_matrix x, const_matrix y, const_vector w, const_places lo, const_places hi,
                bool intercept, double power, double penalty) {
  const row_ranges ranges = ranges_of(x, y, w, lo, hi);
  const std::size_t m = ranges.count, d = ranges.rows.d, k = ranges.rows.k;
  auto variance = new_array<double>({m, d}), base = new_array<double>({m});
  auto unexplained = new_array<double>({m, k}), total = new_array<double>({m, k}),
       unknowns = new_array<double>({m});
  {
    nb::gil_scoped_release unlocked;
    infer_ranges(ranges, {intercept, power, fixed{0.0}}, penalty,
                 {variance.data(), base.data(), unexplained.data(), total.data(), unknowns.data()});
  }
  return nb::make_tuple(variance, base, unexplained, total, unknowns);
}

/// Variances (ranges, k, d) and those of the intercepts (ranges, k). Kinds 0 to 3 are HC0 to HC3, 4 is HAC.
nb::tuple robust(const_matrix x, const_matrix y, const_vector w, const_places lo, const_places hi,
                 bool intercept, int kind, index lags) {
  const row_ranges ranges = ranges_of(x, y, w, lo, hi);
  const std::size_t m = ranges.count, d = ranges.rows.d, k = ranges.rows.k;
  auto variance = new_array<double>({m, k, d}), base = new_array<double>({m, k});
  {
    nb::gil_scoped_release unlocked;
    robust_ranges(ranges, intercept, {robust_kind(kind), lags}, variance.data(), base.data());
  }
  return nb::make_tuple(variance, base);
}

}  // namespace

void bind_measures(nb::module_& m) {
  m.def("measure_ranges", &measure, nb::arg("x"), nb::arg("y"), nb::arg("w"), nb::arg("lo"), nb::arg("hi"),
        nb::arg("rows"), nb::arg("at"), nb::arg("penalty"), nb::arg("intercept") = true,
        nb::arg("power") = 0.0, nb::arg("terms") = false, nb::arg("ranks") = false);
  m.def("gauge_rows", &gauge, nb::arg("x"), nb::arg("y"), nb::arg("w"), nb::arg("rows"), nb::arg("penalty"),
        nb::arg("intercept") = true, nb::arg("power") = 0.0);
  m.def("infer_ranges", &infer, nb::arg("x"), nb::arg("y"), nb::arg("w"), nb::arg("lo"), nb::arg("hi"),
        nb::arg("intercept") = true, nb::arg("power") = 0.0, nb::arg("penalty") = 0.0);
  m.def("robust_ranges", &robust, nb::arg("x"), nb::arg("y"), nb::arg("w"), nb::arg("lo"), nb::arg("hi"),
        nb::arg("intercept") = true, nb::arg("kind") = 0, nb::arg("lags") = -1);
}

}  // namespace efface
