// Every range of an array for one fixed penalty where features are many: a block of ranges at a time.
//
// The ranges of a block share a core of rows, A = L L', around its mean. For the rows U outside it,
// V = U L'^-1, S = I + V V' + root root' / W for the intercept (W is the weight of the core), and
// r = y - V g with g = b L'^-1. A range adds its own of these rows, J, by a small system S_JJ w = r_J;
// eight are solved at once. Its coefficients are (g + w'V_J) L^-1. Rows are times the root of their
// weight.
#pragma once
#include "fit/fit.hpp"
#include "linalg/trust.hpp"
#include "sums/sliding.hpp"

namespace efface {

/// Per range: k rows of d coefficients, k intercepts, whether they have their digits, and the rank.
struct range_fits {
  double *coef, *level;
  bool* sound;
  std::int64_t* rank;
};

class many_features {
 public:
  /// For ranges of at most `longest` rows.
  many_features(arena& a, index d, index k, index longest, double alpha, bool intercept)
      : d_(d), k_(k), w_((d + 7) / 8 * 8), length_(d <= 64 ? 16 : d <= 160 ? 24 : 48),
        most_(2 * (length_ - 1)), wide_((most_ + 7) / 8 * 8 + 8), alpha_(alpha), intercept_(intercept),
        memory_(a), sums_(a, d, k, longest, intercept, length_), factor_(a, w_), probes_(a, w_),
        core_{a.take<double>((w_ + most_ + k) * w_), w_}, squares_{a.take<double>((most_ + 1) * w_), w_},
        schur_{a.take<double>(most_ * wide_), wide_}, diagonals_{a.take<double>(length_ * wide_), wide_},
        residual_{a.take<double>(k * wide_), wide_}, weights_{a.take<double>(k * length_ * wide_), wide_},
        theta_{a.take<double>(k * (length_ + 1) * w_), w_}, scale_(a.take<double>(w_)),
        root_(a.take<double>(wide_)), margin_(a.take<double>(length_)),
        scratch_(a.take<double>(w_ * wide_)), flat_(a.take<bool>(d)) {
    const index m = padded<tile>(most_);
    small_ = {a.take<lanes>(m * (m + 1)), m + 1}, target_ = {a.take<lanes>(k * m), m};
    diagonal_ = a.take<lanes>(m), spare_ = a.take<lanes>(m);
    arena::scope s(a);
    moments<double> plain(a, d, k);
    normal_equations<double> system(a, d, k);
    definite solver(a, d, k);
    block_gram<lanes> total(a, d + k + 1);
    staged_rows<lanes> staged(a, d + k + 1);
    a.take<double>(2 * (d + k) + 16);
  }

  /// The ranges [lo, hi), neither end of which moves back. Those that are not sound need more digits.
  void run(const weighted_rows& rows, const std::int64_t* lo, const std::int64_t* hi, index count,
           const range_fits& out) {
    for (index i = 0, n; i < count; i += n) {
      n = block_at(lo + i, hi + i, count - i);
      const range_fits here{out.coef + i * k_ * d_, out.level + i * k_, out.sound + i, out.rank + i};
      std::fill_n(here.sound, n, false);
      const ranges block{lo + i, hi + i, n};
      if (block.stop() - block.start() > d_ / 2) solve_block(rows, block, here);
      for (index j = 0; j < n; ++j)
        if (!here.sound[j]) fit_plain(rows, lo[i + j], hi[i + j], j, here);
    }
  }

 private:
  static constexpr int tile = tile_size;

  /// The ranges of a block; their core is [start, stop). Rows outside are counted from the oldest on.
  struct ranges {
    const std::int64_t *lo, *hi;
    index count;
    index start() const { return lo[count - 1]; }
    index stop() const { return hi[0]; }
    index older() const { return start() - lo[0]; }
    index outside() const { return older() + hi[count - 1] - stop(); }
    index first(index i) const { return lo[i] - lo[0]; }
    index end(index i) const { return older() + hi[i] - stop(); }
    index row(index at) const { return at < older() ? lo[0] + at : stop() + at - older(); }
  };

  matrix_view core() const { return {core_.data, w_, w_, w_}; }
  /// The rows outside the core, and behind them the targets.
  matrix_view outside(index rows) const { return {core_[w_], rows, w_, w_}; }
  const double* target(index outside, index r) const { return core_[w_ + outside + r]; }

  /// How many of the ranges share a core: few rows are outside it, and enough in it.
  index block_at(const std::int64_t* lo, const std::int64_t* hi, index count) const {
    const index rows = hi[0] - lo[0];
    const index spare = alpha_ > 0.0 ? rows - 1 : (rows - d_ - intercept_) / 2;
    index n = 1;
    while (n < std::min(count, length_) && lo[n] - lo[0] <= spare &&
           lo[n] - lo[0] + hi[n] - hi[0] <= most_)
      ++n;
    return n;
  }

