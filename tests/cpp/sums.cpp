// Sliding sums and the factored core: their memory is a function of the live rows, whatever has left.
#include "check.hpp"
#include "window/outside_rows.hpp"

namespace efface::test {

constexpr index width = 36, responses = 2, rows = 400, window = 100, gone = 90;

struct data {
  explicit data(std::uint64_t seed) {
    random_numbers random(seed);
    x = random.several(rows * width), y = random.several(rows * responses), w = random.several(rows);
    for (double& each : w) each = std::max(each, 0.0);
  }
  std::vector<double> x, y, w;
  weighted_rows view(index end) const { return {x.data(), y.data(), w.data(), end, width, responses}; }
};

/// The same rows but for the first ones, which have left before anything is compared.
data with_other_past(const data& one) {
  data two(99);
  std::copy(one.x.begin() + gone * width, one.x.end(), two.x.begin() + gone * width);
  std::copy(one.y.begin() + gone * responses, one.y.end(), two.y.begin() + gone * responses);
  std::copy(one.w.begin() + gone, one.w.end(), two.w.begin() + gone);
  return two;
}

template <class Make, class Step>
void compare(Make make, Step step, const char* what) {
  const data one(1), two = with_other_past(one);
  const std::size_t bytes = bytes_of([&](arena& a) { make(a); });
  arena first(bytes), second(bytes);
  auto a = make(first), b = make(second);
  for (index end = 1; end <= rows; ++end) {
    const index head = std::max<index>(0, end - window);
    a.release(head), b.release(head);
    if (end % 3 != 0) step(a, one.view(end), head, end), step(b, two.view(end), head, end);
    if (head >= gone) check(std::memcmp(first.data(), second.data(), bytes) == 0, what, end);
  }
  a.release(rows), b.release(rows);
  check(all_zero(first.data(), bytes), "nothing is left of the last rows");
}

template <class V>
void sums_forget() {
  compare([](arena& a) { return sliding<V>(a, width, responses, window, true); },
          [](auto& sums, const weighted_rows& view, index head, index end) { sums.gather(view, head, end); },
          "sliding sums of rows that left or never came");
}

void cores_forget(double alpha) {
  compare([&](arena& a) { return outside_rows(a, width, responses, window, alpha, true); },
          [](auto& core, const weighted_rows& view, index head, index end) {
            std::vector<double> coef(width * responses), rest(2 * responses);
            solution out{{coef.data(), width}, rest.data(), rest.data() + responses};
            core.solve(view, head, end, out);
          },
          "the core of rows that left or never came");
}

}  // namespace efface::test

int main() {
  efface::test::sums_forget<efface::lanes>();
  efface::test::sums_forget<efface::dd_lanes>();
  efface::test::cores_forget(0.0);
  efface::test::cores_forget(2.0);
}
