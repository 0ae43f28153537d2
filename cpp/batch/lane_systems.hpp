// The normal equations of up to eight ranges of rows, one lane each, in double or double-double
// precision: for fixed penalties and those of Lemma 3, any power of scaling, k responses.
//
// Sums come range by range, or for neighbouring ranges at once. Those share most of their rows: the
// core, whose sums are written to every lane. To these each lane adds rows of its own: the oldest,
// which leave within the batch, and the newest, which come within it.
#pragma once
#include "fit/fit.hpp"
#include "sums/sliding.hpp"

namespace efface {

/// Ranges [lo, hi) of rows that do not move back, and the weight that counts as one row in each.
struct lane_ranges {
  index lo[lanes::size], hi[lanes::size];
  double unit[lanes::size];
  int count = 0;

  static constexpr index most_own = 16;
  /// Can another range share the sums of the core, at a small number of own rows?
  bool takes(index a, index b) const {
    if (count == 0) return true;
    const index last = count - 1;
    return count < lanes::size && a >= lo[last] && b >= hi[last] && a < hi[0] &&
           (a - lo[0]) + (b - hi[0]) <= most_own;
  }
  void add(index a, index b, double weight) { lo[count] = a, hi[count] = b, unit[count++] = weight; }
};

template <class V, int Tile, class Size>
class lane_systems {
 public:
  static constexpr bool precise = !std::is_same_v<V, lanes>;
  using sums = sliding<V>;

  lane_systems(arena& a, Size d, index k, const model& f)
      : d_(d),
        m_(pad(d)),
        k_(k),
        f_(f),
        matrix_{a.take<V>(m_ * (m_ + 1)), m_ + 1},
        kept_{a.take<V>(several() ? m_ * (m_ + 1) : 0), m_ + 1},
        target_{a.take<V>(k * m_), m_},
        linear_(a.take<V>(m_)),
        mean_(a.take<V>(m_)),
        square_(a.take<V>(m_)),
        scale_(a.take<V>(m_)),
        response_(a.take<V>(k)),
        response_square_(a.take<V>(k)),
        flat_(a.take<lanes>(m_)),
        flat_response_(a.take<lanes>(k)),
        bounds_(a.take<lanes>(2 * m_)),
        centre_(a.take<lanes>(m_ + k)),
        lam_(a.take<lanes>(k)),
        own_{a.take<lanes>(precise ? 0 : (m_ + k + 1) * lane_ranges::most_own), lane_ranges::most_own},
        shadow_{a.take<lanes>(precise ? m_ * (m_ + 1) : 0), m_ + 1},
        scratch_(a.take<lanes>(2 * m_)),
        answers_(a.take<double>(lanes::size * (k * (m_ + 2)))),
        sound_(a.take<lanes::mask>(k)),
        weight_(a.take<V>(1)),
        unit_(a.take<lanes>(1)) {}

  /// Write one range to a lane: it lies in `part`, around `centre`.
  void write(int lane, const typename sums::part& part, const double* centre, double unit) {
    const auto& total = part.gram;
    for (index i = 0; i < d_; ++i) {
      for (index j = 0; j <= i; ++j) put(matrix_[i][j], lane, total(i, j));
      for (index r = 0; r < k_; ++r) put(target_[r][i], lane, total(d_ + 1 + r, i));
      put(linear_[i], lane, total(d_, i));
      put(bounds_[i], lane, part.bounds[i] - centre[i]),
          put(bounds_[m_ + i], lane, part.bounds[d_ + i] - centre[i]);
      put(flat_[i], lane, constant(part, i) ? 1.0 : 0.0), put(centre_[i], lane, centre[i]);
    }
    for (index i = d_; i < m_; ++i) {  // NaN of another range may lie here
      for (index j = 0; j <= i; ++j) put(matrix_[i][j], lane, i == j ? one() : zero());
      for (index r = 0; r < k_; ++r) put(target_[r][i], lane, zero());
    }
    for (index r = 0; r < k_; ++r) {
      put(response_[r], lane, total(d_ + 1 + r, d_)), put(centre_[m_ + r], lane, centre[d_ + r]);
      put(response_square_[r], lane, total(d_ + 1 + r, d_ + 1 + r));
      const double* bounds = part.bounds + 2 * d_ + r;
      put(flat_response_[r], lane, bounds[0] == bounds[k_] ? 1.0 : 0.0);
    }
    put(*weight_, lane, total(d_, d_)), put(*unit_, lane, unit);
  }

