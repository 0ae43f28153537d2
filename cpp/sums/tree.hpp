// Moments of any set of live rows, without subtraction: a tree whose shape follows from the ids of
// the live rows alone, so that its bits do not depend on which rows have left.
//
// Some rows are walls: a hash of the id says so, and how high the wall is. A leaf is the places from
// one wall to the next, a node of level k the places between walls higher than k. A row that leaves
// takes along the moments of every node that contained it; they are made anew when needed. A wall
// that leaves joins its nodes to those before them. A place without weight counts for nothing.
#pragma once
#include <functional>

#include "memory/wiped.hpp"
#include "sums/moments.hpp"

namespace efface {

/// Places of walls, in order, and their heights, from 1 on.
struct wall_list {
  std::vector<index> places;
  std::vector<int> heights;
};

/// Rows per leaf: about as many as keep the memory of the moments below that of the rows.
inline int leaf_bits(index d) {
  int bits = 5;
  while ((index(1) << bits) < d) ++bits;
  return bits;
}

template <class Real>
class tree {
 public:
  tree(index d, index k) : d_(d), k_(k), width_(words_of()), levels_(1) {}

  bool empty() const { return end_ < 0; }
  index covered() const { return end_; }  // the places before this one are in it; -1: none

  /// Take in the places up to `end`: `walls` lie from the place covered on, or from `head` on.
  void cover(index head, index end, const wall_list& walls) {
    if (empty()) {
      end_ = head_ = head;
      levels_[0].push_back({head, -1});
    }
    for (std::size_t i = 0; i < walls.places.size(); ++i) put_wall(walls.places[i], walls.heights[i]);
    if (end > end_) stale(levels_[0].back().first);
    end_ = end;
  }
  /// A row at this place has left, or changed; `wall`: it may have been a wall.
  void forget(index place) {
    if (empty() || place >= end_) return;
    stale(place);
    if (place == head_) return;
    for (auto& level : levels_) {
      const auto at = find(level, place);
      if (at->first != place || at == level.begin()) break;
      release(*at);
      level.erase(at);
    }
    stale(place);
  }
  /// The places before `head` are free.
  void release_before(index head) {
    if (empty() || head <= head_) return;
    if (head >= end_) return clear();
    stale(head_);
    for (auto& level : levels_) {
      const auto last = find(level, head);
      for (auto at = level.begin(); at != last; ++at) release(*at);
      release(*last);
      last->first = head;
      level.erase(level.begin(), last);
    }
    head_ = head;
  }
  /// The places from `end` on are free.
  void cut(index end) {
    if (empty() || end >= end_) return;
    if (end <= head_) return clear();
    for (auto& level : levels_)
      while (level.back().first >= end) release(level.back()), level.pop_back();
    end_ = end;
    stale(end - 1);
  }
  /// A row that is no wall was put in at `place`: those from there on have moved by one.
  void insert(index place) {
    if (empty() || place >= end_) return;
    for (auto& level : levels_)
      for (auto& node : level) node.first += node.first >= place && node.first > head_;
    ++end_;
    stale(place);
  }
  void shift(index by) {
    if (empty()) return;
    for (auto& level : levels_)
      for (auto& node : level) node.first -= by;
    head_ -= by, end_ -= by;
  }
  void clear() {
    for (auto& level : levels_)
      for (auto& node : level) release(node);
    levels_.assign(1, {});
    end_ = -1;
  }

  /// The moments of all places; `scratch` is that of a fit.
  moments<Real> root(const weighted_rows& rows, arena& scratch) {
    level_list& top = levels_.back();
    if (top.size() > 1) {
      levels_.push_back({{head_, -1}});
      return root(rows, scratch);
    }
    return refreshed(rows, levels_.size() - 1, 0, scratch);
  }
  /// Are all moments, to the last bit, those of another tree of the same rows, and all else zeros?
  bool same(const tree& whole) const {
    for (std::size_t k = 0; k < levels_.size(); ++k)
      for (const node& mine : levels_[k]) {
        if (mine.slot < 0) continue;
        const level_list& level = whole.levels_[std::min(k, whole.levels_.size() - 1)];
        const auto other =
            std::find_if(level.begin(), level.end(), [&](const node& n) { return n.first == mine.first; });
        if (other == level.end() || other->slot < 0) return false;
        const double *a = store_.data() + mine.slot * width_, *b = whole.store_.data() + other->slot * width_;
        if (std::memcmp(a, b, std::size_t(width_) * sizeof(double)) != 0) return false;
      }
    return std::all_of(free_.begin(), free_.end(), [&](index slot) {
      const double* at = store_.data() + slot * width_;
      return std::all_of(at, at + width_, [](double each) { return each == 0.0; });
    });
  }
  const wiped<double>& memory() const { return store_; }

