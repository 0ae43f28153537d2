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
  EFFACE_UNROLL for (int k = 0; k < 8; ++k) power = power * power;
  return power;
}

class local_spread {
  static constexpr double largest_ratio = 4.0;  // mean errors: larger ones count as this in the regression
  static constexpr double memory_share = 0.875;  // of the running mean: half of it is of the newest 5.2 rows
  static constexpr double most_drift = 1.5;      // of the slope of the scores towards the ends of the window
  static constexpr double outside = 0.005;       // share of the live rows beyond each bound of the spread
  static constexpr double least_level = 1e-12;   // variance of the level's column: below, it is rounding
  static constexpr double least_left = 0.1;      // of the degrees of freedom beside the regression's own
  enum : index { level_column, age_column, running_column, more };

 public:
  /// Rows of d features, of which at most `most` take part.
  local_spread(arena& memory, index d, index most)
      : d_(d), p_(d + more), stride_(padded<8>(p_)), size_(padded<8>(most)), memory_(memory),
        rows_{memory.take<double>(size_ * stride_), stride_}, error_(memory.take<double>(size_)),
        weight_(memory.take<double>(size_)), age_(memory.take<double>(size_)),
        target_(memory.take<double>(size_)), g_(memory.take<double>(size_)), score_(memory.take<double>(size_)),
        coef_(memory.take<double>(stride_)), origin_(memory.take<double>(stride_)),
        slope_(memory.take<double>(stride_)), scale_(memory.take<double>(stride_)),
        moments_(memory, stride_, 0), t_(memory, p_),
        grid_(memory, p_),
        theta_(memory.take<double>(p_)), numbers_(memory.take<double>(4 * grid_width)) {}
  local_spread(const local_spread&) = delete;
  local_spread& operator=(const local_spread&) = delete;
  ~local_spread() { wipe(static_cast<void*>(this), sizeof *this); }

  /// The spread of the rows [lo, hi) that a regression predicts by `coef` and `level`; the errors are
  /// multiplied by `factor`. Row i fades to 2^(halvings[i] - halvings[hi - 1]), if there are any.
  void fit(const weighted_rows& rows, index lo, index hi, const double* halvings, const double* coef, double level,
           double factor, double alpha) {
    arena::scope s(memory_);
    set_errors(rows, lo, hi, halvings, coef, level, factor);
    if (!(usual_ > 0.0)) return;
    set_columns();
    set_system();
    for (index i = 0; i < n_; ++i) target_[i] = std::min(error_[i], largest_ratio) - 1.0;
    double used = regress();
    set_ratios();
    used = regress();
    set_scores(std::max(1.0 - used / total_, least_left));
    set_drift();
    quantile_ = order_statistic(score_, weight_, size8(), (total_ + 1.0) * (1.0 - alpha) - 1e-9, memory_);
  }

