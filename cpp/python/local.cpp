// Local intervals: for each new row, what the live rows that predict it say about its error.
#include "python/bindings.hpp"

#include <nanobind/stl/optional.h>

#include "window/local_spread.hpp"

namespace efface {
namespace {

/// Half the width for a leverage of 0, and the largest error of a live row, for each new row. Row t
/// has the window [first, last) of the rows x, of which the newest `most` take part, and the errors
/// are multiplied by its factor. One window after the other: an equal one is not fitted again.
nb::ndarray<nb::numpy, double> local_widths(const_matrix x, const_vector y, const_vector w,
                                            std::optional<const_vector> halvings, const_places first,
                                            const_places last, const_matrix rows, const_matrix coef,
                                            const_vector intercept, const_vector factor, index most,
                                            double alpha) {
  const index d = index(x.shape(1));
  const std::size_t count = first.shape(0);
  auto out = new_array<double>({2, count});
  nb::gil_scoped_release unlocked;
  index longest = 1, from = index(x.shape(0)), to = 0;
  const auto oldest = [&](std::size_t t) {
    return std::max(index(first.data()[t]), index(last.data()[t]) - most);
  };
  for (std::size_t t = 0; t < count; ++t) {
    longest = std::max(longest, index(last.data()[t]) - oldest(t));
    from = std::min(from, oldest(t)), to = std::max(to, index(last.data()[t]));
  }
  const index step = std::max<index>(to - from, 1);
  const auto make = [&](arena& a) {
    a.take<double>(d * step);
    local_spread spread(a, d, longest);
    a.take<double>(2 * (longest + 8));
  };
  arena memory(bytes_of(make));
  double* by_column = memory.take<double>(d * step);
  for (index i = from; i < to; ++i)
    for (index j = 0; j < d; ++j) by_column[j * step + i - from] = x.data()[i * d + j];
  const double* fades = halvings ? halvings->data() + from : nullptr;
  const live_columns live{by_column, y.data() + from, w.data() + from, fades, step};
  local_spread spread(memory, d, longest);
  for (std::size_t t = 0; t < count; ++t) {
    const double *fit = coef.data() + t * d, *row = rows.data() + t * d;
    const index end = last.data()[t];
    if (t == 0 || first.data()[t] != first.data()[t - 1] || end != last.data()[t - 1])
      spread.fit(live, oldest(t) - from, end - from, fit, intercept.data()[t], factor.data()[t], alpha);
    out.data()[t] = spread.half_width(row, intercept.data()[t] + dot(row, fit, d));
    out.data()[count + t] = spread.largest_error();
  }
  return out;
}

}  // namespace

void bind_local(nb::module_& m) {
  m.def("local_widths", &local_widths, nb::arg("x"), nb::arg("y"), nb::arg("w"), nb::arg("halvings").none(),
        nb::arg("first"), nb::arg("last"), nb::arg("rows"), nb::arg("coef"), nb::arg("intercept"),
        nb::arg("factor"), nb::arg("most"), nb::arg("alpha"));
}

}  // namespace efface
