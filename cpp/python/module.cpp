// The Python module of one CPU level. Each file of bindings adds its classes and functions.
#include "python/bindings.hpp"

namespace nb = nanobind;

NB_MODULE(EFFACE_MODULE, m) {
  nb::set_leak_warnings(false);  // a model may live until the interpreter ends
  efface::bind_fit(m);
  efface::bind_many(m);
  efface::bind_ranges(m);
  efface::bind_window(m);
  efface::bind_measures(m);
  efface::bind_local(m);
  efface::bind_rows(m);
}