  void solve_block(const weighted_rows& rows, const ranges& b, const range_fits& out) {
    const index k = b.outside();
    const moments<double>* m = &sums_.gather(rows, b.start(), b.stop());
    if (!sums_.near()) {
      sums_.recentre(rows, b.start(), b.stop());
      m = &sums_.gather(rows, b.start(), b.stop());
    }
    if (!sums_.near() || !(m->weight > 0.0)) return;
    find_flat(rows, *m, b);
    for (index i = 0; i < k; ++i) place(rows, *m, b.row(i), i);
    const double margin = factorise(*m, k);
    if (!(margin >= safe)) return;
    project(m->weight, k);
    std::fill_n(weights_.data, k_ * length_ * wide_, 0.0);
    for (index j = 0; j < b.count; j += lanes::size) solve_eight(b, j);
    combine(b);
    for (index i = 0; i < b.count; ++i) finish(*m, b, i, std::min(margin, margin_[i]), out);
  }

  /// Features that are constant in all rows of the block: their coefficients are 0.
  void find_flat(const weighted_rows& rows, const moments<double>& m, const ranges& b) {
    for (index j = 0; j < d_; ++j) flat_[j] = m.constant(j);
    for (index i = 0; i < b.outside(); ++i) {
      const double* x = rows.x + b.row(i) * d_;
      for (index j = 0; j < d_; ++j) flat_[j] &= x[j] == m.bounds[j];
    }
  }

  void place(const weighted_rows& rows, const moments<double>& m, index from, index at) {
    const double *x = rows.x + from * d_, *y = rows.y + from * k_, root = std::sqrt(rows.weight(from));
    double *u = core_[w_ + at], *square = squares_[at];
    for (index j = 0; j < d_; ++j) u[j] = flat_[j] ? 0.0 : root * (x[j] - m.centre[j] - m.mean[j]);
    std::fill(u + d_, u + w_, 0.0);
    for (index j = 0; j < w_; ++j) square[j] = u[j] * u[j];
    for (index r = 0; r < k_; ++r) residual_[r][at] = root * (y[r] - m.centre[d_ + r] - m.mean[d_ + r]);
    root_[at] = intercept_ ? root : 0.0;
  }

  /// L, V for the k rows outside the core, and g behind them. Returns the margin.
  double factorise(const moments<double>& m, index k) {
    for (index i = 0; i < w_; ++i) {
      const bool none = i >= d_ || flat_[i];
      for (index j = 0; j < i; ++j) core_[i][j] = none || flat_[j] ? 0.0 : m.gram[i][j];
      scale_[i] = core_[i][i] = none ? 1.0 : m.gram[i][i] + alpha_;
      squares_[most_][i] = none ? 0.0 : scale_[i];
      for (index r = 0; r < k_; ++r) core_[w_ + k + r][i] = none ? 0.0 : m.gram[d_ + r][i];
      if (!(scale_[i] > least_square)) return 0.0;
    }
    const auto v = factor_.factorise({core_.data, w_ + k + k_, w_, w_}, scale_);
    if (!v.sound) return 0.0;
    return v.certain ? clear : probes_.margin(factor_, core(), scale_);
  }

  /// S, also by diagonals, in which neighbouring ranges are side by side; r.
  void project(double weight, index k) {
    square({schur_.data, k, wide_, wide_}, outside(k), scratch_);
    for (index i = 0; i < k; ++i) {
      add_row(root_[i] / weight, root_, schur_[i], i + 1);
      schur_[i][i] += 1.0;
      for (index j = std::max<index>(0, i - length_ + 1); j <= i; ++j) diagonals_[i - j][j] = schur_[i][j];
      for (index r = 0; r < k_; ++r) residual_[r][i] -= dot(outside(k)[i], target(k, r), w_);
    }
  }

  /// w and the margins of the ranges j .. j + 7 of a block.
  void solve_eight(const ranges& b, index j) {
    const index here = std::min<index>(lanes::size, b.count - j);
    index n = 0;
    bool alike = here == lanes::size;
    for (index i = j; i < j + here; ++i) {
      n = std::max(n, b.end(i) - b.first(i));
      alike &= b.first(i) == b.first(j) + i - j && b.end(i) == b.end(j) + i - j;
    }
    const index m = padded<tile>(n);
    alike && n <= length_ ? load_alike(b.first(j), n, m) : load_each(b, j, here, m);
    const auto v = efface::factorise<tile>(small_, m, diagonal_);
    lanes margin = clear;
    for (int i = 0; i < here; ++i)
      if (!v.certain[i]) {
        margin = efface::margin<tile>(small_, m, diagonal_, spare_);
        break;
      }
    for (index i = 0; i < here; ++i) margin_[j + i] = v.sound[int(i)] ? margin[int(i)] : 0.0;
    for (index r = 0; r < k_; ++r) {
      substitute<tile>(small_, m, target_[r]);
      substitute_back<tile>(small_, m, target_[r]);
      for (index i = 0; i < here; ++i) {
        double* w = weights_[r * length_ + j + i] + b.first(j + i);
        for (index q = 0; q < b.end(j + i) - b.first(j + i); ++q) w[q] = target_[r][q][int(i)];
      }
    }
  }

