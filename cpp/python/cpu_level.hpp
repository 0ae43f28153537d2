// The best level of the CPU, as the modules are named.
#pragma once

namespace efface {

inline const char* cpu_level() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  return __builtin_cpu_supports("x86-64-v4") ? "v4" : __builtin_cpu_supports("x86-64-v3") ? "v3" : "v2";
#else
  return "native";
#endif
}

}  // namespace efface
