// What the files of bindings share: arrays that come and go, and the models that Python names.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <initializer_list>

#include "fit/fit.hpp"

namespace efface {

namespace nb = nanobind;

using const_matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using const_vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using const_places = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// A new array that Python owns; it is filled through `data()`.
template <class T>
nb::ndarray<nb::numpy, T> new_array(std::initializer_list<std::size_t> shape) {
  std::size_t size = 1;
  for (std::size_t extent : shape) size *= extent;
  T* data = new T[size]();
  nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
  return nb::ndarray<nb::numpy, T>(data, shape.size(), shape.begin(), owner);
}

/// A model as Python describes it: rule 0 fixed (alpha), 1 Lemma 3 (delta, theta_max, switch_at),
/// 2 selected.
inline model model_of(bool intercept, double power, int rule, double a, double b, double c) {
  switch (rule) {
    case 0: return {intercept, power, fixed{a}};
    case 1: return {intercept, power, lemma3{a, b, c}};
    default: return {intercept, power, selected{}};
  }
}

void bind_fit(nb::module_& m);
void bind_many(nb::module_& m);
void bind_ranges(nb::module_& m);
void bind_window(nb::module_& m);
void bind_measures(nb::module_& m);

}  // namespace efface
