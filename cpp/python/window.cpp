// The class Window: live rows, one event at a time.
#include "window/window.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/bindings.hpp"

namespace efface {
namespace {

using optional_vector = std::optional<const_vector>;

/// A view of rows; it keeps their memory alive.
nb::object view_of(const std::shared_ptr<row_block>& block, double* data,
                   std::initializer_list<std::size_t> shape) {
  nb::capsule owner(new std::shared_ptr<row_block>(block),
                    [](void* p) noexcept { delete static_cast<std::shared_ptr<row_block>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, const double>(data, shape.size(), shape.begin(), owner));
}

nb::ndarray<nb::numpy, double> array_of(const double* from, std::initializer_list<std::size_t> shape) {
  auto out = new_array<double>(shape);
  std::copy_n(from, out.size(), out.data());
  return out;
}

/// Asks Python for walls: a function of (first, bits, count) that returns positions and heights.
window::wall_source source_of(nb::object walls) {
  if (walls.is_none()) return {};
  return [walls](index first, int bits, index count, wall_list& out) {
    const auto found = nb::cast<std::pair<const_places, const_places>>(walls(first, bits, count));
    for (std::size_t i = 0; i < found.first.shape(0); ++i) {
      out.places.push_back(index(found.first(i)));
      out.heights.push_back(int(found.second(i)));
    }
  };
}

nb::tuple views(window& w) {
  row_block& r = *w.block();
  const std::size_t n = std::size_t(w.size()), d = std::size_t(w.features()), k = std::size_t(w.responses());
  const index head = w.head();
  return nb::make_tuple(view_of(w.block(), r.x.data() + head * w.features(), {n, d}),
                        view_of(w.block(), r.y.data() + head * w.responses(), {n, k}),
                        view_of(w.block(), r.w.data() + head, {n}),
                        view_of(w.block(), r.own.data() + head, {n}));
}

/// Predict, then learn, row by row. `before[t]` of the oldest rows leave before row t is predicted,
/// `after[t]` once it is learned. Returns predictions, penalties, intercepts, counts of places,
/// ranks (-1 where hidden) and coefficients (none if not asked for).
nb::tuple replay(window& w, const_matrix x, const_matrix y, const_vector weights, const_vector fades,
                 const_places before, const_places after, bool with_coef) {
  const std::size_t n = x.shape(0), d = std::size_t(w.features()), k = std::size_t(w.responses());
  auto prediction = new_array<double>({n, k}), penalty = new_array<double>({n, k}),
       level = new_array<double>({n, k}), coef = new_array<double>({with_coef ? n : 0, k, d});
  auto count = new_array<std::int64_t>({n}), rank = new_array<std::int64_t>({n});
  w.reserve(w.size() + 1);
  for (std::size_t t = 0; t < n; ++t) {
    if (before(t) > 0) w.drop(before(t));
    const double* row = x.data() + t * d;
    for (std::size_t r = 0; r < k; ++r) {
      prediction.data()[t * k + r] = w.predict(row, index(r));
      penalty.data()[t * k + r] = w.penalty(index(r)), level.data()[t * k + r] = w.level(index(r));
    }
    if (with_coef) std::copy_n(w.coef(), k * d, coef.data() + t * k * d);
    count.data()[t] = w.size(), rank.data()[t] = w.penalised() ? -1 : w.rank();
    w.learn(row, y.data() + t * k, weights(t), fades(t), after(t));
  }
  return nb::make_tuple(prediction, penalty, level, count, rank, coef);
}

nb::list memory(nb::handle self) {
  nb::list out;
  nb::cast<window&>(self).each_memory([&](const void* at, std::size_t bytes) {
    if (bytes == 0) return;
    const std::size_t size = bytes / sizeof(double);
    out.append(nb::cast(nb::ndarray<nb::numpy, const double>(at, {size}, self)));
  });
  return out;
}

}  // namespace

void bind_window(nb::module_& m) {
  nb::class_<window>(m, "Window")
      .def("__init__",
           [](window* self, index d, index k, bool intercept, double power, int rule, double a, double b,
              double c) { new (self) window(d, k, model_of(intercept, power, rule, a, b, c)); })
      .def(
          "learn",
          [](window& w, const_vector x, double y, index leaving, double weight, double fade) {
            w.learn(x.data(), &y, weight, fade, leaving);
          },
          nb::arg("x"), nb::arg("y"), nb::arg("leaving"), nb::arg("weight") = 1.0, nb::arg("fade") = 1.0)
      .def("learn_several", [](window& w, const_vector x, const_vector y, index leaving, double weight,
                               double fade) { w.learn(x.data(), y.data(), weight, fade, leaving); })
      .def("predict", [](window& w, const_vector x) { return w.predict(x.data(), 0); })
      .def(
          "extend",
          [](window& w, const_matrix x, const_matrix y, optional_vector weights, optional_vector fades) {
            w.extend(x.data(), y.data(), weights ? weights->data() : nullptr, fades ? fades->data() : nullptr,
                     index(x.shape(0)));
          },
          nb::arg("x"), nb::arg("y"), nb::arg("weights").none(), nb::arg("fades").none())
      .def("insert", [](window& w, index position, const_vector x, const_vector y, double weight,
                        bool wall) { w.insert(position, x.data(), y.data(), weight, wall); })
      .def("reserve", &window::reserve)
      .def("drop", &window::drop)
      .def("drop_newest", &window::drop_newest)
      .def("blank", [](window& w, const_places at) { w.blank(at.data(), index(at.shape(0))); })
      .def("keep", [](window& w, const_places at) { w.keep(at.data(), index(at.shape(0))); })
      .def("fade", [](window& w, const_vector fades) { w.fade(fades.data()); })
      .def(
          "use_walls", [](window& w, nb::object walls) { w.use_walls(source_of(walls)); },
          nb::arg("walls").none())
      .def("coef",
           [](window& w) {
             return array_of(w.coef(), {std::size_t(w.responses()), std::size_t(w.features())});
           })
      .def("level", &window::level)
      .def("penalty", &window::penalty)
      .def("rank", &window::rank)
      .def("path", &window::path)
      .def("adopt", &window::adopt)
      .def_prop_ro("solved", &window::solved)
      .def_prop_ro("unit", &window::unit)
      .def_prop_ro("size", &window::size)
      .def_prop_ro("weighted", &window::weighted)
      .def("views", &views)
      .def("replay", &replay)
      .def("residues", &window::residues)
      .def("memory", [](nb::handle self) { return memory(self); })
      .def_prop_ro("leaf_bits", [](const window& w) { return leaf_bits(w.features()); });
}

}  // namespace efface
