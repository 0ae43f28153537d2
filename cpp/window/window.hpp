// The live rows of a model, one event at a time: rows -> sums -> fit.
//
// Rows lie in one array, oldest first, with free places before and behind them. A row that leaves is
// overwritten, and so is all that was derived from it. A row that leaves from the middle leaves a
// gap: a place with zeros and without weight. Solutions come from one of two kinds of sums:
//   - a tree, whose bits depend on the live rows alone: after rows came in bulk or left from anywhere;
//   - sliding sums, cheaper per event: once rows have come and left at the ends for a while.
// Where double precision does not suffice, the same sums are made in double-double precision.
#pragma once
#include <optional>

#include "fit/extreme_rows.hpp"
#include "sums/sliding.hpp"
#include "sums/tree.hpp"
#include "window/outside_rows.hpp"

namespace efface {

/// Arrays of rows; views of them may outlive the window.
struct row_block {
  row_block(index places, index d, index k) : x(places * d), y(places * k), w(places), own(places) {}
  wiped<double> x, y, w, own;  // own: the weight as it was given, where weights fade
  index places() const { return index(w.size()); }
};

/// One kind of sums in one precision, made when first needed.
template <class V>
struct sliding_store {
  sliding_store(index d, index k, index rows, bool centred)
      : memory(bytes_of([&](arena& a) { sliding<V>(a, d, k, rows, centred); }) +
               bytes_of([&](arena& a) { block_gram<V>(a, d + k + 1), a.take<double>(2 * (d + k)); })),
        sums(memory, d, k, rows, centred) {}
  arena memory;
  sliding<V> sums;
};

/// The fast way of a fixed penalty with many features, made when first needed.
struct outside_store {
  outside_store(index d, index k, index rows, double alpha, bool intercept)
      : memory(bytes_of([&](arena& a) { outside_rows(a, d, k, rows, alpha, intercept); }) +
               bytes_of([&](arena& a) { sliding<lanes>::part(a, d, k); })),
        core(memory, d, k, rows, alpha, intercept) {}
  arena memory;
  outside_rows core;
};

class window {
 public:
  /// Appends the walls among `count` places from the position `first` on, as positions.
  using wall_source = std::function<void(index first, int bits, index count, wall_list& out)>;

  window(index d, index k, const model& f)
      : d_(d), k_(k), f_(f), work_(d, k), solution_(k * (d + 2)), trees_(d, k), precise_trees_(d, k) {
    reserve(least);
  }
  window(const window&) = delete;
  window& operator=(const window&) = delete;

  index features() const { return d_; }
  index responses() const { return k_; }
  index size() const { return end_ - head_; }  // places, gaps included
  index weighted() const { return weighted_; }
  double unit() const { return f_.unit; }
  const model& rule() const { return f_; }
  const std::shared_ptr<row_block>& block() const { return rows_; }
  index head() const { return head_; }

  // -- rows come and leave -----------------------------------------------------------------------

