// Prints the level of this machine: a build for this machine alone asks it.
#include <cstdio>

#include "python/cpu_level.hpp"

int main() { std::puts(efface::cpu_level()); }
