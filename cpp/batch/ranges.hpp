// The regression on each of many ranges of rows: rolling windows, groups, replays, fleets.
//
// Where features are few and the penalty follows from sums, eight ranges are solved at a time, one
// lane each. A range that loses digits so is solved again in double-double precision, eight at a time
// too, and by a pivoted factor if it is singular. All others are solved one by one. Every sum is made
// by addition alone, and slides along with the ranges.
#pragma once
#include <memory>
#include <optional>

#include "batch/lane_systems.hpp"
#include "batch/many_features.hpp"
#include "fit/extreme_rows.hpp"

namespace efface {

inline constexpr index most_few = 28;  // with more features, the lanes no longer pay

/// Ranges [lo, hi) of rows. Neighbours whose ends do not move back share sums.
struct range_list {
  const index *lo, *hi;
  index count;
  const double* unit;  // the weight that counts as one row; none: 1

  bool empty(index i) const { return hi[i] <= lo[i]; }
  double unit_of(index i) const { return unit ? unit[i] : 1.0; }
  index longest() const {
    index most = 1;
    for (index i = 0; i < count; ++i) most = std::max(most, hi[i] - lo[i]);
    return most;
  }
};

/// Where the fits are written: for range i coefficients (k, d), levels and penalties (k), the rank
/// (-1 where a penalty hides it), predictions (k) of the row at[i] of `rows`. Null: not wanted.
struct range_fits {
  double *coef, *level, *penalty;
  index* rank;
  double* prediction;
  const double* rows;
  const index* at;
};

/// One range after the other, by any rule, in the precision that it needs.
class single_ranges {
 public:
  single_ranges(const weighted_rows& rows, const range_list& ranges, const model& f, const range_fits& out)
      : rows_(rows),
        ranges_(ranges),
        f_(f),
        out_(out),
        window_(ranges.longest()),
        memory_(bytes_of([&](arena& a) { state(a, *this); })),
        s_(memory_, *this),
        work_(rows.d, rows.k) {}

  void run() {
    for (index i = 0; i < ranges_.count; ++i) fit_range(i);
  }
  void clear_range(index i) {
    begin(i);
    set_empty(f_, rows_.d, rows_.k, solution_);
    write(i);
  }
  void fit_range(index i) {
    if (ranges_.empty(i)) return clear_range(i);
    begin(i);
    const index lo = ranges_.lo[i], hi = ranges_.hi[i];
    if (few(hi - lo, rows_.d, f_))
      fit_rows(rows_, lo, hi, f_, solution_, work_);
    else
      fit_sliding(lo, hi);
    write(i);
  }
  /// The same from sums in double-double precision, or from rows where their centre is not `near`.
  void fit_precisely(index i, const moments<dd>& m, bool near) {
    begin(i);
    const index lo = ranges_.lo[i], hi = ranges_.hi[i];
    if (!near || few(m.count, rows_.d, f_) || extreme(m))
      fit_rows(rows_, lo, hi, f_, solution_, work_);
    else
      fit(m, f_, solution_, work_.precise());
    write(i);
  }

 private:
  struct state {
    state(arena& a, const single_ranges& s)
        : sums(a, s.rows_.d, s.rows_.k, s.window_, s.f_.centred()),
          coef(a.take<double>(s.rows_.k * s.rows_.d)),
          level(a.take<double>(s.rows_.k)),
          penalty(a.take<double>(s.rows_.k)) {}
    sliding<lanes> sums;
    double *coef, *level, *penalty;
  };
  /// Made when a range needs them.
  struct precise_state {
    explicit precise_state(const single_ranges& s)
        : memory(bytes_of([&](arena& a) { make(a, s); })), sums(make(memory, s)) {}
    static sliding<dd_lanes> make(arena& a, const single_ranges& s) {
      return {a, s.rows_.d, s.rows_.k, s.window_, s.f_.centred()};
    }
    arena memory;
    sliding<dd_lanes> sums;
  };
  sliding<dd_lanes>& precise_sums() {
    if (!precise_) precise_ = std::make_unique<precise_state>(*this);
    return precise_->sums;
  }

  void begin(index i) {
    f_.unit = ranges_.unit_of(i);
    solution_ = {{s_.coef, rows_.d}, s_.level, s_.penalty};
  }
  void fit_sliding(index lo, index hi) {
    const auto& m = s_.sums.gather(rows_, lo, hi);
    if (m.count == 0 || few(m.count, rows_.d, f_) || extreme(m))
      return fit_rows(rows_, lo, hi, f_, solution_, work_);
    if (s_.sums.near() && fit(m, f_, solution_, work_.fast())) return;
    const auto& precise = precise_sums().gather(rows_, lo, hi);
    if (precise_sums().near())
      fit(precise, f_, solution_, work_.precise());
    else
      fit_rows(rows_, lo, hi, f_, solution_, work_);
  }
  void write(index i) {
    const index d = rows_.d, k = rows_.k;
    const auto* rule = std::get_if<fixed>(&f_.rule);
    for (index r = 0; r < k; ++r) {
      out_.level[i * k + r] = s_.level[r];
      out_.penalty[i * k + r] = rule ? rule->alpha : s_.penalty[r] / f_.unit;
      if (out_.prediction)
        out_.prediction[i * k + r] = s_.level[r] + dot(s_.coef + r * d, out_.rows + out_.at[i] * d, d);
    }
    out_.rank[i] = solution_.rank;
    if (out_.coef) std::copy_n(s_.coef, k * d, out_.coef + i * k * d);
  }

