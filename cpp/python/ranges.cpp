// The regression on each of many ranges of rows.
#include "batch/ranges.hpp"
#include "python/bindings.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

namespace efface {
namespace {

/// Coefficients (m, k, d) or None, intercepts (m, k), penalties (m, k), ranks (m), -1 where a penalty
/// hides it, and predictions (m, k) of rows[at], or None. `unit`: the weight that counts as one row.
nb::tuple solve(const_matrix x, const_matrix y, std::optional<const_vector> w, const_places lo,
                const_places hi, bool intercept, double power, int rule, double a, double b, double c,
                std::optional<const_vector> unit, bool coef, std::optional<const_matrix> rows,
                std::optional<const_places> at) {
  const index n = index(x.shape(0)), d = index(x.shape(1)), k = index(y.shape(1)), m = index(lo.shape(0));
  const std::size_t count = std::size_t(m), responses = std::size_t(k);
  const bool predicts = rows.has_value() && at.has_value();
  auto theta = new_array<double>({coef ? count : 0, responses, std::size_t(d)});
  auto level = new_array<double>({count, responses}), penalty = new_array<double>({count, responses});
  auto prediction = new_array<double>({predicts ? count : 0, responses});
  auto rank = new_array<std::int64_t>({count});
  static_assert(sizeof(index) == sizeof(std::int64_t));
  const weighted_rows given{x.data(), y.data(), w ? w->data() : nullptr, n, d, k};
  const range_list ranges{reinterpret_cast<const index*>(lo.data()),
                          reinterpret_cast<const index*>(hi.data()), m, unit ? unit->data() : nullptr};
  const range_fits out{coef ? theta.data() : nullptr,
                       level.data(),
                       penalty.data(),
                       reinterpret_cast<index*>(rank.data()),
                       predicts ? prediction.data() : nullptr,
                       predicts ? rows->data() : nullptr,
                       predicts ? reinterpret_cast<const index*>(at->data()) : nullptr};
  const model f = model_of(intercept, power, rule, a, b, c);
  {
    nb::gil_scoped_release unlocked;
    solve_ranges(given, ranges, f, out);
  }
  const auto wanted = [](bool is, auto& array) { return is ? nb::cast(array) : nb::none(); };
  return nb::make_tuple(wanted(coef, theta), level, penalty, rank, wanted(predicts, prediction));
}

}  // namespace

void bind_ranges(nb::module_& m) {
  m.def("solve_ranges", &solve, nb::arg("x"), nb::arg("y"), nb::arg("w").none(), nb::arg("lo"), nb::arg("hi"),
        nb::arg("intercept") = true, nb::arg("power") = 0.0, nb::arg("rule") = 0, nb::arg("a") = 0.0,
        nb::arg("b") = 1.0, nb::arg("c") = 0.0, nb::arg("unit") = nb::none(), nb::arg("coef") = true,
        nb::arg("rows") = nb::none(), nb::arg("at") = nb::none());
}

}  // namespace efface
