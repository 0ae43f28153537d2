// Fixed penalties and many features: every range of an array, and one event at a time.
#include "batch/many_features.hpp"
#include "python/bindings.hpp"

namespace efface {
namespace {

/// Coefficients (m, k, d), intercepts (m, k), whether they have their digits (m).
nb::tuple solve_many(const_matrix x, const_matrix y, const_vector w, const_places lo, const_places hi,
                     double alpha, bool intercept) {
  const std::size_t m = lo.shape(0), d = x.shape(1), k = y.shape(1);
  const weighted_rows rows{x.data(), y.data(), w.data(), index(x.shape(0)), index(d), index(k)};
  auto coef = new_array<double>({m, k, d}), level = new_array<double>({m, k});
  auto sound = new_array<bool>({m});
  auto rank = new_array<std::int64_t>({m});
  const range_fits out{coef.data(), level.data(), sound.data(), rank.data()};
  {
    nb::gil_scoped_release unlocked;
    index longest = 0;
    for (std::size_t i = 0; i < m; ++i) longest = std::max<index>(longest, hi.data()[i] - lo.data()[i]);
    const auto make = [&](arena& a) { return many_features(a, rows.d, rows.k, longest, alpha, intercept); };
    arena memory(bytes_of(make));
    make(memory).run(rows, lo.data(), hi.data(), index(m), out);
  }
  return nb::make_tuple(coef, level, sound);
}

}  // namespace

void bind_many(nb::module_& m) {
  m.def("solve_many", &solve_many, nb::arg("x"), nb::arg("y"), nb::arg("w"), nb::arg("lo"), nb::arg("hi"),
        nb::arg("alpha"), nb::arg("intercept") = true);
}

}  // namespace efface
