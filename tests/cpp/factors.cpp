// Factors of definite and semidefinite matrices, against Cholesky's method in long double.
#include "check.hpp"
#include "linalg/semidefinite.hpp"

namespace efface::test {

using matrix = std::vector<double>;

/// X'X for `rows` random rows.
matrix gram(random_numbers& random, index n, index rows) {
  matrix a(n * n, 0.0);
  const auto x = random.several(rows * n);
  for (index r = 0; r < rows; ++r)
    for (index i = 0; i < n; ++i)
      for (index j = 0; j < n; ++j) a[i * n + j] += x[r * n + i] * x[r * n + j];
  return a;
}

std::vector<long double> reference(const matrix& a, const std::vector<double>& b, index n) {
  std::vector<long double> l(a.begin(), a.end()), x(b.begin(), b.end());
  for (index j = 0; j < n; ++j) {
    for (index k = 0; k < j; ++k)
      for (index i = j; i < n; ++i) l[i * n + j] -= l[i * n + k] * l[j * n + k];
    const long double root = std::sqrt(l[j * n + j]);
    for (index i = j; i < n; ++i) l[i * n + j] /= root;
  }
  for (index i = 0; i < n; ++i) {
    for (index k = 0; k < i; ++k) x[i] -= l[i * n + k] * x[k];
    x[i] /= l[i * n + i];
  }
  for (index i = n - 1; i >= 0; --i) {
    for (index k = i + 1; k < n; ++k) x[i] -= l[k * n + i] * x[k];
    x[i] /= l[i * n + i];
  }
  return x;
}

void definite_systems(index n) {
  random_numbers random(static_cast<std::uint64_t>(n));
  const matrix a = gram(random, n, 3 * n + 8);
  const auto b = random.several(n);
  const auto expected = reference(a, b, n);
  arena memory(bytes_of([&](arena& m) { definite(m, n, 1); }));
  definite solver(memory, n, 1);
  auto x = b;
  const double margin = solver.solve({a.data(), n}, 0.0, {x.data(), n}, 1);
  check(margin > safe && margin <= 1.0, "the margin of a random matrix", n);
  for (index i = 0; i < n; ++i) check(std::abs(x[i] - double(expected[i])) < 1e-11, "a definite system", n);
}

void singular_systems(index n, index rank) {
  random_numbers random(static_cast<std::uint64_t>(100 * n + rank));
  const matrix a = gram(random, n, rank);
  std::vector<dd> precise(a.begin(), a.end()), b(static_cast<std::size_t>(n), dd(0.0));
  const auto z = random.several(n);
  for (index i = 0; i < n; ++i)
    for (index j = 0; j < n; ++j) b[i] = muladd(dd(a[i * n + j]), dd(z[j]), b[i]);
  arena memory(bytes_of([&](arena& m) { semidefinite(m, n); }));
  semidefinite solver(memory, n);
  // The entries of the Gram matrix are rounded to double: what they leave of a zero pivot is about 1e-16.
  check(solver.factorise({precise.data(), n}, 1e-12) == rank, "the rank", 100 * n + rank);
  solver.solve(b.data());
  for (index i = 0; i < n; ++i) {
    double left = 0.0;
    for (index j = 0; j < n; ++j) left += a[i * n + j] * (b[j].high - z[j]);
    check(std::abs(left) < 1e-9, "A A+ b = b", 100 * n + rank);
  }
}

}  // namespace efface::test

int main() {
  for (long n : {1, 2, 5, 8, 17, 31, 32, 40, 64, 100, 130}) efface::test::definite_systems(n);
  for (long n : {2, 5, 9, 20})
    for (long rank = 1; rank <= n; rank += 3) efface::test::singular_systems(n, rank);
}
