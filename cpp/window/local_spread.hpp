// The spread of the errors of live rows, as a function of the row: a second regression, with the
// penalty that the errors select. Half an interval is a quantile of the errors in units of their
// spread, times the spread of the new row.
//
// Everything is a function of the live rows in their order, and lies in an arena.
#pragma once
#include "fit/fit.hpp"
#include "linalg/order_statistic.hpp"

namespace efface {

/// exp(g), nearly: (1 + g / 256)^256 is monotone, and needs no library function.
template <class F>
EFFACE_INLINE F spread_of(F g) {
  F power = F(1.0) + g * F(1.0 / 256.0);
  EFFACE_UNROLL for (int k = 0; k < 8; ++k)
    power = power * power;
  return power;
}

/// Rows by column: the features of row i at x[j * step + i].
struct live_columns {
  const double *x, *y, *w, *halvings;  // no halvings: no row fades
  index step;
};

class local_spread {
  static constexpr int tile = tile_size;
  static constexpr double largest_ratio = 4.0;   // mean errors: larger ones count as this in the regression
  static constexpr double memory_share = 0.875;  // of the running mean: half of it is of the newest 5.2 rows
  static constexpr double most_drift = 1.5;      // of the slope of the scores towards the ends of the window
  static constexpr double outside = 0.005;       // share of the live rows beyond each bound of the spread
  static constexpr double least_level = 1e-12;   // variance of the level's column: below, it is rounding
  static constexpr double least_left = 0.1;      // of the degrees of freedom beside the regression's own
  enum : index { level_column, age_column, running_column, more };

 public:
  /// Rows of d features, of which at most `most` take part.
  local_spread(arena& memory, index d, index most)
      : d_(d),
        p_(d + more),
        wide_(padded<tile>(p_)),
        size_(padded<8>(most)),
        memory_(memory),
        columns_{memory.take<double>(wide_ * size_), size_},
        error_(memory.take<double>(size_)),
        weight_(memory.take<double>(size_)),
        age_(memory.take<double>(size_)),
        target_(memory.take<double>(size_)),
        g_(memory.take<double>(size_)),
        score_(memory.take<double>(size_)),
        place_(memory.take<index>(size_)),
        origin_(memory.take<double>(wide_)),
        slope_(memory.take<double>(wide_)),
        scale_(memory.take<double>(wide_)),
        gram_{memory.take<double>(wide_ * wide_), wide_},
        t_(memory, p_),
        grid_(memory, p_),
        theta_(memory.take<double>(p_)),
        numbers_(memory.take<double>(4 * grid_width)) {}
  local_spread(const local_spread&) = delete;
  local_spread& operator=(const local_spread&) = delete;
  ~local_spread() { wipe(static_cast<void*>(this), sizeof *this); }

  /// The spread of the rows [lo, hi) that a regression predicts by `coef` and `level`; the errors are
  /// multiplied by `factor`. Row i fades to 2^(halvings[i] - halvings[hi - 1]).
  void fit(const live_columns& rows, index lo, index hi, const double* coef, double level, double factor,
           double alpha) {
    set_rows(rows, lo, hi);
    set_errors(rows, coef, level, factor);
    if (!(usual_ > 0.0)) return;
    set_columns();
    set_system();
    for (index i = 0; i < n_; ++i) target_[i] = std::min(error_[i], largest_ratio) - 1.0;
    double used = regress();
    set_ratios();
    used = regress();
    set_scores(std::max(1.0 - used / alike_, least_left));
    set_drift();
    const double share = (alike_ + 1.0) * (1.0 - alpha) / alike_;
    quantile_ = order_statistic(score_, weight_, size8(), total_ * share - 1e-9, memory_);
  }

  /// Half the interval of a new row of leverage 0, by the quantile of `fit`.
  double half_width(const double* row, double prediction) {
    if (!(usual_ > 0.0)) return 0.0;
    double g = base_;
    for (index j = 0; j < p_; ++j) {
      const double value = j < d_                     ? row[j]
                           : j == d_ + level_column   ? std::sqrt(std::abs(prediction - middle_) / usual_)
                           : j == d_ + running_column ? std::sqrt(running_)
                                                      : 0.0;
      g = muladd(value - origin_[j], slope_[j], g);
    }
    return quantile_ * usual_ * growth_ * spread_of(std::min(std::max(g, low_), high_));
  }

