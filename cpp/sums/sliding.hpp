// Moments of the rows of a sliding range, by addition alone.
//
// The live range is split at a turn. Sums over [start, turn) lie on a stack, the nearest start on
// top; rows from the turn on are added to one running sum. When the range passes the turn, the turn
// moves to its end. Sums are only added to, and overwritten when a row of theirs leaves.
#pragma once
#include <vector>

#include "sums/moments.hpp"

namespace efface {

template <class V>
class sliding {
 public:
  using Real = std::conditional_t<std::is_same_v<V, lanes>, double, dd>;

  /// The sums of `part`: of rows (x - c, 1, y - c), and the bounds of features and responses.
  struct part {
    part(arena& a, index d, index k) : gram(a, d + k + 1), bounds(a.take<double>(2 * (d + k))), d(d), k(k) {}
    block_gram<V> gram;
    double* bounds;
    index d, k, count = 0;  // rows with weight

    void clear() {
      gram.clear();
      wipe(bounds, 2 * (d + k) * sizeof(double));
      count = 0;
    }
    void add(staged_rows<V>& staged, const weighted_rows& rows, index lo, index hi, const double* centre) {
      for (index i = lo; i < hi; ++i)
        if (rows.weight(i) > 0.0) widen(bounds, rows, i, count++ == 0);
      staged.add(rows, lo, hi, centre, gram);
    }
    void set_sum(const part& a, const part* b) {
      count = a.count + (b ? b->count : 0);
      if (!b || a.count == 0 || b->count == 0) {
        const part& only = b && a.count == 0 ? *b : a;
        for (index i = 0; i < 8 * gram.blocks; ++i) std::copy_n(only.gram[i], i / 8 + 1, gram[i]);
        std::copy_n(only.bounds, 2 * (d + k), bounds);
        return;
      }
      for (index i = 0; i < 8 * gram.blocks; ++i)
        for (index j = 0; j <= i / 8; ++j) gram[i][j] = a.gram[i][j] + b->gram[i][j];
      widen(bounds, a.bounds, d, k, true), widen(bounds, b->bounds, d, k, false);
    }
  };

  /// `unit`: by how many rows ranges move at least, or nearly always.
  sliding(arena& a, index d, index k, index window, bool centred, index unit = 1)
      : staged_(a, d + k + 1),
        total_(a, d, k),
        recent_(a, d, k),
        unit_(unit),
        fan_(d < 256 ? 32 : 8),
        m_(a, d, k) {
    index most = 2;
    for (index n = window; n > unit; n = step_for(n)) most += fan_ + 1;
    for (index i = 0; i < most; ++i) stack_.emplace_back(a, d, k);
    starts_ = a.take<index>(most);
    m_.centred = centred;
  }

  /// The moments of the rows [a, b). When turns happen does not depend on values, so that no row
  /// that has left decides how the others are summed.
  const moments<Real>& gather(const weighted_rows& rows, index a, index b) {
    const part& total = sum(rows, a, b);
    std::copy_n(total.bounds, 2 * (m_.d + m_.k), m_.bounds);
    m_.count = total.count;
    near_ = set_moments(total.gram, m_);
    return m_;
  }
  /// The sums of the rows [a, b), around `centre()`, which is one of them.
  const part& sum(const weighted_rows& rows, index a, index b) {
    if (a > anchor_ || a < first_ || b < seen_) turn_over(rows, a, b);
    first_ = from_ = a;
    recent_.add(staged_, rows, seen_, b, m_.centre);
    seen_ = b;
    reach_back(rows, a);
    total_.set_sum(recent_, depth_ > 0 ? &stack_[depth_ - 1] : nullptr);
    return total_;
  }
  /// Start again around the mean of [a, b): for arrays, of which no row leaves.
  void recentre(const weighted_rows& rows, index a, index b) {
    turn_over(rows, a, b);
    if (m_.centred) describe(rows, a, b, m_);
  }
  const double* centre() const { return m_.centre; }
  /// Is the centre so near to the mean that the moments have their digits?
  bool near() const { return near_; }

