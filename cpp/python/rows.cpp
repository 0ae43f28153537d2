// The hash table and the moments of features: they work on arrays that Python owns.
#include "python/bindings.hpp"

#include <nanobind/stl/tuple.h>

#include <tuple>

#include "rows/hash_table.hpp"
#include "window/feature_moments.hpp"

namespace efface {
namespace {

using vector = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using matrix = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using places = nb::ndarray<std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using entries = nb::ndarray<std::int64_t, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;

hash_table table_of(const entries& e) {
  return {reinterpret_cast<hash_table::entry*>(e.data()), index(e.shape(0))};
}

void table_find(entries e, const_places codes, places values) {
  const hash_table table = table_of(e);
  for (std::size_t i = 0; i < codes.shape(0); ++i) values.data()[i] = table.find(codes.data()[i]);
}

/// How many places they took.
index table_insert(entries e, const_places codes, const_places values) {
  hash_table table = table_of(e);
  index taken = 0;
  for (std::size_t i = 0; i < codes.shape(0); ++i) taken += table.insert(codes.data()[i], values.data()[i]);
  return taken;
}

void table_remove(entries e, const_places codes) {
  hash_table table = table_of(e);
  for (std::size_t i = 0; i < codes.shape(0); ++i) table.remove(codes.data()[i]);
}

/// The arrays of a range of rows, which it keeps alive.
class moments_of_arrays {
 public:
  moments_of_arrays(matrix x, places state, matrix suffixes, vector recent, vector centre, matrix moments)
      : arrays_{x, state, suffixes, recent, centre, moments},
        of_{x.data(),          reinterpret_cast<feature_moments::range*>(state.data()),
            suffixes.data(),   recent.data(),
            centre.data(),     moments.data(),
            index(x.shape(0)), index(suffixes.shape(0)),
            index(x.shape(1))} {}
  bool learn(const_vector row, index leaving) const { return of_.learn(row.data(), leaving); }
  void drop(index count) const { of_.drop(count); }
  int update() const { return int(of_.update()); }
  void set_scales(vector scale) const { of_.set_scales(scale.data()); }
  int scale_row(const_vector row, bool with_mean, bool with_std, vector scaled) const {
    const auto code = of_.update();
    if (code == feature_moments::done) of_.scale(row.data(), {with_mean, with_std}, scaled.data());
    return int(code);
  }
  nb::tuple scale_rows(const_matrix rows, const_places before, const_places after, bool with_mean,
                       bool with_std, bool joined, matrix scaled, index start, index decided) const {
    auto code = feature_moments::done;
    index stop;
    {
      nb::gil_scoped_release unlocked;
      stop = of_.scale_rows(rows.data(), index(rows.shape(0)), before.data(), after.data(),
                            {with_mean, with_std}, joined, scaled.data(), start, decided, code);
    }
    return nb::make_tuple(stop, int(code));
  }

 private:
  std::tuple<matrix, places, matrix, vector, vector, matrix> arrays_;
  feature_moments of_;
};

}  // namespace

void bind_rows(nb::module_& m) {
  m.def("table_find", &table_find);
  m.def("table_insert", &table_insert);
  m.def("table_remove", &table_remove);
  m.attr("SECTION") = feature_moments::section;
  m.attr("NO_MEAN") = feature_moments::no_mean;
  nb::class_<moments_of_arrays>(m, "FeatureMoments")
      .def(nb::init<matrix, places, matrix, vector, vector, matrix>())
      .def("learn", &moments_of_arrays::learn)
      .def("drop", &moments_of_arrays::drop)
      .def("update", &moments_of_arrays::update)
      .def("set_scales", &moments_of_arrays::set_scales)
      .def("scale_row", &moments_of_arrays::scale_row)
      .def("scale_rows", &moments_of_arrays::scale_rows);
}

}  // namespace efface