  /// Make room for this many live rows; nothing else can fail.
  void reserve(index rows) {
    if (rows <= most_) return;
    const index most = std::max({rows, most_ * 3 / 2, least}), places = most + most / 4 + 8;
    auto block = std::make_shared<row_block>(places, d_, k_);
    if (rows_) move_rows(*rows_, head_, size(), *block, 0);
    if (rows_) wipe_rows(*rows_, 0, rows_->places());
    follow(head_);
    sliding_.reset(), precise_sliding_.reset(), outside_.reset();
    rows_ = std::move(block), end_ -= head_, head_ = 0, most_ = most;
  }
  /// Learn the newest row, its weight multiplied by `fade`; then the oldest `leaving` rows leave.
  void learn(const double* x, const double* y, double weight, double fade, index leaving) {
    make_room(1);
    put(end_, x, y, weight, weight * fade);
    ++end_, f_.unit = fade, solved_ = false;
    if (leaving > 0) drop(leaving);
  }
  /// Many newest rows; nothing is solved. Arrays of weights and fades may be missing: they are 1.
  void extend(const double* x, const double* y, const double* weights, const double* fades, index n) {
    if (n == 0) return;
    make_room(n);
    for (index i = 0; i < n; ++i) {
      const double weight = weights ? weights[i] : 1.0, fade = fades ? fades[i] : 1.0;
      put(end_ + i, x + i * d_, y + i * k_, weight, weight * fade);
    }
    end_ += n, f_.unit = fades ? fades[n - 1] : 1.0;
    restart();
  }
  /// A row that belongs before others. `wall`: it is a wall of the tree, or the first row.
  void insert(index position, const double* x, const double* y, double weight, bool wall) {
    make_room(1);
    const index at = head_ + position;
    row_block& r = *rows_;
    std::copy_backward(&r.x[at * d_], r.x.data() + end_ * d_, r.x.data() + (end_ + 1) * d_);
    std::copy_backward(&r.y[at * k_], r.y.data() + end_ * k_, r.y.data() + (end_ + 1) * k_);
    std::copy_backward(&r.w[at], r.w.data() + end_, r.w.data() + end_ + 1);
    std::copy_backward(&r.own[at], r.own.data() + end_, r.own.data() + end_ + 1);
    ++end_;
    put(at, x, y, weight, weight * f_.unit);
    const auto follow_tree = [&](auto& tree) { wall || position == 0 ? tree.clear() : tree.insert(at); };
    follow_tree(trees_), follow_tree(precise_trees_);
    restart();
  }
  /// The oldest places become free.
  void drop(index count) {
    for (index i = head_; i < head_ + count; ++i) weighted_ -= rows_->w[i] > 0.0;
    wipe_rows(*rows_, head_, count);
    head_ += count;
    if (head_ == end_) return clear_sums(), void(head_ = end_ = 0);
    if (sliding_) sliding_->sums.release(head_);
    if (precise_sliding_) precise_sliding_->sums.release(head_);
    if (outside_) outside_->core.release(head_);
    trees_.release_before(head_), precise_trees_.release_before(head_);
    unsolve();
  }
  /// The newest places, which are gaps, become free.
  void drop_newest(index count) {
    end_ -= count;
    if (head_ == end_) return clear_sums(), void(head_ = end_ = 0);
    trees_.cut(end_), precise_trees_.cut(end_);
    restart();
  }
  /// Rows leave from anywhere, and leave gaps.
  void blank(const std::int64_t* positions, index count) {
    for (index i = 0; i < count; ++i) {
      const index place = head_ + positions[i];
      weighted_ -= rows_->w[place] > 0.0;
      wipe_rows(*rows_, place, 1);
      trees_.forget(place), precise_trees_.forget(place);
    }
    restart();
  }
  /// All rows leave but these, which move together.
  void keep(const std::int64_t* positions, index count) {
    row_block kept(count, d_, k_);
    for (index i = 0; i < count; ++i) move_rows(*rows_, head_ + positions[i], 1, kept, i);
    wipe_rows(*rows_, head_, size());
    move_rows(kept, 0, count, *rows_, 0);
    head_ = 0, end_ = count;
    recount();
    clear_sums();
  }
  /// Own weights are multiplied by other fades.
  void fade(const double* fades) {
    row_block& r = *rows_;
    for (index i = 0; i < size(); ++i) r.w[head_ + i] = r.own[head_ + i] * fades[i];
    f_.unit = size() > 0 ? fades[size() - 1] : 1.0;
    recount();
    clear_sums();
  }
  /// Who knows the walls; without, places are hashed. Sums with other walls are discarded.
  void use_walls(wall_source walls) {
    walls_ = std::move(walls);
    trees_.clear(), precise_trees_.clear();
    if (!slides()) unsolve();
  }

  // -- the solution ------------------------------------------------------------------------------

  const double* coef() { return refresh(), solution_.data(); }
  double level(index r) { return refresh(), solution_[k_ * d_ + r]; }
  double penalty(index r) { return refresh(), solution_[k_ * (d_ + 1) + r]; }
  int path() { return refresh(), path_; }
  bool solved() const { return solved_; }
  bool penalised() { return refresh(), detail::penalised(&solution_[k_ * (d_ + 1)], k_); }
  /// The rank of the live rows, which a penalty hides.
  index rank() {
    refresh();
    if (rank_ >= 0) return rank_;
    model plain = f_;
    plain.rule = fixed{0.0};
    wiped<double> found(solution_.size());
    solution out = solution_in(found);
    solve(plain, out);
    return rank_ = out.rank;
  }
  double predict(const double* x, index r) {
    refresh();
    return dot(&solution_[r * d_], x, d_) + solution_[k_ * d_ + r];
  }
  void adopt(const window& other) {
    solution_ = other.solution_, rank_ = other.rank_, path_ = other.path_, solved_ = other.solved_;
  }

  // -- memory ------------------------------------------------------------------------------------

