// The module _cpu: which level of the x86-64 instruction set this machine has.
#include <nanobind/nanobind.h>

#include "python/cpu_level.hpp"

NB_MODULE(_cpu, m) { m.attr("level") = efface::cpu_level(); }
