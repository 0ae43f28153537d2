// One regression on given rows: the coefficients of a model, from nothing.
#include "fit/extreme_rows.hpp"
#include "python/bindings.hpp"

#include <nanobind/stl/tuple.h>

namespace efface {
namespace {

/// Coefficients (k, d), intercepts (k), penalties (k), rank (-1 where a penalty hides it).
nb::tuple fit_model(const_matrix x, const_matrix y, const_vector w, bool intercept, double power, int rule,
                    double a, double b, double c) {
  const index n = index(x.shape(0)), d = index(x.shape(1)), k = index(y.shape(1));
  const weighted_rows rows{x.data(), y.data(), w.data(), n, d, k};
  auto coef = new_array<double>({std::size_t(k), std::size_t(d)}),
       level = new_array<double>({std::size_t(k)}), penalty = new_array<double>({std::size_t(k)});
  solution out{{coef.data(), d}, level.data(), penalty.data()};
  const model f = model_of(intercept, power, rule, a, b, c);
  {
    nb::gil_scoped_release unlocked;
    workspace work(d, k);
    fit_rows(rows, 0, n, f, out, work);
  }
  return nb::make_tuple(coef, level, penalty, out.rank);
}

}  // namespace

void bind_fit(nb::module_& m) {
  m.def("fit", &fit_model, nb::arg("x"), nb::arg("y"), nb::arg("w"), nb::arg("intercept") = true,
        nb::arg("power") = 0.0, nb::arg("rule") = 0, nb::arg("a") = 0.0, nb::arg("b") = 1.0,
        nb::arg("c") = 0.0);
}

}  // namespace efface