 private:
  struct node {
    index first, slot;  // the first place; where its moments lie, -1: nowhere
  };
  using level_list = std::vector<node>;

  /// A view of the words of a slot. Weight and count lie behind the arrays.
  struct slot_view : moments<Real> {
    slot_view(arena& a, index d, index k) : moments<Real>(a, d, k), tail(a.take<Real>(2)) {}
    Real* tail;
  };

  index words_of() const {
    return index(bytes_of([&](arena& a) { slot_view(a, d_, k_); }) / sizeof(double));
  }
  moments<Real> at(index slot) {
    borrowed_arena a(store_.data() + slot * width_, std::size_t(width_) * sizeof(double));
    slot_view v(a, d_, k_);
    v.weight = v.tail[0], v.count = index(value(v.tail[1]));
    return v;
  }
  void put(index slot, const moments<Real>& m) {
    borrowed_arena a(store_.data() + slot * width_, std::size_t(width_) * sizeof(double));
    slot_view v(a, d_, k_);
    v.tail[0] = m.weight, v.tail[1] = Real(double(m.count));
    if (v.mean == m.mean) return;
    const index p = d_ + k_;
    std::copy_n(m.centre, p, v.centre), std::copy_n(m.bounds, 2 * p, v.bounds),
        std::copy_n(m.mean, p, v.mean);
    std::copy_n(m.scatter, k_, v.scatter), std::copy_n(m.gram.data, p * p, v.gram.data);
  }
  index take_slot() {
    if (free_.empty()) {
      const index count = index(store_.size()) / width_, more = std::max<index>(4, count / 4);
      free_.reserve(std::size_t(count + more));
      store_.reserve(std::size_t((count + more) * width_));
      store_.resize(std::size_t((count + more) * width_), 0.0);
      for (index i = count + more - 1; i >= count; --i) free_.push_back(i);
    }
    const index slot = free_.back();
    free_.pop_back();
    return slot;
  }
  void release(node& n) {
    if (n.slot < 0) return;
    wipe(store_.data() + n.slot * width_, std::size_t(width_) * sizeof(double));
    free_.push_back(n.slot);
    n.slot = -1;
  }
  static auto find(level_list& level, index place) {
    const auto after = [](index a, const node& b) { return a < b.first; };
    return std::upper_bound(level.begin(), level.end(), place, after) - 1;
  }
  void stale(index place) {
    for (auto& level : levels_) release(*find(level, place));
  }
  void put_wall(index place, int height) {
    if (place <= head_) return;
    while (int(levels_.size()) < height) levels_.push_back({{head_, -1}});
    for (int k = 0; k < height; ++k) levels_[k].push_back({place, -1});
    if (place >= end_) stale(place - 1);
  }

