// Measures of many ranges of rows, each with its penalties: moments of sliding ranges, in double
// precision, and in double-double for the ranges that need it.
#pragma once
#include <memory>

#include "fit/measures.hpp"
#include "sums/sliding.hpp"

namespace efface {

struct row_ranges {
  weighted_rows rows;
  const std::int64_t *lo, *hi;
  index count;

  index longest() const {
    index most = 1;
    for (index i = 0; i < count; ++i) most = std::max(most, index(hi[i] - lo[i]));
    return most;
  }
};

/// Moments and measures in one precision, in memory of their own.
template <class V>
class precision {
  using Real = typename sliding<V>::Real;

 public:
  precision(const row_ranges& ranges, bool centred)
      : memory_(bytes_of([&](arena& a) { parts p(a, ranges, centred); })), parts_(memory_, ranges, centred) {}

  /// False where the moments have lost digits.
  bool gather(const row_ranges& ranges, index i) {
    m_ = &parts_.sums.gather(ranges.rows, ranges.lo[i], ranges.hi[i]);
    return parts_.sums.near();
  }
  const moments<Real>& gathered() const { return *m_; }
  measures<Real>& measured() { return parts_.measured; }

 private:
  struct parts {
    parts(arena& a, const row_ranges& r, bool centred)
        : sums(a, r.rows.d, r.rows.k, r.longest(), centred), measured(a, r.rows.d, r.rows.k) {}
    sliding<V> sums;
    measures<Real> measured;
  };
  arena memory_;
  parts parts_;
  const moments<Real>* m_ = nullptr;
};

/// Each range in the precision that it needs.
class range_measures {
 public:
  range_measures(const row_ranges& ranges, const model& f)
      : ranges_(ranges), model_(f), centred_(f.intercept || f.power == 1.0), plain_(ranges, centred_) {}

  void start(index i) {
    at_ = i, near_ = plain_.gather(ranges_, i), gathered_ = false;
    count_ = plain_.gathered().count;
  }
  index count() const { return count_; }  // rows with weight

  /// Calls use(measures) once H is factorised and, if last > first, the responses are explained.
  template <class Use>
  void measure(double penalty, index first, index last, Use use) {
    const index d = ranges_.rows.d;
    const bool possible = near_ && (penalty > 0.0 || count_ - centred_ >= d);
    auto& quick = plain_.measured();
    if (possible && quick.factorise(plain_.gathered(), model_, penalty) && quick.respond(first, last))
      return use(quick);
    auto& slow = precise().measured();
    slow.factorise(precise_->gathered(), model_, penalty);
    slow.respond(first, last);
    for (index r = first; r < last; ++r)
      if (slow.vanishes(r)) slow.respond_by_rows(ranges_.rows, ranges_.lo[at_], ranges_.hi[at_], r);
    use(slow);
  }

 private:
  precision<dd_lanes>& precise() {
    if (!precise_) precise_ = std::make_unique<precision<dd_lanes>>(ranges_, centred_);
    if (!gathered_) precise_->gather(ranges_, at_), gathered_ = true;
    return *precise_;
  }

  row_ranges ranges_;
  model model_;
  bool centred_;
  precision<lanes> plain_;
  std::unique_ptr<precision<dd_lanes>> precise_;
  index at_ = 0, count_ = 0;
  bool near_ = false, gathered_ = false;
};

/// What an interval around a prediction needs; forgetting regret terms; ranks. A column per range
/// and response.
struct gauges {
  double* columns[6];  // leverage, image square, unexplained, scatter, size, total weight
  double* terms[3];    // leverages of the new and the oldest row, regret term; null: not asked for
  std::int64_t* rank;  // -1 where a penalty hides it
};

/// `rows` has the new row of range i at at[i]. With `ranks`, no penalty hides a rank.
inline void measure_ranges(const row_ranges& ranges, const model& f, const double* penalty,
                           const double* rows, const std::int64_t* at, bool ranks, gauges out) {
  const index d = ranges.rows.d, k = ranges.rows.k;
  range_measures each(ranges, f);
  const auto fill = [&](index from, index count, double value, double term) {
    for (double* column : out.columns) std::fill_n(column + from, count, value);
    for (double* column : out.terms)
      if (column) std::fill_n(column + from, count, term);
  };
  const double none = std::numeric_limits<double>::quiet_NaN();
  for (index i = 0; i < ranges.count; ++i) {
    out.rank[i] = 0;
    const bool empty = ranges.hi[i] <= ranges.lo[i];
    if (!empty) each.start(i);
    if (empty || each.count() == 0) {
      fill(i * k, k, none, empty ? none : 0.0);
      continue;
    }
    const double *newest = rows + at[i] * d, *oldest = ranges.rows.x + ranges.lo[i] * d;
    const double weight = ranges.rows.weight(ranges.lo[i]);
    for (index r = 0, end; r < k; r = end) {  // responses with one penalty share a factor
      const double lam = penalty[i * k + r];
      for (end = r + 1; end < k && penalty[i * k + end] == lam;) ++end;
      each.measure(lam, r, end, [&](auto& m) {
        out.rank[i] = lam == 0.0 ? m.rank() : -1;
        const reading one = m.look(newest);
        const double leverage = one.determined ? one.leverage : std::numeric_limits<double>::infinity();
        const double scatter = m.scatter();
        for (index q = r; q < end; ++q) {
          const double values[] = {leverage, one.image_square, m.unexplained(q), scatter, m.size(q), m.total_weight()};
          for (int c = 0; c < 6; ++c) out.columns[c][i * k + q] = values[c];
        }
        if (!out.terms[0]) return;
        const forgetting both = m.look_both(newest, oldest, weight);
        for (index q = r; q < end; ++q) {
          out.terms[0][i * k + q] = both.leverage_new, out.terms[1][i * k + q] = both.leverage_old;
          out.terms[2][i * k + q] = both.term;
        }
      });
    }
    if (ranks && out.rank[i] < 0) each.measure(0.0, 0, 0, [&](auto& m) { out.rank[i] = m.rank(); });
  }
}

}  // namespace efface