  /// Names what does not follow from the live rows.
  std::vector<const char*> residues() {
    std::vector<const char*> found;  // scratch first: the other checks use it
    const row_block& r = *rows_;
    const auto zeros = [](const auto& values, index lo, index hi) {
      return std::all_of(values.begin() + lo, values.begin() + hi, [](double each) { return each == 0.0; });
    };
    for (auto [lo, hi] : {std::pair{index(0), head_}, std::pair{end_, r.places()}})
      if (!zeros(r.x, lo * d_, hi * d_) || !zeros(r.y, lo * k_, hi * k_) || !zeros(r.w, lo, hi) ||
          !zeros(r.own, lo, hi))
        found.push_back("rows");
    work_.each([&](const arena& a) {
      if (!std::all_of(a.data(), a.data() + a.size(), [](char each) { return each == 0; }))
        found.push_back("scratch");
    });
    const weighted_rows rows = view();
    if (sliding_ && !sliding_->sums.follows(rows, sliding_->memory)) found.push_back("sums");
    if (precise_sliding_ && !precise_sliding_->sums.follows(rows, precise_sliding_->memory))
      found.push_back("precise sums");
    if (outside_ && !outside_->core.follows(rows, outside_->memory)) found.push_back("core");
    if (!same_tree(trees_, work_.fast())) found.push_back("tree");
    if (!precise_trees_.empty() && !same_tree(precise_trees_, work_.precise()))
      found.push_back("precise tree");
    return found;
  }
  /// Calls `look` with the address and the size in bytes of all memory that rows can be in.
  template <class Look>
  void each_memory(Look look) const {
    const auto vector = [&](const wiped<double>& v) { look(v.data(), v.size() * sizeof(double)); };
    const auto from = [&](const arena& a) { look(a.data(), a.size()); };
    vector(rows_->x), vector(rows_->y), vector(rows_->w), vector(rows_->own), vector(solution_);
    vector(trees_.memory()), vector(precise_trees_.memory());
    if (sliding_) from(sliding_->memory);
    if (precise_sliding_) from(precise_sliding_->memory);
    if (outside_) from(outside_->memory);
    work_.each(from);
  }

 private:
  static constexpr index least = 64, widest_slides = 128, widest_plain = 32;

  weighted_rows view() const { return {rows_->x.data(), rows_->y.data(), rows_->w.data(), end_, d_, k_}; }
  solution solution_in(wiped<double>& words) const {
    return {{words.data(), d_}, words.data() + k_ * d_, words.data() + k_ * (d_ + 1)};
  }

  void put(index place, const double* x, const double* y, double own, double weight) {
    std::copy_n(x, d_, &rows_->x[place * d_]), std::copy_n(y, k_, &rows_->y[place * k_]);
    rows_->own[place] = own, rows_->w[place] = weight;
    weighted_ += weight > 0.0;
  }
  void move_rows(const row_block& from, index at, index count, row_block& to, index into) const {
    std::copy_n(from.x.data() + at * d_, count * d_, to.x.data() + into * d_);
    std::copy_n(from.y.data() + at * k_, count * k_, to.y.data() + into * k_);
    std::copy_n(from.w.data() + at, count, to.w.data() + into);
    std::copy_n(from.own.data() + at, count, to.own.data() + into);
  }
  void wipe_rows(row_block& r, index at, index count) const {
    wipe(r.x.data() + at * d_, count * d_ * sizeof(double)),
        wipe(r.y.data() + at * k_, count * k_ * sizeof(double));
    wipe(r.w.data() + at, count * sizeof(double)), wipe(r.own.data() + at, count * sizeof(double));
  }
  void make_room(index more) {
    reserve(size() + more);
    if (end_ + more <= rows_->places()) return;
    const index by = head_, left = size();
    move_rows(*rows_, by, left, *rows_, 0);
    wipe_rows(*rows_, left, by);
    head_ = 0, end_ = left;
    follow(by);
  }
  /// Sums follow rows that have moved towards the front.
  void follow(index by) {
    if (by == 0) return;
    if (sliding_) sliding_->sums.shift(by);
    if (precise_sliding_) precise_sliding_->sums.shift(by);
    if (outside_) outside_->core.shift(by);
    trees_.shift(by), precise_trees_.shift(by);
    shifted_ += by;
  }
  void recount() {
    weighted_ = 0;
    for (index i = head_; i < end_; ++i) weighted_ += rows_->w[i] > 0.0;
  }
  void unsolve() {
    solved_ = false, rank_ = -1;
    wipe(solution_.data(), solution_.size() * sizeof(double));
  }
  /// From here on solutions are made from the tree again.
  void restart() {
    if (sliding_) sliding_->sums.clear();
    if (precise_sliding_) precise_sliding_->sums.clear();
    if (outside_) outside_->core.clear();
    solves_ = 0;
    unsolve();
  }
  void clear_sums() {
    restart();
    trees_.clear(), precise_trees_.clear();
  }
  bool steady() const { return solves_ > 16 + size() / 32; }
  bool slides() const { return d_ <= widest_slides && steady(); }
  /// From a factored core and the rows outside it, for the model's own fixed penalty.
  bool solve_outside(const weighted_rows& rows, const model& f, solution& out) {
    const auto* rule = std::get_if<fixed>(&f.rule);
    if (&f != &f_ || !rule || d_ <= widest_plain || f.power != 0.0 || f.ratio || f.unit != 1.0 || !steady())
      return false;
    if (!outside_)
      outside_ = std::make_unique<outside_store>(d_, k_, rows_->places(), rule->alpha, f.intercept);
    return outside_->core.solve(rows, head_, end_, out);
  }

