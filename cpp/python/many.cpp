// Fixed penalties and many features: every range of an array, and one event at a time.
#include "batch/many_features.hpp"
#include "memory/wiped.hpp"
#include "python/bindings.hpp"
#include "window/outside_rows.hpp"

namespace efface {
namespace {

/// Rows and the fast solver of their window, with all memory open to tests.
class live_core {
 public:
  live_core(index d, index k, index window, double alpha, bool intercept)
      : d_(d),
        k_(k),
        places_(2 * window + 64),
        x_(places_ * d),
        y_(places_ * k),
        w_(places_),
        memory_(bytes_of([&](arena& a) { outside_rows(a, d, k, places_, alpha, intercept); })),
        core_(memory_, d, k, places_, alpha, intercept) {}

  void learn(const_vector x, const_vector y, double w) {
    if (end_ == places_) move_to_front();
    std::copy_n(x.data(), d_, &x_[end_ * d_]), std::copy_n(y.data(), k_, &y_[end_ * k_]);
    w_[end_++] = w;
  }
  void drop(index count) {
    wipe(&x_[head_ * d_], count * d_ * sizeof(double)), wipe(&y_[head_ * k_], count * k_ * sizeof(double));
    wipe(&w_[head_], count * sizeof(double));
    core_.release(head_ += count);
  }
  nb::tuple solve() {
    auto coef = new_array<double>({std::size_t(k_), std::size_t(d_)}),
         level = new_array<double>({std::size_t(k_)}), penalty = new_array<double>({std::size_t(k_)});
    solution out{{coef.data(), d_}, level.data(), penalty.data()};
    const bool sound = core_.solve({x_.data(), y_.data(), w_.data(), end_, d_, k_}, head_, end_, out);
    return nb::make_tuple(coef, level, sound);
  }
  void clear() { core_.clear(); }
  /// All that is derived from rows, as it lies in memory.
  nb::bytes memory() const { return nb::bytes(memory_.data(), memory_.size()); }

 private:
  void move_to_front() {
    const index n = end_ - head_;
    std::copy_n(&x_[head_ * d_], n * d_, x_.data()), std::copy_n(&y_[head_ * k_], n * k_, y_.data());
    std::copy_n(&w_[head_], n, w_.data());
    wipe(&x_[n * d_], head_ * d_ * sizeof(double)), wipe(&y_[n * k_], head_ * k_ * sizeof(double));
    wipe(&w_[n], head_ * sizeof(double));
    core_.shift(head_);
    head_ = 0, end_ = n;
  }

  index d_, k_, places_, head_ = 0, end_ = 0;
  wiped<double> x_, y_, w_;
  arena memory_;
  outside_rows core_;
};

/// Coefficients (m, k, d), intercepts (m, k), whether they have their digits (m).
nb::tuple solve_many(const_matrix x, const_matrix y, const_vector w, const_places lo, const_places hi,
                     double alpha, bool intercept) {
  const std::size_t m = lo.shape(0), d = x.shape(1), k = y.shape(1);
  const weighted_rows rows{x.data(), y.data(), w.data(), index(x.shape(0)), index(d), index(k)};
  auto coef = new_array<double>({m, k, d}), level = new_array<double>({m, k});
  auto sound = new_array<bool>({m});
  auto rank = new_array<index>({m});
  const block_fits out{coef.data(), level.data(), sound.data(), rank.data()};
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
  nb::class_<live_core>(m, "LiveCore")
      .def(nb::init<index, index, index, double, bool>())
      .def("learn", &live_core::learn)
      .def("drop", &live_core::drop)
      .def("solve", &live_core::solve)
      .def("clear", &live_core::clear)
      .def("memory", &live_core::memory);
}

}  // namespace efface