  void load_alike(index first, index n, index m) {
    for (index q = 0; q < m; ++q) {
      for (index c = 0; c <= q; ++c)
        small_[q][c] = q < n ? lanes::load(diagonals_[q - c] + first + c) : lanes(q == c);
      diagonal_[q] = small_[q][q];
      for (index r = 0; r < k_; ++r)
        target_[r][q] = q < n ? lanes::load(residual_[r] + first + q) : lanes(0.0);
    }
  }
  void load_each(const ranges& b, index j, index here, index m) {
    for (index lane = 0; lane < lanes::size; ++lane) {
      const index i = j + std::min(lane, here - 1), first = b.first(i), n = b.end(i) - first;
      for (index q = 0; q < m; ++q) {
        for (index c = 0; c <= q; ++c) small_[q][c].set(int(lane), q < n ? schur_[first + q][first + c] : q == c);
        diagonal_[q].set(int(lane), small_[q][q][int(lane)]);
        for (index r = 0; r < k_; ++r) target_[r][q].set(int(lane), q < n ? residual_[r][first + q] : 0.0);
      }
    }
  }

  /// The coefficients of all ranges, and behind them those of the core, for each response.
  void combine(const ranges& b) {
    const index k = b.outside();
    for (index r = 0; r < k_; ++r) {
      const index at = r * (b.count + 1);
      for (index i = 0; i <= b.count; ++i) std::copy_n(target(k, r), w_, theta_[at + i]);
      for (index j = 0; j < b.count; j += lanes::size) {
        const index here = std::min<index>(lanes::size, b.count - j), lo = b.first(j);
        const index rows = b.end(j + here - 1) - lo;
        add_product<1>({theta_[at + j], here, w_, w_}, {weights_[r * length_ + j] + lo, here, rows, wide_},
                       {core_[w_ + lo], rows, w_, w_});
      }
    }
    factor_.divide({theta_.data, k_ * (b.count + 1), w_, w_}, core());
  }

  /// The features as they are, if the terms of all coefficients leave enough digits.
  void finish(const moments<double>& m, const ranges& b, index i, double margin, const range_fits& out) {
    double* squares = squares_[most_];
    bool sound = margin >= safe;
    std::copy_n(squares, w_, scratch_);
    for (index q = b.first(i); q < b.end(i); ++q) add_row(1.0, squares_[q], scratch_, w_);
    for (index r = 0; r < k_; ++r) {
      const double *theta = theta_[r * (b.count + 1) + i], *w = weights_[r * length_ + i];
      double reach = 0.0;
      for (index q = b.first(i); q < b.end(i); ++q) reach = std::max(reach, w[q] * w[q] * schur_[q][q]);
      const summed_terms terms{theta, theta_[r * (b.count + 1) + b.count], scale_, scratch_, reach, w_};
      sound = sound && terms.keep_digits(margin);
      double *coef = out.coef + (i * k_ + r) * d_, level = 0.0;
      std::copy_n(theta, d_, coef);
      if (intercept_) {
        level = dot(w + b.first(i), root_ + b.first(i), b.end(i) - b.first(i)) / m.weight;
        level += m.mean[d_ + r] - dot(m.mean, coef, d_) + (m.centre[d_ + r] - dot(m.centre, coef, d_));
      }
      out.level[i * k_ + r] = level;
    }
    out.sound[i] = sound;
    out.rank[i] = d_ - std::count(flat_, flat_ + d_, true);
  }

  /// One range by itself, in double precision.
  void fit_plain(const weighted_rows& rows, index lo, index hi, index at, const range_fits& out) {
    index count = 0;
    for (index i = lo; i < hi; ++i) count += rows.weight(i) > 0.0;
    if (count <= d_ + intercept_) return;
    arena::scope s(memory_);
    moments<double> m(memory_, d_, k_);
    m.centred = intercept_;
    set_moments(rows, lo, hi, m, memory_);
    solution one{{out.coef + at * k_ * d_, d_}, out.level + at * k_, memory_.take<double>(k_)};
    out.sound[at] = fit(m, {intercept_, 0.0, fixed{alpha_}}, one, memory_);
    out.rank[at] = one.rank;
  }

  index d_, k_, w_, length_, most_, wide_;
  double alpha_;
  bool intercept_;
  arena& memory_;
  sliding<lanes> sums_;
  blocked_cholesky factor_;
  random_probes probes_;
  rows_of<double> core_, squares_, schur_, diagonals_, residual_, weights_, theta_;
  double *scale_, *root_, *margin_, *scratch_;
  bool* flat_;
  rows_of<lanes> small_{}, target_{};
  lanes *diagonal_, *spare_;
};

}  // namespace efface
