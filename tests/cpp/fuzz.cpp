// Random sequences of events for as many seconds as asked (10 by default), from a seed: rows come, leave
// from the ends and from the middle. Coefficients must be those of a fit from nothing, and all memory
// must follow from the live rows.
#include <chrono>
#include <deque>

#include "check.hpp"
#include "window/window.hpp"

namespace efface::test {

struct row {
  std::vector<double> x, y;
  double w;
};

model some_model(random_numbers& random) {
  model f;
  f.intercept = random.below(2) == 0;
  switch (random.below(3)) {
    case 0: f.rule = fixed{0.0}; break;
    case 1: f.rule = fixed{std::exp(3.0 * random())}; break;
    default: f.rule = lemma3{}; break;
  }
  return f;
}

row some_row(random_numbers& random, index d, index k) {
  row r{random.several(d), random.several(k), random.below(8) == 0 ? 0.0 : 1.5 + random()};
  for (index i = 0; i < k; ++i) r.y[i] += r.x[0];
  return r;
}

/// Compare with a fit of the live rows from nothing.
void compare(window& one, const std::deque<row>& live, index d, index k, const model& f, std::uint64_t seed) {
  window two(d, k, f);
  two.reserve(index(live.size()) + 1);
  for (const row& r : live) two.learn(r.x.data(), r.y.data(), r.w, 1.0, 0);
  const std::vector<double> expected(two.coef(), two.coef() + k * d);
  const double* found = one.coef();
  double size = 1e-3;
  for (double each : expected) size = std::max(size, std::abs(each));
  for (index i = 0; i < k * d; ++i)
    check(std::abs(found[i] - expected[i]) <= 1e-7 * size, "coefficients", long(seed));
  check(one.residues().empty(), "memory follows from the live rows", long(seed));
}

void run(std::uint64_t seed) {
  random_numbers random(seed);
  const index d = random.below(4) == 0 ? 33 + random.below(20) : 1 + random.below(12),
              k = 1 + random.below(3);
  const index most = 2 + random.below(4 * d + 40), steps = 4 * most + 60;
  const model f = some_model(random);
  window w(d, k, f);
  std::deque<row> live;
  for (index i = 0; i < steps; ++i) {
    live.push_back(some_row(random, d, k));
    const bool full = index(live.size()) > most;
    w.learn(live.back().x.data(), live.back().y.data(), live.back().w, 1.0, full);
    if (full) live.pop_front();
    if (random.below(3) != 0) w.coef();
    if (random.below(40) == 0 && live.size() > 1) {
      const index position = random.below(index(live.size()));
      std::vector<std::int64_t> kept;
      for (index j = 0; j < index(live.size()); ++j)
        if (j != position) kept.push_back(j);
      w.keep(kept.data(), index(kept.size()));
      live.erase(live.begin() + position);
    }
    if (random.below(25) == 0) compare(w, live, d, k, f, seed);
  }
}

}  // namespace efface::test

int main(int count, char** words) {
  const double seconds = count > 1 ? std::atof(words[1]) : 10.0;
  std::uint64_t seed = count > 2 ? std::strtoull(words[2], nullptr, 10) : 1;
  const auto start = std::chrono::steady_clock::now();
  std::uint64_t runs = 0;
  for (; std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() < seconds;
       ++seed, ++runs)
    efface::test::run(seed);
  std::printf("%llu sequences without a finding\n", static_cast<unsigned long long>(runs));
}
