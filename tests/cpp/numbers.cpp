// Arena, lanes and double-double numbers.
#include "check.hpp"
#include "number/twofold.hpp"

namespace efface::test {

void scopes_are_overwritten() {
  arena a(4096);
  double* kept = a.take<double>(8);
  std::fill_n(kept, 8, 1.5);
  {
    arena::scope s(a);
    std::fill_n(a.take<double>(100), 100, 2.5);
  }
  check(kept[7] == 1.5, "what was taken before a scope stays");
  check(all_zero(a.data() + 64, a.size() - 64), "a scope overwrites what it took");
  bool refused = false;
  try {
    a.take<double>(10000);
  } catch (const std::bad_alloc&) {
    refused = true;
  }
  check(refused, "an arena never gives more than it has");
}

void lanes_are_eight_numbers() {
  random_numbers random(1);
  for (long t = 0; t < 1000; ++t) {
    const auto a = random.several(8), b = random.several(8), c = random.several(8);
    const lanes x = lanes::load(a.data()), y = lanes::load(b.data()), z = lanes::load(c.data());
    for (int i = 0; i < 8; ++i) {
      check((x + y)[i] == a[i] + b[i] && (x - y)[i] == a[i] - b[i], "sums of lanes", t);
      check((x * y)[i] == a[i] * b[i] && (x / y)[i] == a[i] / b[i], "products of lanes", t);
      check(muladd(x, y, z)[i] == muladd(a[i], b[i], c[i]), "fused products of lanes", t);
      check(mulsub(x, y, z)[i] == mulsub(a[i], b[i], c[i]), "fused differences of lanes", t);
      check(sqrt(x * x)[i] == std::sqrt(a[i] * a[i]), "roots of lanes", t);
      check(select(x > y, x, y)[i] == std::max(a[i], b[i]), "the larger of two lanes", t);
    }
  }
}

void twofold_numbers_have_twice_the_digits() {
  random_numbers random(2);
  for (long t = 0; t < 1000; ++t) {
    const double a = random(), b = 1e-9 * random();
    const dd sum = dd::sum(a, b), product = dd::product(a, b);
    check((long double)sum.high + sum.low == (long double)a + b, "an exact sum", t);
    check((long double)product.high + product.low == (long double)a * b ||
              std::abs(double((long double)product.high + product.low - (long double)a * b)) <=
                  1e-19 * std::abs(a * b),
          "an exact product", t);
    const dd third = dd(a) / dd(3.0), back = third * dd(3.0);
    check(std::abs((back - dd(a)).high) <= 1e-30 * std::abs(a), "a third times three", t);
    const dd root = sqrt(dd(a * a) + dd(1.0)), square = root * root;
    check(std::abs((square - dd(a * a) - dd(1.0)).high) <= 1e-29, "the square of a root", t);
  }
}

}  // namespace efface::test

int main() {
  efface::test::scopes_are_overwritten();
  efface::test::lanes_are_eight_numbers();
  efface::test::twofold_numbers_have_twice_the_digits();
}