  /// Solve the ranges that were written.
  void solve() {
    set_means();
    each_tile([&](auto& t, index i, index j) { t.load({matrix_[i] + j, matrix_.step}); });
    finish();
  }

  /// Solve neighbouring ranges, whose core is summed in `part`.
  void solve(const lane_ranges& ranges, const typename sums::part& part, const double* centre,
             const weighted_rows& rows)
    requires(!precise)
  {
    write_core(ranges, part, centre);
    const index places = write_own_rows(ranges, rows, centre);
    add_own_sums(places);
    set_flat(ranges, part, rows);
    if (adaptive()) widen(ranges, rows, centre);
    set_means();
    const auto& total = part.gram;
    const auto form = [&](auto count) {
      each_tile([&](auto& t, index i, index j) {
        constexpr bool corner = std::is_same_v<std::decay_t<decltype(t)>, tile<V, Tile, Tile, true>>;
        if (i + Tile <= d_)
          t.each([&](int r, int c, V& a) { a = total(i + r, j + c); });
        else
          t.each([&](int r, int c, V& a) {
            a = i + r < d_ ? total(i + r, j + c) : corner && r == c ? 1.0 : 0.0;
          });
        t.template add_products<1>({own_[i], own_.step}, {own_[j], own_.step}, count);
      });
    };
    constexpr index usual = lanes::size - 1;
    if (places == usual)
      form(std::integral_constant<index, usual>{});
    else
      form(places);
    finish();
  }

  bool sound(int lane, index r) const { return sound_[r][lane]; }
  double coef(int lane, index r, index j) const { return answers_[(r * (m_ + 2) + j) * lanes::size + lane]; }
  double level(int lane, index r) const { return answers_[(r * (m_ + 2) + m_) * lanes::size + lane]; }
  double penalty(int lane, index r) const { return lam_[r][lane]; }
  index rank(int lane) const {
    index constants = 0;
    for (index j = 0; j < d_; ++j) constants += flat_[j][lane] != 0.0;
    return d_ - constants;
  }
  /// The prediction of a row, measured from the centre or from 0, where terms are smaller: so large
  /// values keep their digits.
  double predict(int lane, index r, const double* x) const {
    double near = answers_[(r * (m_ + 2) + m_ + 1) * lanes::size + lane], plain = level(lane, r);
    double size_near = std::abs(near), size_plain = std::abs(plain);
    for (index j = 0; j < d_; ++j) {
      const double theta = coef(lane, r, j), away = x[j] - centre_[j][lane];
      near = muladd(theta, away, near), plain = muladd(theta, x[j], plain);
      size_near += std::abs(theta * away), size_plain += std::abs(theta * x[j]);
    }
    return size_near <= size_plain ? near : plain;
  }

 private:
  static constexpr auto pad(Size d) {
    if constexpr (std::is_same_v<Size, index>)
      return padded<Tile>(d);
    else
      return d;
  }
  static auto one() {
    if constexpr (precise)
      return dd(1.0);
    else
      return 1.0;
  }
  static auto zero() {
    if constexpr (precise)
      return dd(0.0);
    else
      return 0.0;
  }
  static void put(lanes& to, int lane, double a) { reinterpret_cast<double*>(&to)[lane] = a; }
  static void put(dd_lanes& to, int lane, dd a) { put(to.high, lane, a.high), put(to.low, lane, a.low); }

  bool adaptive() const { return std::holds_alternative<lemma3>(f_.rule); }
  bool several() const { return adaptive() && k_ > 1; }
  bool constant(const typename sums::part& part, index j) const {
    const double low = part.bounds[j], high = part.bounds[d_ + j];
    return low == high && (f_.centred() || low == 0.0);
  }

  // -- neighbouring ranges: the core and the rows of each lane -------------------------------------