  weighted_rows rows_;
  range_list ranges_;
  model f_;
  range_fits out_;
  index window_;
  arena memory_;
  state s_;
  workspace work_;
  solution solution_{};
  std::unique_ptr<precise_state> precise_;
};

/// Eight ranges at a time.
template <int Tile, class Size>
class few_features {
 public:
  few_features(const weighted_rows& rows, const range_list& ranges, const model& f, const range_fits& out,
               Size d)
      : rows_(rows),
        ranges_(ranges),
        f_(f),
        out_(out),
        d_(d),
        window_(ranges.longest()),
        memory_(bytes_of([&](arena& a) { state(a, *this); })),
        s_(memory_, *this),
        single_(rows, ranges, f, out) {}

  void run() {
    for (index i = 0; i < ranges_.count;) {
      const index rows = ranges_.hi[i] - ranges_.lo[i];
      if (rows <= 0 || (singular_if_few() && few(rows, d_, f_))) {
        single_.fit_range(i++);
        continue;
      }
      lane_ranges batch = neighbours(i);
      if (batch.count < least_shared) {
        solve_apart(i++);
        continue;
      }
      flush();
      const int last = batch.count - 1;
      const auto& core = s_.sums.sum(rows_, batch.lo[last], batch.hi[0]);
      s_.systems.solve(batch, core, s_.sums.centre(), rows_);
      for (int lane = 0; lane <= last; ++lane) take(i + lane, lane);
      i += batch.count;
    }
    flush();
    if (precise_) precise_->flush(*this);
  }

 private:
  static constexpr int least_shared = 3;  // with fewer, sums of their own cost less

  struct state {
    state(arena& a, const few_features& s)
        : sums(a, s.d_, s.rows_.k, s.window_, s.f_.centred(), lanes::size),
          systems(a, s.d_, s.rows_.k, s.f_) {}
    sliding<lanes> sums;
    lane_systems<lanes, Tile, Size> systems;
  };
  /// Ranges that lost digits, and their sums, until eight are there. Made when a range needs it.
  struct precise_state {
    struct parts {
      parts(arena& a, const few_features& s)
          : sums(a, s.d_, s.rows_.k, s.window_, s.f_.centred()),
            systems(a, s.d_, s.rows_.k, s.f_),
            m(a, s.d_, s.rows_.k) {
        for (int i = 0; i < lanes::size; ++i) {
          kept.emplace_back(a, s.d_, s.rows_.k);
          centres[i] = a.take<double>(s.d_ + s.rows_.k);
        }
      }
      sliding<dd_lanes> sums;
      lane_systems<dd_lanes, 2, index> systems;
      moments<dd> m;
      std::vector<sliding<dd_lanes>::part> kept;
      double* centres[lanes::size];
    };
    explicit precise_state(const few_features& s)
        : memory(bytes_of([&](arena& a) { parts(a, s); })), p(memory, s) {}

    void add(few_features& s, index i) {
      const auto& total = p.sums.sum(s.rows_, s.ranges_.lo[i], s.ranges_.hi[i]);
      p.systems.write(count, total, p.sums.centre(), s.ranges_.unit_of(i));
      p.kept[count].set_sum(total, nullptr);
      std::copy_n(p.sums.centre(), s.d_ + s.rows_.k, p.centres[count]);
      at[count++] = i;
      if (count == lanes::size) flush(s);
    }
    void flush(few_features& s) {
      if (count == 0) return;
      p.systems.solve();
      for (int lane = 0; lane < count; ++lane) {
        if (s.copy(p.systems, at[lane], lane)) continue;
        moments<dd>& m = p.m;
        m.centred = s.f_.centred(), m.count = p.kept[lane].count;
        std::copy_n(p.centres[lane], s.d_ + s.rows_.k, m.centre);
        std::copy_n(p.kept[lane].bounds, 2 * (s.d_ + s.rows_.k), m.bounds);
        const bool near = set_moments(p.kept[lane].gram, m);
        s.single_.fit_precisely(at[lane], m, near);
      }
      count = 0;
    }
    arena memory;
    parts p;
    index at[lanes::size];
    int count = 0;
  };

