// A hash table of 64-bit integers: open addressing, linear probing, no tombstones.
//
// An entry is a code and a value. It lies at the home of its code, or at the first free place behind
// it. When an entry is removed, later entries move up to close the gap, so that the table holds
// nothing of what was removed. The memory is the caller's.
#pragma once
#include <cstdint>
#include <limits>

#include "number/lanes.hpp"

namespace efface {

class hash_table {
 public:
  struct entry {
    std::int64_t code, value;
  };
  static constexpr std::int64_t empty = std::numeric_limits<std::int64_t>::min();  // no code
  static constexpr std::int64_t absent = -1;  // the value of a code that is not there

  hash_table(entry* entries, index places) : entries_(entries), places_(places) {}

  std::int64_t find(std::int64_t code) const {
    const entry& e = entries_[place_of(code)];
    return e.code == empty ? absent : e.value;
  }
  /// True if it took a free place; a code that is there gets the new value.
  bool insert(std::int64_t code, std::int64_t value) {
    entry& e = entries_[place_of(code)];
    const bool taken = e.code == empty;
    e = {code, value};
    return taken;
  }
  /// The code must be there.
  void remove(std::int64_t code) {
    index gap = place_of(code);
    for (index at = next(gap); entries_[at].code != empty; at = next(at)) {
      // An entry may move to the gap unless its home lies between the gap and itself.
      if (apart(home(entries_[at].code), at) < apart(gap, at)) continue;
      entries_[gap] = entries_[at];
      gap = at;
    }
    entries_[gap] = {empty, 0};
  }

 private:
  /// The place of a code in an empty table: multiplicative hashing.
  index home(std::int64_t code) const {
    constexpr std::int64_t bits = (std::int64_t{1} << 31) - 1;
    const std::int64_t folded = (code ^ (code >> 31)) & bits;
    return index((((folded * 0x9E3779B1) >> 16) & bits) * places_ >> 31);
  }
  index place_of(std::int64_t code) const {
    index at = home(code);
    while (entries_[at].code != code && entries_[at].code != empty) at = next(at);
    return at;
  }
  index next(index at) const { return at + 1 < places_ ? at + 1 : 0; }
  /// Steps from one place to a later one.
  index apart(index from, index to) const { return to >= from ? to - from : to - from + places_; }

  entry* entries_;
  index places_;
};

}  // namespace efface