  /// The largest error of a live row.
  double largest_error() const { return largest_; }

 private:
  static constexpr int grid_width = penalty_grid<double>::width;
  index size8() const { return padded<8>(n_); }
  double* free() { return numbers_ + 2 * grid_width; }
  double* prior() { return numbers_ + 3 * grid_width; }

  /// Rows with weight, and their weights: a row of weight w counts w times, in units of the mean.
  void set_rows(const live_columns& rows, index lo, index hi) {
    double weights = 0.0;
    n_ = 0, total_ = 0.0;
    for (index i = lo; i < hi; ++i) {
      if (!(rows.w[i] > 0.0)) continue;
      const double share = rows.halvings ? std::exp2(rows.halvings[i] - rows.halvings[hi - 1]) : 1.0;
      place_[n_] = i, weight_[n_] = rows.w[i] * share;
      total_ += share, weights += weight_[n_];
      ++n_;
    }
    const double unit = total_ / weights;
    for (index i = 0; i < n_; ++i) weight_[i] *= unit;
    alike_ = total_ * (total_ / dot(weight_, weight_, n_));
    for (index i = n_; i < size8(); ++i) weight_[i] = error_[i] = g_[i] = age_[i] = target_[i] = 0.0;
  }

  /// Features relative to the newest row, so that a constant one is 0, and the errors of the fit.
  void set_errors(const live_columns& rows, const double* coef, double level, double factor) {
    const bool together = place_[n_ - 1] - place_[0] == n_ - 1;
    for (index j = 0; j < d_; ++j) {
      const double* from = rows.x + j * rows.step;
      double* column = columns_[j];
      const double newest = origin_[j] = from[place_[n_ - 1]];
      if (together)
        for (index i = 0, first = place_[0]; i < n_; ++i) column[i] = from[first + i] - newest;
      else
        for (index i = 0; i < n_; ++i) column[i] = from[place_[i]] - newest;
      std::fill(column + n_, column + size8(), 0.0);
      level = muladd(coef[j], newest, level);
    }
    combine(coef, d_, level, g_);
    largest_ = 0.0;
    for (index i = 0; i < n_; ++i) {
      target_[i] = rows.y[place_[i]];
      error_[i] = std::abs(target_[i] - g_[i]) * factor;
      largest_ = std::max(largest_, error_[i]);
    }
    usual_ = weighted_mean(error_), middle_ = weighted_mean(target_);
  }

  /// Errors in units of their mean; the columns beside the features; all columns around their mean.
  void set_columns() {
    const double share = 1.0 / total_, per_error = 1.0 / usual_;
    double newer = 0.0;
    for (index i = n_ - 1; i >= 0; --i) {
      age_[i] = newer * share;
      newer += weight_[i];
    }
    running_ = 1.0;
    double *level = columns_[d_ + level_column], *running = columns_[d_ + running_column];
    for (index i = 0; i < n_; ++i) {
      error_[i] *= per_error;
      level[i] = std::abs(g_[i] - middle_) * per_error;
      running[i] = running_;
      running_ = muladd(memory_share, running_, (1.0 - memory_share) * error_[i]);
    }
    for (double* column : {level, running}) {
      std::fill(column + n_, column + size8(), 0.0);
      for (index i = 0; i < n_; ++i) column[i] = std::sqrt(column[i]);
    }
    std::copy_n(age_, size8(), columns_[d_ + age_column]);
    std::fill_n(origin_ + d_, wide_ - d_, 0.0);
    for (index j = 0; j < p_; ++j) {
      double* column = columns_[j];
      const double mean = weighted_mean(column);
      for (index i = 0; i < n_; ++i) column[i] -= mean;
      origin_[j] += mean;
    }
    for (index j = p_; j < wide_; ++j) std::fill_n(columns_[j], size8(), 0.0);
  }

