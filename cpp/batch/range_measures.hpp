// Measures of many ranges of rows, each with its penalties: moments of sliding ranges, in double
// precision, and in double-double for the ranges that need it.
#pragma once
#include <memory>
#include <optional>

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

/// Moments and measures in one precision, in memory of their own. One range needs no sliding sums;
/// nor does a range far from the centre of these, which has no other precision to turn to.
template <class V>
class precision {
  using Real = typename sliding<V>::Real;

 public:
  precision(const row_ranges& ranges, bool centred)
      : memory_(bytes_of([&](arena& a) { parts p(a, ranges, centred); })), parts_(memory_, ranges, centred) {}

  /// False where the moments have lost digits.
  bool gather(const row_ranges& ranges, index i) {
    if (parts_.sums) {
      m_ = &parts_.sums->gather(ranges.rows, ranges.lo[i], ranges.hi[i]);
      if (parts_.sums->near() || std::is_same_v<Real, double>) return parts_.sums->near();
    }
    set_moments(ranges.rows, ranges.lo[i], ranges.hi[i], parts_.alone, memory_);
    m_ = &parts_.alone;
    return true;
  }
  const moments<Real>& gathered() const { return *m_; }
  measures<Real>& measured() { return parts_.measured; }

 private:
  struct parts {
    parts(arena& a, const row_ranges& r, bool centred)
        : measured(a, r.rows.d, r.rows.k), alone(a, r.rows.d, r.rows.k) {
      const index d = r.rows.d, k = r.rows.k;
      alone.centred = centred;
      if (r.count > 1) sums.emplace(a, d, k, r.longest(), centred);
      arena::scope s(a);  // what set_moments takes
      block_gram<V> total(a, d + k + 1);
      staged_rows<V> staged(a, d + k + 1);
    }
    measures<Real> measured;
    moments<Real> alone;
    std::optional<sliding<V>> sums;
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

/// What an interval around a prediction needs, and forgetting regret terms: a number per range and
/// response.
struct gauge_columns {
  double* gauges[6];  // leverage, image square, unexplained, scatter, size, total weight
  double* terms[3];   // leverages of the new and the oldest row, regret term; null: not asked for

  /// One number for all responses [first, last), at a place of all arrays.
  void fill(index first, index last, double gauge, double term) const {
    for (double* column : gauges) std::fill(column + first, column + last, gauge);
    for (double* column : terms)
      if (column) std::fill(column + first, column + last, term);
  }
  /// The gauges of a row, for the responses [r, end) of a range whose own begin at `at`.
  template <class Real>
  void set_gauges(measures<Real>& m, const double* row, index at, index r, index end) const {
    const reading found = m.look(row);
    const double infinite = std::numeric_limits<double>::infinity();
    for (; r < end; ++r) {
      gauges[0][at + r] = found.determined ? found.leverage : infinite;
      gauges[1][at + r] = found.image_square, gauges[2][at + r] = m.unexplained(r);
      gauges[3][at + r] = m.scatter(), gauges[4][at + r] = m.size(r), gauges[5][at + r] = m.total_weight();
    }
  }
  void set_terms(const forgetting& both, index first, index last) const {
    std::fill(terms[0] + first, terms[0] + last, both.leverage_new);
    std::fill(terms[1] + first, terms[1] + last, both.leverage_old);
    std::fill(terms[2] + first, terms[2] + last, both.term);
  }
};

/// Calls use(penalty, first, last) for responses with one penalty: they share a factor.
template <class Use>
void each_penalty(const double* penalty, index k, Use use) {
  for (index r = 0, end; r < k; r = end) {
    for (end = r + 1; end < k && penalty[end] == penalty[r];) ++end;
    use(penalty[r], r, end);
  }
}

/// `rows` has the new row of range i at at[i]. The rank is -1 where a penalty hides it, unless
/// `ranks` are asked for. NaN for a range without rows; rows without weight have no leverage.
inline void measure_ranges(const row_ranges& ranges, const model& f, const double* penalty,
                           const double* rows, const std::int64_t* at, bool ranks, gauge_columns out,
                           std::int64_t* rank) {
  const index d = ranges.rows.d, k = ranges.rows.k;
  const double none = std::numeric_limits<double>::quiet_NaN();
  range_measures each(ranges, f);
  for (index i = 0; i < ranges.count; ++i) {
    const bool empty = ranges.hi[i] <= ranges.lo[i];
    rank[i] = 0;
    if (!empty) each.start(i);
    if (empty || each.count() == 0) {
      out.fill(i * k, (i + 1) * k, none, empty ? none : 0.0);
      continue;
    }
    const double *newest = rows + at[i] * d, *oldest = ranges.rows.x + ranges.lo[i] * d;
    each_penalty(penalty + i * k, k, [&](double lam, index r, index end) {
      each.measure(lam, r, end, [&](auto& m) {
        rank[i] = lam == 0.0 ? m.rank() : -1;
        out.set_gauges(m, newest, i * k, r, end);
        if (out.terms[0])
          out.set_terms(m.look_both(newest, oldest, ranges.rows.weight(ranges.lo[i])), i * k + r,
                        i * k + end);
      });
    });
    if (ranks && rank[i] < 0) each.measure(0.0, 0, 0, [&](auto& m) { rank[i] = m.rank(); });
  }
}

/// The gauges of many rows, by one range; the rank as above.
inline void gauge_rows(const row_ranges& one, const model& f, const double* penalty, const double* rows,
                       index count, gauge_columns out, std::int64_t* rank) {
  const index k = one.rows.k;
  range_measures each(one, f);
  *rank = 0;
  out.fill(0, count * k, std::numeric_limits<double>::quiet_NaN(), 0.0);
  if (one.hi[0] <= one.lo[0]) return;
  each.start(0);
  if (each.count() == 0) return;
  each_penalty(penalty, k, [&](double lam, index r, index end) {
    each.measure(lam, r, end, [&](auto& m) {
      *rank = lam == 0.0 ? m.rank() : -1;
      for (index i = 0; i < count; ++i) out.set_gauges(m, rows + i * one.rows.d, i * k, r, end);
    });
  });
}

}  // namespace efface