  bool singular_if_few() const {
    const auto* rule = std::get_if<fixed>(&f_.rule);
    return rule && rule->alpha == 0.0;
  }
  /// The ranges from i on that can share the sums of a core.
  lane_ranges neighbours(index i) const {
    lane_ranges batch;
    for (; i < ranges_.count && !ranges_.empty(i) && batch.takes(ranges_.lo[i], ranges_.hi[i]); ++i)
      batch.add(ranges_.lo[i], ranges_.hi[i], ranges_.unit_of(i));
    return batch;
  }
  void solve_apart(index i) {
    const auto& total = s_.sums.sum(rows_, ranges_.lo[i], ranges_.hi[i]);
    s_.systems.write(waiting_, total, s_.sums.centre(), ranges_.unit_of(i));
    at_[waiting_++] = i;
    if (waiting_ == lanes::size) flush();
  }
  void flush() {
    if (waiting_ == 0) return;
    s_.systems.solve();
    for (int lane = 0; lane < waiting_; ++lane) take(at_[lane], lane);
    waiting_ = 0;
  }
  void take(index i, int lane) {
    if (copy(s_.systems, i, lane)) return;
    if (!precise_) precise_ = std::make_unique<precise_state>(*this);
    precise_->add(*this, i);
  }
  /// Write the fit of a lane; false where it lost digits.
  template <class Systems>
  bool copy(const Systems& from, index i, int lane) const {
    const index k = rows_.k;
    bool sound = true, penalised = false;
    for (index r = 0; r < k; ++r) sound &= from.sound(lane, r);
    if (!sound) return false;
    const auto* rule = std::get_if<fixed>(&f_.rule);
    for (index r = 0; r < k; ++r) {
      const double penalty = rule ? rule->alpha : from.penalty(lane, r);
      penalised |= penalty > 0.0;
      out_.level[i * k + r] = from.level(lane, r), out_.penalty[i * k + r] = penalty;
      if (out_.coef)
        for (index j = 0; j < d_; ++j) out_.coef[(i * k + r) * d_ + j] = from.coef(lane, r, j);
      if (out_.prediction) out_.prediction[i * k + r] = from.predict(lane, r, out_.rows + out_.at[i] * d_);
    }
    out_.rank[i] = penalised ? -1 : from.rank(lane);
    return true;
  }

  weighted_rows rows_;
  range_list ranges_;
  model f_;
  range_fits out_;
  [[no_unique_address]] Size d_;
  index window_;
  arena memory_;
  state s_;
  single_ranges single_;
  std::unique_ptr<precise_state> precise_;
  index at_[lanes::size];
  int waiting_ = 0;
};

namespace detail {
/// Sizes up to 6 are known at compile time: a whole matrix is then one tile.
template <int... D>
bool solve_smallest(const weighted_rows& rows, const range_list& ranges, const model& f,
                    const range_fits& out, std::integer_sequence<int, D...>) {
  const auto run = [&]<int N>(std::integral_constant<int, N>) {
    using size = std::integral_constant<index, N + 1>;
    return rows.d == N + 1 && (few_features<N + 1, size>(rows, ranges, f, out, size{}).run(), true);
  };
  return (run(std::integral_constant<int, D>{}) || ...);
}
}  // namespace detail

/// One fixed penalty for many features: neighbouring ranges share a factored core. Ranges that need more
/// digits are solved one by one.
inline void solve_fixed(const weighted_rows& rows, const range_list& ranges, const model& f,
                        const range_fits& out) {
  constexpr index at_once = 192;
  const index d = rows.d, k = rows.k;
  const double alpha = std::get<fixed>(f.rule).alpha;
  const auto make = [&](arena& a) { return many_features(a, d, k, ranges.longest(), alpha, f.intercept); };
  arena memory(bytes_of(make) +
               bytes_of([&](arena& a) { a.take<double>(at_once * k * d), a.take<bool>(at_once); }));
  many_features many = make(memory);
  double* own = memory.take<double>(at_once * k * d);
  bool* sound = memory.take<bool>(at_once);
  std::optional<single_ranges> single;
  for (index first = 0; first < ranges.count; first += at_once) {
    const index count = std::min(at_once, ranges.count - first);
    double* coef = out.coef ? out.coef + first * k * d : own;
    many.run(rows, ranges.lo + first, ranges.hi + first, count,
             {coef, out.level + first * k, sound, out.rank + first});
    for (index i = 0; i < count; ++i) {
      if (!sound[i]) {
        if (!single) single.emplace(rows, ranges, f, out);
        single->fit_range(first + i);
        continue;
      }
      for (index r = i * k; r < (i + 1) * k; ++r) {
        out.penalty[first * k + r] = alpha;
        if (out.prediction)
          out.prediction[first * k + r] =
              out.level[first * k + r] + dot(coef + r * d, out.rows + out.at[first + i] * d, d);
      }
    }
  }
}

inline void solve_ranges(const weighted_rows& rows, const range_list& ranges, const model& f,
                         const range_fits& out) {
  if (ranges.count == 0) return;
  const bool many = rows.d > most_few;
  if (many && std::holds_alternative<fixed>(f.rule) && f.power == 0.0 && !f.ratio && !ranges.unit)
    solve_fixed(rows, ranges, f, out);
  else if (many || std::holds_alternative<selected>(f.rule))
    single_ranges(rows, ranges, f, out).run();
  else if (!detail::solve_smallest(rows, ranges, f, out, std::make_integer_sequence<int, 6>{}))
    few_features<tile_size, index>(rows, ranges, f, out, rows.d).run();
}

}  // namespace efface