  /// out <- base + the first columns times their coefficients
  void combine(const double* coef, index columns, double base, double* out) const {
    constexpr index step = 8 * tile;
    const auto some = [&]<int count>(std::integral_constant<int, count>, index i) {
      lanes sums[count];
      EFFACE_UNROLL for (int k = 0; k < count; ++k)
        sums[k] = base;
      for (index j = 0; j < columns; ++j) {
        const lanes factor = coef[j];
        EFFACE_UNROLL for (int k = 0; k < count; ++k)
          sums[k] = muladd(factor, lanes::load(columns_[j] + i + 8 * k), sums[k]);
      }
      EFFACE_UNROLL for (int k = 0; k < count; ++k)
        sums[k].store(out + i + 8 * k);
    };
    index i = 0;
    for (; i + step <= size8(); i += step) some(std::integral_constant<int, tile>{}, i);
    for (; i < size8(); i += 8) some(std::integral_constant<int, 1>{}, i);
  }

  /// The products of the columns, divided by their deviations, in tridiagonal form.
  void set_system() {
    for (index i = 0; i < wide_; i += tile)
      for (index j = 0; j <= i; j += tile) multiply(i, j);
    double trace = 0.0;
    for (index i = 0; i < p_; ++i) {
      const double least = i == d_ + level_column ? least_level * total_ : 0.0;
      scale_[i] = gram_[i][i] > least ? 1.0 / std::sqrt(gram_[i][i] / total_) : 0.0;
      for (index j = 0; j <= i; ++j) gram_[i][j] *= scale_[i] * scale_[j];
      trace += gram_[i][i];
    }
    t_.reduce({gram_.data, wide_});
    unit_ = trace / double(p_);
    if (unit_ > 0.0) grid_.factorise(t_, unit_);
    const evidence e{total_, std::max(total_ - 1.0, 0.0), 0.0, p_};
    if (priors_of_ != total_) set_prior(e, prior()), priors_of_ = total_;
    for (int k = 0; k < exponents; ++k) free()[k] = e.freedom - double(p_) + grid_.lam[k] * grid_.trace[k];
  }

  /// The products of some columns with some others.
  void multiply(index a, index b) {
    lanes sums[tile][tile], left[tile];
    EFFACE_UNROLL for (int r = 0; r < tile; ++r) EFFACE_UNROLL
      for (int c = 0; c < tile; ++c) sums[r][c] = 0.0;
    for (index i = 0; i < size8(); i += 8) {
      const lanes weight = lanes::load(weight_ + i);
      EFFACE_UNROLL for (int r = 0; r < tile; ++r)
        left[r] = weight * lanes::load(columns_[a + r] + i);
      EFFACE_UNROLL for (int c = 0; c < tile; ++c) {
        const lanes right = lanes::load(columns_[b + c] + i);
        EFFACE_UNROLL for (int r = 0; r < tile; ++r)
          sums[r][c] = muladd(left[r], right, sums[r][c]);
      }
    }
    EFFACE_UNROLL for (int r = 0; r < tile; ++r) EFFACE_UNROLL
      for (int c = 0; c < tile; ++c) gram_[a + r][b + c] = sum(sums[r][c]);
  }

  /// g <- the regression of the target on the columns; its degrees of freedom.
  double regress() {
    base_ = weighted_mean(target_);
    for (index i = 0; i < n_; ++i) {
      g_[i] = target_[i] - base_;
      score_[i] = weight_[i] * g_[i];
    }
    std::fill(score_ + n_, score_ + size8(), 0.0);
    std::fill(g_ + n_, g_ + size8(), 0.0);
    for (index j = 0; j < p_; ++j) theta_[j] = dot(score_, columns_[j], size8()) * scale_[j];
    const double used = solve(dot(score_, g_, size8()));
    for (index j = 0; j < p_; ++j) slope_[j] = theta_[j] * scale_[j];
    combine(slope_, p_, base_, g_);
    return used;
  }