  void refresh() {
    if (solved_) return;
    solution out = solution_in(solution_);
    ++solves_;
    solve(f_, out);
    rank_ = out.rank, path_ = out.path, solved_ = true;
  }
  void solve(const model& f, solution& out) {
    const weighted_rows rows = view();
    if (weighted_ == 0) return set_empty(f, d_, k_, out);
    if (few(weighted_, d_, f)) return fit_rows(rows, head_, end_, f, out, work_);
    if (solve_outside(rows, f, out)) return;
    slides() ? solve_sliding(rows, f, out) : solve_tree(rows, f, out);
  }
  void solve_sliding(const weighted_rows& rows, const model& f, solution& out) {
    const auto make = [&](auto& store) {
      using store_type = typename std::remove_reference_t<decltype(store)>::element_type;
      if (!store) store = std::make_unique<store_type>(d_, k_, rows_->places(), f_.centred());
    };
    make(sliding_);
    const auto& m = sliding_->sums.gather(rows, head_, end_);
    if (extreme(m)) return extreme_fit(rows, head_, end_, f).solve(out);
    if (sliding_->sums.near() && fit(m, f, out, work_.fast())) return;
    make(precise_sliding_);
    fit(precise_sliding_->sums.gather(rows, head_, end_), f, out, work_.precise());
  }
  void solve_tree(const weighted_rows& rows, const model& f, solution& out) {
    cover(trees_);
    const moments<double> m = trees_.root(rows, work_.fast());
    if (extreme(m)) return extreme_fit(rows, head_, end_, f).solve(out);
    if (fit_root(m, f, out, work_.fast())) return;
    cover(precise_trees_);
    fit_root(precise_trees_.root(rows, work_.precise()), f, out, work_.precise());
  }
  template <class Real>
  bool fit_root(const moments<Real>& m, const model& f, solution& out, arena& scratch) {
    if (f.centred()) return fit(m, f, out, scratch);
    arena::scope s(scratch);
    moments<Real> around(scratch, d_, k_);
    set_uncentred(m, around);
    return fit(around, f, out, scratch);
  }
  template <class Real>
  void cover(tree<Real>& t) {
    const index from = t.empty() ? head_ : std::max(t.covered(), head_);
    if (!t.empty() && from == end_) return;
    wall_list found;
    find_walls(from - head_, end_ - from, found);
    for (index& place : found.places) place += head_;
    t.cover(head_, end_, found);
  }
  void find_walls(index first, index count, wall_list& out) const {
    const int bits = leaf_bits(d_);
    if (walls_) return walls_(first, bits, count, out);
    for (index i = first; i < first + count; ++i)
      if (const int height = wall_height(std::uint64_t(shifted_ + head_ + i), bits); height > 0)
        out.places.push_back(i), out.heights.push_back(height);
  }
  /// 0 for most numbers; of 2^bits consecutive ones one is a wall, of walls one in four is higher.
  static int wall_height(std::uint64_t number, int bits) {
    int height = 0;
    for (; ((number ^ mix(number >> bits)) & ((1u << bits) - 1)) == 0; bits = 2) {
      ++height, number >>= bits;
      if (number == 0) break;
    }
    return height;
  }
  template <class Real>
  bool same_tree(const tree<Real>& t, arena& scratch) const {
    if (t.empty()) return true;
    tree<Real> again(d_, k_);
    wall_list found;
    find_walls(0, t.covered() - head_, found);
    for (index& place : found.places) place += head_;
    again.cover(head_, t.covered(), found);
    again.root(view(), scratch);
    return t.same(again);
  }

  index d_, k_;
  model f_;
  workspace work_;
  std::shared_ptr<row_block> rows_;
  wiped<double> solution_;  // coefficients, intercepts, penalties
  tree<double> trees_;
  tree<dd> precise_trees_;
  std::unique_ptr<sliding_store<lanes>> sliding_;
  std::unique_ptr<sliding_store<dd_lanes>> precise_sliding_;
  std::unique_ptr<outside_store> outside_;
  wall_source walls_;
  index head_ = 0, end_ = 0, most_ = 0, weighted_ = 0, shifted_ = 0, rank_ = -1, solves_ = 0;
  int path_ = 0;
  bool solved_ = false;
};

}  // namespace efface