  void write_core(const lane_ranges& ranges, const typename sums::part& part, const double* centre) {
    const auto& total = part.gram;
    const double inf = std::numeric_limits<double>::infinity();
    for (index i = 0; i < d_; ++i) {
      linear_[i] = total(d_, i), centre_[i] = centre[i];
      for (index r = 0; r < k_; ++r) target_[r][i] = total(d_ + 1 + r, i);
      if (!adaptive()) continue;
      bounds_[i] = part.count > 0 ? part.bounds[i] - centre[i] : inf;
      bounds_[m_ + i] = part.count > 0 ? part.bounds[d_ + i] - centre[i] : -inf;
    }
    for (index r = 0; r < k_; ++r) {
      std::fill(target_[r] + d_, target_[r] + m_, lanes(0.0));  // NaN of another range may lie here
      response_[r] = total(d_ + 1 + r, d_), centre_[m_ + r] = centre[d_ + r];
      response_square_[r] = total(d_ + 1 + r, d_ + 1 + r), flat_response_[r] = 0.0;
    }
    *weight_ = total(d_, d_);
    for (int i = 0; i < lanes::size; ++i) put(*unit_, i, ranges.unit[std::min(i, ranges.count - 1)]);
  }

  /// An old row is in the lanes before `until`, a new one in those from `from` on: both can have one
  /// place if no lane has both. Returns the number of places.
  index write_own_rows(const lane_ranges& ranges, const weighted_rows& rows, const double* centre) {
    const int count = ranges.count;
    index old = ranges.lo[0], added = ranges.hi[0], places = 0;
    const index last_old = ranges.lo[count - 1], last_added = ranges.hi[count - 1];
    for (int until = 0, from = 0; old < last_old || added < last_added; ++places) {
      while (until < count && ranges.lo[until] <= old) ++until;
      while (from < count && ranges.hi[from] <= added) ++from;
      const bool adds = added < last_added, leaves = old < last_old && !(adds && until > from);
      write_place(places, rows, centre, leaves ? old : -1, until, adds ? added : -1, from);
      old += leaves, added += adds;
    }
    return places;
  }
  void write_place(index place, const weighted_rows& rows, const double* centre, index old, int until,
                   index added, int from) {
    static constexpr double numbers[] = {0, 1, 2, 3, 4, 5, 6, 7};
    const lanes lane = lanes::load(numbers);
    const auto later = lane > lanes(added < 0 ? 8.0 : from - 0.5), earlier = lanes(until - 0.5) > lane;
    const double add = added < 0 ? 0.0 : root(rows, added), leave = old < 0 ? 0.0 : root(rows, old);
    const double *x = rows.x + std::max<index>(added, 0) * d_, *z = rows.x + std::max<index>(old, 0) * d_;
    const auto set = [&](index row, double a, double b) {
      own_[row][place] = select(later, lanes(add * a), select(earlier, lanes(leave * b), lanes(0.0)));
    };
    for (index j = 0; j < d_; ++j) set(j, x[j] - centre[j], z[j] - centre[j]);
    for (index r = 0; r < k_; ++r) {
      const double c = centre[d_ + r];
      set(m_ + r, rows.y[std::max<index>(added, 0) * k_ + r] - c,
          rows.y[std::max<index>(old, 0) * k_ + r] - c);
    }
    set(m_ + k_, 1.0, 1.0);
  }
  static double root(const weighted_rows& rows, index i) { return rows.w ? std::sqrt(rows.w[i]) : 1.0; }

  /// All sums of the lanes' own rows but the products of two features.
  void add_own_sums(index places) {
    const lanes* constant = own_[m_ + k_];
    for (index p = 0; p < places; ++p) *weight_ = muladd(constant[p], constant[p], *weight_);
    for (index i = 0; i < d_; ++i)
      for (index p = 0; p < places; ++p) linear_[i] = muladd(own_[i][p], constant[p], linear_[i]);
    for (index r = 0; r < k_; ++r) {
      const lanes* y = own_[m_ + r];
      for (index p = 0; p < places; ++p) {
        response_[r] = muladd(y[p], constant[p], response_[r]);
        response_square_[r] = muladd(y[p], y[p], response_square_[r]);
      }
      for (index i = 0; i < d_; ++i)
        for (index p = 0; p < places; ++p) target_[r][i] = muladd(own_[i][p], y[p], target_[r][i]);
    }
  }

