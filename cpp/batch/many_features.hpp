// Every range of an array for one fixed penalty where features are many: a block of ranges at a time.
//
// The ranges of a block share a core of rows; each adds its own rows outside it by a small system
// (see factored_core), and eight of these are solved at once.
#pragma once
#include "fit/factored_core.hpp"
#include "sums/sliding.hpp"

namespace efface {

/// Per range: k rows of d coefficients, k intercepts, whether they have their digits, and the rank, or
/// -1 where a penalty hides it.
struct block_fits {
  double *coef, *level;
  bool* sound;
  index* rank;
};

class many_features {
 public:
  /// For ranges of at most `longest` rows.
  many_features(arena& a, index d, index k, index longest, double alpha, bool intercept)
      : d_(d),
        k_(k),
        length_(d <= 64    ? 16
                : d <= 160 ? 24
                           : 48),
        most_(2 * (length_ - 1)),
        alpha_(alpha),
        intercept_(intercept),
        sums_(a, d, k, longest, intercept, length_),
        core_(a, d, k, most_, alpha, intercept),
        w_(core_.w),
        wide_(core_.wide),
        diagonals_{a.take<double>(length_ * wide_), wide_},
        weights_{a.take<double>(k * length_ * wide_), wide_},
        theta_{a.take<double>(k * length_ * w_), w_},
        margin_(a.take<double>(length_)),
        squares_(a.take<double>(2 * w_)) {
    const index m = padded<tile>(most_);
    small_ = {a.take<lanes>(m * (m + 1)), m + 1}, target_ = {a.take<lanes>(k * m), m};
    diagonal_ = a.take<lanes>(m), spare_ = a.take<lanes>(m);
  }

  /// The ranges [lo, hi): neighbours whose ends do not move back share a core. Those that are not
  /// sound need more digits.
  void run(const weighted_rows& rows, const index* lo, const index* hi, index count, const block_fits& out) {
    for (index i = 0, n; i < count; i += n) {
      n = block_at(lo + i, hi + i, count - i);
      const block_fits here{out.coef + i * k_ * d_, out.level + i * k_, out.sound + i, out.rank + i};
      std::fill_n(here.sound, n, false);
      const ranges block{lo + i, hi + i, n};
      if (block.stop() - block.start() > d_ / 2) solve_block(rows, block, here);
    }
  }

 private:
  static constexpr int tile = tile_size;

  /// The ranges of a block; their core is [start, stop). Rows outside are counted from the oldest on.
  struct ranges {
    const index *lo, *hi;
    index count;
    index start() const { return lo[count - 1]; }
    index stop() const { return hi[0]; }
    index older() const { return start() - lo[0]; }
    index outside() const { return older() + hi[count - 1] - stop(); }
    index first(index i) const { return lo[i] - lo[0]; }
    index end(index i) const { return older() + hi[i] - stop(); }
    index row(index at) const { return at < older() ? lo[0] + at : stop() + at - older(); }
  };

  /// How many of the ranges share a core: few rows are outside it, and enough in it.
  index block_at(const index* lo, const index* hi, index count) const {
    const index rows = hi[0] - lo[0];
    const index spare = alpha_ > 0.0 ? rows - 1 : (rows - d_ - intercept_) / 2;
    index n = 1;
    while (n < std::min(count, length_) && lo[n] >= lo[n - 1] && hi[n] >= hi[n - 1] &&
           lo[n] - lo[0] <= spare && lo[n] - lo[0] + hi[n] - hi[0] <= most_)
      ++n;
    return n;
  }