  /// theta <- the coefficients for products theta with a target of squares `square`; 1 + tr H.
  double solve(double square) {
    if (!(unit_ > 0.0) || !(square > 0.0)) {
      std::fill_n(theta_, p_, 0.0);
      return 1.0;
    }
    double *left = numbers_, *residual = left + grid_width;
    const evidence e{total_, std::max(total_ - 1.0, 0.0), square, p_};
    t_.to_basis(theta_);
    grid_.explain(theta_, square, left);
    for (int k = 0; k < exponents; ++k) residual[k] = left[k] - grid_.lam[k] * grid_.length[k];
    choice c = weigh(e, grid_.log_det, free(), left, residual, prior());
    const double lam = unit_ * std::exp2(c.exponent);
    wipe(&c, sizeof c);
    t_.solve(lam, theta_);
    t_.from_basis(theta_);
    return 1.0 + double(p_) - lam * t_.trace_of_inverse(lam);
  }

  /// The target of the next step of Fisher scoring: gamma errors, log link, weights 1.
  void set_ratios() {
    set_score();
    const double share = 1.0 / weighted_mean(score_);
    for (index i = 0; i < n_; ++i) target_[i] = g_[i] + std::min(score_[i] * share, largest_ratio) - 1.0;
  }

  /// Errors in units of their spread, each by the regression without the row itself.
  void set_scores(double left) {
    const double cut = std::floor(outside * total_);
    std::fill(g_ + n_, g_ + size8(), std::numeric_limits<double>::infinity());
    low_ = order_statistic(g_, weight_, size8(), cut + 1.0 - 1e-9, memory_);
    high_ = order_statistic(g_, weight_, size8(), total_ - cut - 1e-9, memory_);
    const double more = 1.0 / left;
    for (index i = 0; i < n_; ++i)
      g_[i] = std::min(std::max(target_[i] - (target_[i] - g_[i]) * more, low_), high_);
    for (index i = n_; i < size8(); ++i) g_[i] = 0.0;
    set_score();
  }

  /// score <- the errors in units of the spread of g
  void set_score() {
    for (index i = 0; i < size8(); i += 8)
      (lanes::load(error_ + i) / spread_of(lanes::load(g_ + i))).store(score_ + i);
  }

  /// Where coefficients drift, errors grow towards the ends of the window: divide the scores by it.
  void set_drift() {
    const double share = 1.0 / weighted_mean(score_);
    for (index i = 0; i < n_; ++i) {
      age_[i] = (1.0 - 2.0 * age_[i]) * (1.0 - 2.0 * age_[i]);
      target_[i] = std::min(score_[i] * share, largest_ratio);
    }
    const double ends = weighted_mean(age_), ratios = weighted_mean(target_);
    for (index i = 0; i < n_; ++i) {
      g_[i] = weight_[i] * (age_[i] - ends), target_[i] -= ratios;
      error_[i] = weight_[i] * target_[i];
      age_[i] -= ends;
    }
    const index n = size8();
    const double product = dot(g_, target_, n), square = dot(g_, age_, n), scatter = dot(error_, target_, n);
    const double slope = product / square, doubt = scatter / total_ / square;
    const double drift =
        slope > 0.0 ? std::min(slope * std::max(0.0, 1.0 - doubt / (slope * slope)), most_drift) : 0.0;
    for (index i = 0; i < n_; ++i) score_[i] /= 1.0 + drift * age_[i];
    std::fill(score_ + n_, score_ + n, std::numeric_limits<double>::infinity());
    growth_ = 1.0 + drift * (1.0 - ends);
  }

  double weighted_mean(const double* values) const {
    return dot(weight_, values, size8()) / total_;  // places without a row have weight 0
  }

  index d_, p_, wide_, size_, n_ = 0;
  double total_ = 0.0, alike_ = 0.0;  // weight of all rows; so many equal ones tell as much (Kish)
  double usual_ = 0.0, middle_ = 0.0, running_ = 0.0, unit_ = 0.0, base_ = 0.0;
  double low_ = 0.0, high_ = 0.0, growth_ = 0.0, quantile_ = 0.0, largest_ = 0.0;
  double priors_of_ = 0.0;  // the weight of all rows that the priors are for
  arena& memory_;
  rows_of<double> columns_;
  double *error_, *weight_, *age_, *target_, *g_, *score_;
  index* place_;
  double *origin_, *slope_, *scale_;
  rows_of<double> gram_;
  tridiagonal<double> t_;
  penalty_grid<double> grid_;
  double *theta_, *numbers_;
};

}  // namespace efface