  template <class Visit>
  static void each_own_row(const lane_ranges& ranges, const weighted_rows& rows, Visit visit) {
    const int last = ranges.count - 1;
    for (index i = ranges.lo[0]; i < ranges.lo[last]; ++i)
      if (rows.weight(i) > 0.0) visit(i);
    for (index i = ranges.hi[0]; i < ranges.hi[last]; ++i)
      if (rows.weight(i) > 0.0) visit(i);
  }
  /// Features that are constant in all rows of the batch are set aside.
  void set_flat(const lane_ranges& ranges, const typename sums::part& part, const weighted_rows& rows) {
    for (index j = 0; j < d_; ++j) {
      bool flat = part.count > 0 && constant(part, j);
      if (flat) each_own_row(ranges, rows, [&](index i) { flat &= rows.x[i * d_ + j] == part.bounds[j]; });
      flat_[j] = flat ? 1.0 : 0.0;
    }
  }
  /// The bounds of each lane, with those of its own rows.
  void widen(const lane_ranges& ranges, const weighted_rows& rows, const double* centre) {
    each_own_row(ranges, rows, [&](index i) {
      for (int lane = 0; lane < ranges.count; ++lane) {
        if (i < ranges.lo[lane] || i >= ranges.hi[lane]) continue;
        for (index j = 0; j < d_; ++j) {
          const double x = rows.x[i * d_ + j] - centre[j];
          put(bounds_[j], lane, std::min(bounds_[j][lane], x));
          put(bounds_[m_ + j], lane, std::max(bounds_[m_ + j][lane], x));
        }
      }
    });
  }

  // -- the systems ---------------------------------------------------------------------------------

  void set_means() {
    const V share = f_.centred() ? V(1.0) / *weight_ : V(0.0);
    for (index i = 0; i < d_; ++i) mean_[i] = linear_[i] * share;
    if (!f_.centred()) return;
    for (index r = 0; r < k_; ++r)
      for (index i = 0; i < d_; ++i) target_[r][i] = mulsub(mean_[i], response_[r], target_[r][i]);
  }
  /// The Gram matrix around the means, tile by tile: `start` gives that around the centre.
  template <class Start>
  void each_tile(Start start) {
    const auto write = [&]<bool Corner>(std::bool_constant<Corner>, index i, index j) {
      tile<V, Tile, Tile, Corner> t;
      start(t, i, j);
      if constexpr (Corner) EFFACE_UNROLL
        for (int r = 0; r < Tile; ++r) square_[i + r] = t.at[r][r];
      t.template add_products<-1>({&mean_[i], 1}, {&linear_[j], 1}, 1);
      t.store({matrix_[i] + j, matrix_.step});
    };
    for (index j = 0; j < m_; j += Tile) {
      write(std::true_type{}, j, j);
      for (index i = j + Tile; i < m_; i += Tile) write(std::false_type{}, i, j);
    }
  }

  void finish() {
    set_aside_flat();
    if (several()) std::copy_n(matrix_.data, m_ * (m_ + 1), kept_.data);
    set_penalties();
    const index step = several() ? 1 : k_;
    for (index r = 0; r < k_; r += step) {
      if (r > 0) std::copy_n(kept_.data, m_ * (m_ + 1), matrix_.data);
      solve_responses(r, r + step);
    }
    for (index r = 0; r < k_; ++r) lam_[r] = lam_[r] / *unit_;
  }
  /// Where a feature is constant, its equation is that of a coefficient of 0.
  void set_aside_flat() {
    for (index j = 0; j < d_; ++j) {
      const auto flat = flat_[j] > lanes(0.5);
      bool any = false;
      for (int i = 0; i < lanes::size; ++i) any |= flat[i];
      if (!any) continue;
      for (index i = 0; i < d_; ++i) {
        V& entry = i > j ? matrix_[i][j] : matrix_[j][i];
        entry = select(flat, V(i == j ? 1.0 : 0.0), entry);
      }
      square_[j] = select(flat, V(1.0), square_[j]);
      for (index r = 0; r < k_; ++r) target_[r][j] = select(flat, V(0.0), target_[r][j]);
    }
  }