  void solve_block(const weighted_rows& rows, const ranges& b, const block_fits& out) {
    const moments<double>* m = &sums_.gather(rows, b.start(), b.stop());
    if (!sums_.near()) {
      sums_.recentre(rows, b.start(), b.stop());
      m = &sums_.gather(rows, b.start(), b.stop());
    }
    if (!sums_.near()) return;
    core_.form(*m, rows, b.outside(), [&](index at) { return b.row(at); });
    if (!(core_.margin() >= safe)) return;
    std::copy_n(core_.inside(), w_, squares_);
    for (index i = 0; i < b.outside(); ++i) {
      add_row(1.0, core_.squares(i), squares_, w_);
      for (index j = std::max<index>(0, i - length_ + 1); j <= i; ++j)
        diagonals_[i - j][j] = core_.schur()[i][j];
    }
    std::fill_n(weights_.data, k_ * length_ * wide_, 0.0);
    for (index j = 0; j < b.count; j += lanes::size) solve_eight(b, j);
    combine(b);
    for (index i = 0; i < b.count; ++i) finish(b, i, std::min(core_.margin(), margin_[i]), out);
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
    alike&& n <= length_ ? load_alike(b.first(j), n, m) : load_each(b, j, here, m);
    const auto v = factorise<tile>(small_, m, diagonal_);
    lanes margin = clear;
    bool certain = true;
    for (int i = 0; i < here; ++i) certain &= v.certain[i];
    if (!certain) margin = efface::margin<tile>(small_, m, diagonal_, spare_);
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

  /// Neighbouring ranges are side by side in the diagonals of S.
  void load_alike(index first, index n, index m) {
    for (index q = 0; q < m; ++q) {
      for (index c = 0; c <= q; ++c)
        small_[q][c] = q < n ? lanes::load(diagonals_[q - c] + first + c) : lanes(q == c);
      diagonal_[q] = small_[q][q];
      for (index r = 0; r < k_; ++r)
        target_[r][q] = q < n ? lanes::load(core_.residual()[r] + first + q) : lanes(0.0);
    }
  }
  void load_each(const ranges& b, index j, index here, index m) {
    for (int lane = 0; lane < lanes::size; ++lane) {
      const index i = j + std::min<index>(lane, here - 1), first = b.first(i), n = b.end(i) - first;
      for (index q = 0; q < m; ++q) {
        for (index c = 0; c <= q; ++c)
          small_[q][c].set(lane, q < n ? core_.schur()[first + q][first + c] : q == c);
        diagonal_[q].set(lane, small_[q][q][lane]);
        for (index r = 0; r < k_; ++r) target_[r][q].set(lane, q < n ? core_.residual()[r][first + q] : 0.0);
      }
    }
  }

  /// The coefficients of all ranges, for each response.
  void combine(const ranges& b) {
    for (index r = 0; r < k_; ++r) {
      for (index i = 0; i < b.count; ++i) std::copy_n(core_.target(r), w_, theta_[r * b.count + i]);
      for (index j = 0; j < b.count; j += lanes::size) {
        const index here = std::min<index>(lanes::size, b.count - j), lo = b.first(j);
        const index rows = b.end(j + here - 1) - lo;
        add_product<1>({theta_[r * b.count + j], here, w_, w_},
                       {weights_[r * length_ + j] + lo, here, rows, wide_}, {core_.image(lo), rows, w_, w_});
      }
    }
    core_.divide({theta_.data, k_ * b.count, w_, w_});
  }

  void finish(const ranges& b, index i, double margin, const block_fits& out) {
    const index lo = b.first(i), hi = b.end(i);
    out.sound[i] = margin >= safe;
    for (index q = lo; q < hi; ++q) out.sound[i] = out.sound[i] && !core_.odd(q);
    out.rank[i] = alpha_ > 0.0 ? -1 : d_ - core_.constants();
    for (index r = 0; r < k_; ++r) {
      const double *theta = theta_[r * b.count + i], *w = weights_[r * length_ + i] + lo;
      double* coef = out.coef + (i * k_ + r) * d_;
      out.sound[i] = out.sound[i] && core_.keep_digits(theta, r, w, lo, hi, margin, squares_, squares_ + w_);
      std::copy_n(theta, d_, coef);
      out.level[i * k_ + r] = core_.level(coef, r, w, lo, hi);
    }
  }

  index d_, k_, length_, most_;
  double alpha_;
  bool intercept_;
  sliding<lanes> sums_;
  factored_core core_;
  index w_, wide_;
  rows_of<double> diagonals_, weights_, theta_;
  double *margin_, *squares_;
  rows_of<lanes> small_{}, target_{};
  lanes *diagonal_, *spare_;
};

}  // namespace efface