  /// Half the interval of a new row of leverage 0, by the quantile of `fit`.
  double half_width(const double* row, double prediction) {
    if (!(usual_ > 0.0)) return 0.0;
    double g = base_;
    for (index j = 0; j < p_; ++j) {
      const double value = j < d_                       ? row[j]
                           : j == d_ + level_column     ? std::sqrt(std::abs(prediction - middle_) / usual_)
                           : j == d_ + running_column   ? std::sqrt(running_)
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

  /// Rows with weight, their errors, and their weights: a row of weight w counts w times, in units
  /// of the mean weight.
  void set_errors(const weighted_rows& rows, index lo, index hi, const double* halvings, const double* coef,
                  double level, double factor) {
    std::copy_n(coef, d_, coef_);
    double counted = 0.0, weights = 0.0, errors = 0.0, responses = 0.0;
    n_ = 0, largest_ = 0.0;
    for (index i = lo; i < hi; ++i) {
      if (!(rows.weight(i) > 0.0)) continue;
      const double share = halvings ? std::exp2(halvings[i] - halvings[hi - 1]) : 1.0, weight = rows.weight(i) * share;
      double* row = rows_[n_];
      std::copy_n(rows.x + i * d_, d_, row);
      std::fill_n(row + d_, stride_ - d_, 0.0);
      const double fitted = level + dot(coef_, row, stride_), error = std::abs(rows.y[i] - fitted) * factor;
      row[d_ + level_column] = fitted;
      counted += share, weights += weight;
      errors = muladd(weight, error, errors), responses = muladd(weight, rows.y[i], responses);
      error_[n_] = error, weight_[n_] = weight, largest_ = std::max(largest_, error);
      ++n_;
    }
    total_ = counted, usual_ = errors / weights, middle_ = responses / weights;
    for (index i = 0; i < n_; ++i) weight_[i] *= counted / weights;
    for (index i = n_; i < size8(); ++i) weight_[i] = error_[i] = g_[i] = 0.0;
  }

  /// Errors in units of their mean; the columns beside the features; all columns around their mean.
  void set_columns() {
    double newer = 0.0;
    for (index i = n_ - 1; i >= 0; --i) {
      age_[i] = newer / total_;
      newer += weight_[i];
    }
    running_ = 1.0;
    const double* newest = rows_[n_ - 1];
    std::copy_n(newest, d_, origin_);  // first: so a constant feature is 0, exactly
    std::fill_n(origin_ + d_, stride_ - d_, 0.0);
    for (index i = 0; i < n_; ++i) {
      double* row = rows_[i];
      error_[i] /= usual_;
      row[d_ + level_column] = std::sqrt(std::abs(row[d_ + level_column] - middle_) / usual_);
      row[d_ + age_column] = age_[i];
      row[d_ + running_column] = std::sqrt(running_);
      running_ = muladd(memory_share, running_, (1.0 - memory_share) * error_[i]);
      add_row(-1.0, origin_, row, stride_);
    }
    double* mean = slope_;
    std::fill_n(mean, stride_, 0.0);
    for (index i = 0; i < n_; ++i) add_row(weight_[i] / total_, rows_[i], mean, stride_);
    for (index i = 0; i < n_; ++i) add_row(-1.0, mean, rows_[i], stride_);
    add_row(1.0, mean, origin_, stride_);
  }

  /// The products of the columns, divided by their deviations, in tridiagonal form.
  void set_system() {
    arena::scope s(memory_);
    block_gram<lanes> total(memory_, stride_ + 1);
    staged_rows<lanes> staged(memory_, stride_ + 1);
    std::fill_n(moments_.centre, stride_, 0.0);
    staged.add({rows_.data, nullptr, weight_, n_, stride_, 0}, 0, n_, moments_.centre, total);
    set_moments(total, moments_);
    const auto& gram = moments_.gram;
    double trace = 0.0;
    for (index i = 0; i < p_; ++i) {
      const double least = i == d_ + level_column ? least_level * total_ : 0.0;
      scale_[i] = gram[i][i] > least ? 1.0 / std::sqrt(gram[i][i] / total_) : 0.0;
      for (index j = 0; j <= i; ++j) gram[i][j] *= scale_[i] * scale_[j];
      trace += gram[i][i];
    }
    t_.reduce({gram.data, stride_});
    unit_ = trace / double(p_);
    if (unit_ > 0.0) grid_.factorise(t_, unit_);
  }

  /// g <- the regression of the target on the columns; its degrees of freedom.
  double regress() {
    double mean = 0.0, square = 0.0;
    for (index i = 0; i < n_; ++i) mean = muladd(weight_[i], target_[i], mean);
    base_ = mean / total_;
    std::fill_n(slope_, stride_, 0.0);
    for (index i = 0; i < n_; ++i) {
      const double away = target_[i] - base_, weighted = weight_[i] * away;
      square = muladd(weighted, away, square);
      add_row(weighted, rows_[i], slope_, stride_);
    }
    for (index j = 0; j < p_; ++j) theta_[j] = slope_[j] * scale_[j];
    const double used = solve(square);
    for (index j = 0; j < p_; ++j) slope_[j] = theta_[j] * scale_[j];
    std::fill(slope_ + p_, slope_ + stride_, 0.0);
    for (index i = 0; i < n_; ++i) g_[i] = base_ + dot(slope_, rows_[i], stride_);
    return used;
  }

  /// theta <- the coefficients for products theta with a target of squares `square`; 1 + tr H.
  double solve(double square) {
    if (!(unit_ > 0.0) || !(square > 0.0)) {
      std::fill_n(theta_, p_, 0.0);
      return 1.0;
    }
    double *left = numbers_, *residual = left + grid_width, *free = residual + grid_width,
           *prior = free + grid_width;
    const evidence e{total_, std::max(total_ - 1.0, 0.0), square, p_};
    t_.to_basis(theta_);
    grid_.explain(theta_, square, left);
    set_prior(e, prior);
    for (int k = 0; k < exponents; ++k) {
      residual[k] = left[k] - grid_.lam[k] * grid_.length[k];
      free[k] = e.freedom - double(p_) + grid_.lam[k] * grid_.trace[k];
    }
    choice c = weigh(e, grid_.log_det, free, left, residual, prior);
    const double lam = unit_ * std::exp2(c.exponent);
    wipe(&c, sizeof c);
    t_.solve(lam, theta_);
    t_.from_basis(theta_);
    return 1.0 + double(p_) - lam * t_.trace_of_inverse(lam);
  }

  /// The target of the next step of Fisher scoring: gamma errors, log link, weights 1.
  void set_ratios() {
    for (index i = 0; i < size8(); i += 8) (lanes::load(error_ + i) / spread_of(lanes::load(g_ + i))).store(score_ + i);
    const double mean = weighted_mean(score_);
    for (index i = 0; i < n_; ++i) target_[i] = g_[i] + std::min(score_[i] / mean, largest_ratio) - 1.0;
  }

  /// Errors in units of their spread, each by the regression without the row itself.
  void set_scores(double left) {
    const double cut = std::floor(outside * total_), inf = std::numeric_limits<double>::infinity();
    for (index i = n_; i < size8(); ++i) g_[i] = inf;
    low_ = order_statistic(g_, weight_, size8(), cut + 1.0 - 1e-9, memory_);
    high_ = order_statistic(g_, weight_, size8(), total_ - cut - 1e-9, memory_);
    for (index i = 0; i < n_; ++i)
      g_[i] = std::min(std::max(target_[i] - (target_[i] - g_[i]) / left, low_), high_);
    for (index i = n_; i < size8(); ++i) g_[i] = 0.0;
    for (index i = 0; i < size8(); i += 8) (lanes::load(error_ + i) / spread_of(lanes::load(g_ + i))).store(score_ + i);
    for (index i = n_; i < size8(); ++i) score_[i] = inf;
  }

  /// Where coefficients drift, errors grow towards the ends of the window: divide the scores by it.
  void set_drift() {
    const double usual = weighted_mean(score_);
    double ends = 0.0, ratios = 0.0;
    for (index i = 0; i < n_; ++i) {
      age_[i] = (1.0 - 2.0 * age_[i]) * (1.0 - 2.0 * age_[i]);
      target_[i] = std::min(score_[i] / usual, largest_ratio);
      ends = muladd(weight_[i], age_[i], ends), ratios = muladd(weight_[i], target_[i], ratios);
    }
    ends /= total_, ratios /= total_;
    double product = 0.0, square = 0.0, scatter = 0.0;
    for (index i = 0; i < n_; ++i) {
      const double end = age_[i] - ends, ratio = target_[i] - ratios, weighted = weight_[i] * end;
      product = muladd(weighted, ratio, product), square = muladd(weighted, end, square);
      scatter = muladd(weight_[i] * ratio, ratio, scatter);
    }
    const double slope = product / square, doubt = scatter / total_ / square;
    const double drift = slope > 0.0 ? std::min(slope * std::max(0.0, 1.0 - doubt / (slope * slope)), most_drift) : 0.0;
    for (index i = 0; i < n_; ++i) score_[i] /= 1.0 + drift * (age_[i] - ends);
    growth_ = 1.0 + drift * (1.0 - ends);
  }

  double weighted_mean(const double* values) const {
    double total = 0.0;
    for (index i = 0; i < n_; ++i) total = muladd(weight_[i], values[i], total);
    return total / total_;
  }

  index d_, p_, stride_, size_, n_ = 0;
  double total_ = 0.0, usual_ = 0.0, middle_ = 0.0, running_ = 0.0, unit_ = 0.0, base_ = 0.0;
  double low_ = 0.0, high_ = 0.0, growth_ = 0.0, quantile_ = 0.0, largest_ = 0.0;
  arena& memory_;
  rows_of<double> rows_;
  double *error_, *weight_, *age_, *target_, *g_, *score_, *coef_, *origin_, *slope_, *scale_;
  moments<double> moments_;
  tridiagonal<double> t_;
  penalty_grid<double> grid_;
  double *theta_, *numbers_;
};

}  // namespace efface