  /// What the penalty of a feature is multiplied by: it is divided by sd^power.
  V ratio(index j) const {
    if (f_.power == 0.0) return V(1.0);
    const V variance = matrix_[j][j] / *weight_;
    return f_.power == 1.0 ? variance : sqrt(variance);
  }
  void set_penalties() {
    if (const auto* rule = std::get_if<fixed>(&f_.rule)) {
      std::fill_n(lam_, k_, lanes(rule->alpha) * *unit_);
      return;
    }
    lanes extent = 0.0;
    for (index j = 0; j < d_; ++j) {
      const lanes at = value(mean_[j]), high = bounds_[m_ + j] - at, low = at - bounds_[j];
      const lanes reach = select(flat_[j] > lanes(0.5), lanes(0.0), select(high > low, high, low));
      const lanes scaled = f_.power == 0.0 ? reach : reach / sqrt(value(ratio(j)));
      extent = select(scaled > extent, scaled, extent);
    }
    for (index r = 0; r < k_; ++r) set_adaptive_penalty(r, extent);
  }
  void set_adaptive_penalty(index r, lanes extent) {
    const auto& rule = std::get<lemma3>(f_.rule);
    const V offset = response_[r] * (response_[r] / *weight_);
    const lanes scatter = value(response_square_[r] - offset), square = value(response_square_[r]);
    for (int i = 0; i < lanes::size; ++i) {
      const double unit = (*unit_)[i], weight = value(*weight_)[i];
      const bool flat = flat_response_[r][i] != 0.0, near = precise || flat || scatter[i] > 0.03 * square[i];
      const double variance = flat ? 0.0 : std::max(scatter[i], 0.0) / (weight - unit);
      const double lam = unit * rule(weight / unit, d_, std::sqrt(variance), extent[i]);
      put(lam_[r], i, near ? lam : std::numeric_limits<double>::quiet_NaN());
    }
  }

  /// The responses [r, end), which have one penalty.
  void solve_responses(index r, index end) {
    constexpr double least_square = 0x1p-900;  // of a feature: its digits are whole
    auto sound = value(*weight_) > lanes(0.0);
    for (index j = 0; j < d_; ++j) {
      sound &= value(matrix_[j][j]) > lanes(least_square);
      const V added = V(lam_[r]) * ratio(j);
      matrix_[j][j] += added, scale_[j] = square_[j] + added;
    }
    for (index j = d_; j < m_; ++j) scale_[j] = V(1.0);
    const auto v = factorise<Tile>(matrix_, m_, scale_);
    sound &= v.sound;
    bool doubtful = false;
    for (int i = 0; i < lanes::size; ++i) doubtful |= sound[i] && !v.certain[i];
    if (doubtful) sound &= least_margin() > lanes(safe_in<V>);
    for (; r < end; ++r) {
      substitute<Tile>(matrix_, m_, target_[r]);
      substitute_back<Tile>(matrix_, m_, target_[r]);
      sound_[r] = sound;
      answer(r);
    }
  }
  /// In double precision: a factor of many digits gives the few that a margin needs.
  lanes least_margin() {
    if constexpr (precise) {
      for (index i = 0; i < m_; ++i) {
        for (index j = 0; j <= i; ++j) shadow_[i][j] = value(matrix_[i][j]);
        scratch_[m_ + i] = value(scale_[i]);
      }
      return margin<Tile>(shadow_, m_, scratch_ + m_, scratch_);
    } else {
      return margin<Tile>(matrix_, m_, scale_, scratch_);
    }
  }
  void answer(index r) {
    double* out = answers_ + r * (m_ + 2) * lanes::size;
    V at_centre = f_.intercept ? response_[r] / *weight_ : V(0.0);
    for (index j = 0; j < d_; ++j) {
      value(target_[r][j]).store(out + j * lanes::size);
      at_centre = mulsub(target_[r][j], mean_[j], at_centre);
    }
    if (f_.intercept) at_centre += V(centre_[m_ + r]);
    V level = at_centre;
    for (index j = 0; j < d_; ++j) level = mulsub(target_[r][j], V(centre_[j]), level);
    value(level).store(out + m_ * lanes::size);
    value(at_centre).store(out + (m_ + 1) * lanes::size);
  }

  [[no_unique_address]] Size d_;
  [[no_unique_address]] decltype(pad(Size{})) m_;
  index k_;
  model f_;
  rows_of<V> matrix_, kept_, target_;
  V *linear_, *mean_, *square_, *scale_, *response_, *response_square_;
  lanes *flat_, *flat_response_, *bounds_, *centre_, *lam_;
  rows_of<lanes> own_, shadow_;
  lanes* scratch_;
  double* answers_;
  lanes::mask* sound_;
  V* weight_;
  lanes* unit_;
};

}  // namespace efface
