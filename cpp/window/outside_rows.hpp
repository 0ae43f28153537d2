// The live rows of a window for one fixed penalty and many features: O(d^2) per event, amortised.
//
// The newest rows and the oldest, which leave next, are outside a factored core (see factored_core).
// So a row that comes or leaves changes one row of a small system. A new core is made, from sums of
// live rows alone, when too many rows are outside, or when one of its own has left. When that is
// depends on places, not on values. What was derived from a row that leaves is overwritten.
#pragma once
#include "fit/factored_core.hpp"
#include "fit/fit.hpp"
#include "sums/sliding.hpp"

namespace efface {

class outside_rows {
 public:
  /// For at most `window` rows.
  outside_rows(arena& a, index d, index k, index window, double alpha, bool intercept)
      : d_(d),
        k_(k),
        tail_(d <= 48    ? 12
              : d <= 160 ? 24
                         : 48),
        most_(2 * tail_),
        alpha_(alpha),
        intercept_(intercept),
        sums_(a, d, k, window, intercept, tail_),
        core_(a, d, k, most_, alpha, intercept),
        w_(core_.w),
        small_{a.take<double>(most_ * (most_ + 1)), most_ + 1},
        weights_{a.take<double>(k * most_), most_},
        theta_{a.take<double>(k * w_), w_},
        diagonal_(a.take<double>(most_)),
        scratch_(a.take<double>(std::max(w_, most_))) {}

  /// The regression on the rows [head, end); false where digits may be missing.
  bool solve(const weighted_rows& rows, index head, index end, solution& out) {
    if (!valid_ || head > core_start_ || outside(end) > most_) {
      if (!form(rows, head, end)) return false;
    }
    if (!near_ || !(core_.margin() >= safe)) return false;
    for (; placed_ < end; ++placed_) core_.join(rows, placed_, outside(placed_), head - tail_start_);
    return solve_outside(head - tail_start_, outside(end), out);
  }

  /// Overwrite what contains a row before `head`.
  void release(index head) {
    sums_.release(head);
    if (!valid_) return;
    if (head > core_start_) {
      core_.clear();
      valid_ = false;
    }
    for (; valid_ && released_ < head; ++released_) core_.clear(released_ - tail_start_);
    clear_solution();
  }
  /// Overwrite everything.
  void clear() {
    sums_.clear();
    core_.clear();
    clear_solution();
    valid_ = false;
  }
  /// Rows have moved towards the front.
  void shift(index by) {
    sums_.shift(by);
    for (index* place : {&tail_start_, &core_start_, &core_end_, &placed_, &released_}) *place -= by;
  }
  /// Are the sums, to the last bit, those of the rows that they declare?
  bool follows(const weighted_rows& rows, arena& a) { return sums_.follows(rows, a); }

 private:
  static constexpr int tile = 4;

  /// How many rows before `end` are outside the core.
  index outside(index end) const { return core_start_ - tail_start_ + end - core_end_; }

  bool form(const weighted_rows& rows, index head, index end) {
    const index spare = end - head - d_ - intercept_;
    const index tail = alpha_ > 0.0 ? std::min(tail_, (end - head) / 2) : std::min(tail_, (spare + 1) / 2);
    if (spare <= 0 && (alpha_ == 0.0 || end - head < d_ / 2)) return false;
    tail_start_ = released_ = head, core_start_ = head + tail, core_end_ = placed_ = end;
    const auto& m = sums_.gather(rows, core_start_, core_end_);
    near_ = sums_.near(), valid_ = true;
    near_ ? core_.clear_outside() : core_.clear();  // rows have other places now
    if (near_) core_.form(m, rows, tail, [&](index at) { return head + at; });
    return true;
  }

  /// From the rows outside at the places lo .. hi - 1.
  bool solve_outside(index lo, index hi, solution& out) {
    const index n = hi - lo, m = padded<tile>(n);
    for (index i = 0; i < m; ++i) {
      for (index j = 0; j <= i; ++j) small_[i][j] = i < n ? core_.schur()[lo + i][lo + j] : i == j;
      diagonal_[i] = small_[i][i];
      if (i < n && core_.odd(lo + i)) return false;
    }
    const auto v = factorise<tile>(small_, m, diagonal_);
    double margin = v.certain ? efface::clear
                    : v.sound ? efface::margin<tile>(small_, m, diagonal_, scratch_)
                              : 0.0;
    margin = std::min(margin, core_.margin());
    if (!(margin >= safe)) return false;
    for (index r = 0; r < k_; ++r) {
      double* w = weights_[r];
      std::copy_n(core_.residual()[r] + lo, n, w), std::fill(w + n, w + m, 0.0);
      substitute<tile>(small_, m, w);
      substitute_back<tile>(small_, m, w);
      std::copy_n(core_.target(r), w_, theta_[r]);
    }
    add_product<1>({theta_.data, k_, w_, w_}, {weights_.data, k_, n, most_}, {core_.image(lo), n, w_, w_});
    core_.divide({theta_.data, k_, w_, w_});
    for (index r = 0; r < k_; ++r) {
      const double* w = weights_[r];
      if (!core_.keep_digits(theta_[r], r, w, lo, hi, margin, nullptr, scratch_)) return false;
      std::copy_n(theta_[r], d_, out.coef[r]);
      out.level[r] = core_.level(out.coef[r], r, w, lo, hi), out.penalty[r] = alpha_;
    }
    out.rank = alpha_ > 0.0 ? -1 : d_ - core_.constants();
    out.path = 1;
    return true;
  }

  void clear_solution() {
    wipe(small_.data, most_ * (most_ + 1) * sizeof(double)), wipe(weights_.data, k_ * most_ * sizeof(double));
    wipe(theta_.data, k_ * w_ * sizeof(double)), wipe(diagonal_, most_ * sizeof(double));
    wipe(scratch_, std::max(w_, most_) * sizeof(double));
  }

  index d_, k_, tail_, most_;
  double alpha_;
  bool intercept_;
  sliding<lanes> sums_;
  factored_core core_;
  index w_;
  rows_of<double> small_, weights_, theta_;
  double *diagonal_, *scratch_;
  index tail_start_ = 0, core_start_ = 0, core_end_ = 0;  // the tail is [tail_start, core_start)
  index placed_ = 0, released_ = 0;                       // rows before are placed; have been overwritten
  bool valid_ = false, near_ = false;
};

}  // namespace efface