  /// Overwrite what contains a row before `head`.
  void release(index head) {
    while (depth_ > 0 && starts_[depth_ - 1] < head) pop();
    if (head > from_) clear_moments();
    if (seen_ == never || head <= anchor_) return;  // the centre is a live row
    recent_.clear();
    wipe(m_.centre, (m_.d + m_.k) * sizeof(double));
    seen_ = never, turn_ = 0;
  }
  /// Overwrite everything.
  void clear() {
    while (depth_ > 0) pop();
    clear_moments();
    release(never);
  }
  /// Are all sums, to the last bit, those of the rows that they declare?
  bool follows(const weighted_rows& rows, arena& a) {
    arena::scope s(a);
    part again(a, m_.d, m_.k);
    const auto same = [&](const part& kept) {
      const std::size_t bytes = 8 * again.gram.blocks * again.gram.blocks * sizeof(V);
      return std::memcmp(again.gram.data, kept.gram.data, bytes) == 0 && again.count == kept.count &&
             std::memcmp(again.bounds, kept.bounds, 2 * (m_.d + m_.k) * sizeof(double)) == 0;
    };
    bool sound = true;
    for (index i = 0; i < depth_; ++i) {
      again.add(staged_, rows, starts_[i], i > 0 ? starts_[i - 1] : turn_, m_.centre);
      sound &= same(stack_[i]);
    }
    again.clear();
    if (seen_ != never) again.add(staged_, rows, turn_, seen_, m_.centre);
    return sound && same(recent_);
  }
  void shift(index by) {
    if (seen_ != never) seen_ -= by;
    if (from_ != never) from_ -= by;
    first_ -= by, turn_ -= by, anchor_ -= by;
    for (index i = 0; i < depth_; ++i) starts_[i] -= by;
  }

 private:
  static constexpr index never = index(1) << 62;

  void clear_moments() {
    total_.clear();
    wipe(m_.gram.data, (m_.d + m_.k) * (m_.d + m_.k) * sizeof(Real));
    wipe(m_.mean, (m_.d + m_.k) * sizeof(Real)), wipe(m_.scatter, m_.k * sizeof(Real));
    wipe(m_.bounds, 2 * (m_.d + m_.k) * sizeof(double));
    m_.weight = Real(0.0), m_.count = 0, from_ = never;
  }
  index step_for(index rows) const { return (rows + fan_ * unit_ - 1) / (fan_ * unit_) * unit_; }
  void pop() { stack_[--depth_].clear(), starts_[depth_] = 0; }
  /// Start again at the row b, around the newest row that has weight: a mean would outlive rows that
  /// leave, and a row without weight counts for nothing.
  void turn_over(const weighted_rows& rows, index a, index b) {
    recent_.clear();
    while (depth_ > 0) pop();
    turn_ = seen_ = b, anchor_ = b - 1;
    while (anchor_ > a && !(rows.weight(anchor_) > 0.0)) --anchor_;
    if (!(rows.weight(anchor_) > 0.0)) anchor_ = b - 1;
    for (index j = 0; m_.centred && j < m_.d + m_.k; ++j) m_.centre[j] = rows.value(anchor_, j);
  }
  /// Extend the stack until its top starts at `a`.
  void reach_back(const weighted_rows& rows, index a) {
    while (depth_ > 0 && starts_[depth_ - 1] < a) pop();
    index top = depth_ > 0 ? starts_[depth_ - 1] : turn_, step = top - a;
    while (top > a) {
      if (top - a <= step) step = step_for(top - a);
      const index start = a + (top - a - 1) / step * step;
      if (depth_ > 0) stack_[depth_].set_sum(stack_[depth_ - 1], nullptr);
      stack_[depth_].add(staged_, rows, start, top, m_.centre);
      starts_[depth_++] = top = start;
    }
  }

  staged_rows<V> staged_;
  part total_, recent_;
  std::vector<part> stack_;
  index* starts_;
  bool near_ = false;
  index unit_, fan_, first_ = 0, depth_ = 0, turn_ = 0, seen_ = never, anchor_ = 0;
  index from_ = never;  // the first row in the moments
  moments<Real> m_;
};

}  // namespace efface