  moments<Real> refreshed(const weighted_rows& rows, std::size_t k, std::size_t i, arena& scratch) {
    if (levels_[k][i].slot >= 0) return at(levels_[k][i].slot);
    const index lo = levels_[k][i].first, hi = i + 1 < levels_[k].size() ? levels_[k][i + 1].first : end_;
    if (k == 0) return sum_rows(rows, lo, hi, levels_[k][i], scratch);
    const std::size_t from = std::size_t(find(levels_[k - 1], lo) - levels_[k - 1].begin());
    std::size_t to = from;
    for (; to < levels_[k - 1].size() && levels_[k - 1][to].first < hi; ++to)
      refreshed(rows, k - 1, to, scratch);
    return merge(k, from, to, levels_[k][i]);
  }
  moments<Real> sum_rows(const weighted_rows& rows, index lo, index hi, node& n, arena& scratch) {
    const index slot = take_slot();
    moments<Real> m = at(slot);
    const auto weighted = [&](index i) { return rows.weight(i) > 0.0; };
    index some = lo;
    while (some < hi && !weighted(some)) ++some;
    if (some < hi) set_moments(rows, lo, hi, m, scratch);
    put(slot, m);
    n.slot = slot;
    return m;
  }
  /// M = sum M_c + W_c v_c v_c' with v_c the mean of child c minus that of all.
  moments<Real> merge(std::size_t k, std::size_t from, std::size_t to, node& n) {
    const index slot = take_slot(), p = d_ + k_;
    moments<Real> m = at(slot);
    index parts = 0, only = -1;
    for (std::size_t c = from; c < to; ++c) {
      const moments<Real> child = at(levels_[k - 1][c].slot);
      if (child.count == 0) continue;
      ++parts, only = levels_[k - 1][c].slot;
      m.count += child.count, m.weight += child.weight;
    }
    if (parts == 1) put(slot, at(only));
    if (parts > 1) {
      join(m, k, from, to, p);
      put(slot, m);
    }
    n.slot = slot;
    return at(slot);
  }
  void join(moments<Real>& m, std::size_t k, std::size_t from, std::size_t to, index p) {
    bool first = true;
    const auto each_child = [&](auto use) {
      for (std::size_t c = from; c < to; ++c)
        if (const moments<Real> child = at(levels_[k - 1][c].slot); child.count > 0) use(child);
    };
    each_child([&](const moments<Real>& child) {
      const double share = value(child.weight) / value(m.weight);
      for (index j = 0; j < p; ++j) m.centre[j] += share * (child.centre[j] + value(child.mean[j]));
      widen(m.bounds, child.bounds, d_, k_, first);
      first = false;
    });
    each_child([&](const moments<Real>& child) {
      const Real share = child.weight / m.weight;
      for (index j = 0; j < p; ++j) m.mean[j] = muladd(share, away(child, m, j), m.mean[j]);
    });
    v_.resize(std::size_t(p));
    each_child([&](const moments<Real>& child) {
      for (index j = 0; j < p; ++j) v_[j] = away(child, m, j) - m.mean[j];
      for (index i = 0; i < p; ++i) {
        const Real pull = child.weight * v_[i];
        for (index j = 0; j <= i; ++j) m.gram[i][j] = muladd(pull, v_[j], m.gram[i][j] + child.gram[i][j]);
      }
    });
    wipe(v_.data(), v_.size() * sizeof(Real));
    for (index r = 0; r < k_; ++r) m.scatter[r] = m.gram[d_ + r][d_ + r];
    m.settle_constants();
  }
  /// The mean of a child, from the centre of its parent.
  static Real away(const moments<Real>& child, const moments<Real>& m, index j) {
    if constexpr (std::is_same_v<Real, double>)
      return (child.centre[j] - m.centre[j]) + child.mean[j];
    else
      return dd::sum(child.centre[j], -m.centre[j]) + child.mean[j];
  }

  index d_, k_, width_, head_ = 0, end_ = -1;
  std::vector<level_list> levels_;
  wiped<double> store_;
  std::vector<index> free_;
  wiped<Real> v_;
};

/// Moments around 0 from those around the mean.
template <class Real>
void set_uncentred(const moments<Real>& from, moments<Real>& m) {
  const index p = m.d + m.k;
  m.centred = false, m.weight = from.weight, m.count = from.count, m.spread = true;
  std::copy_n(from.bounds, 2 * p, m.bounds), std::copy_n(from.scatter, m.k, m.scatter);
  for (index i = 0; i < p; ++i) {
    m.mean[i] = from.mean[i] + Real(from.centre[i]);
    for (index j = 0; j <= i; ++j) m.gram[i][j] = muladd(m.weight * m.mean[i], m.mean[j], from.gram[i][j]);
  }
}

}  // namespace efface
