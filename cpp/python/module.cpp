// The Python module of one CPU level. Each file of bindings adds its classes and functions.
#include "python/bindings.hpp"

NB_MODULE(EFFACE_MODULE, m) {
  efface::bind_fit(m);
  efface::bind_many(m);
  efface::bind_ranges(m);
  efface::bind_window(m);
  efface::bind_measures(m);
}
