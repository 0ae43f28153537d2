"""How kernels are compiled: compiler options, array views, BLAS calls, SIMD lanes.

The only package that uses private parts of Numba.
"""
