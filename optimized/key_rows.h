// Addresses of the rows of a head's keys or values. Rows are at a fixed
// distance, or in a ragged batch, or in the pages of a pool.
#ifndef LOCKSTEP_OPTIMIZED_KEY_ROWS_H_
#define LOCKSTEP_OPTIMIZED_KEY_ROWS_H_

#include <algorithm>
#include <cstdint>
#include <limits>

#include "reference/contract/attention_pages.h"
#include "reference/contract/tensor_view.h"

namespace lockstep::optimized {

// Rows of one head in one batch row.
template <typename T>
struct KeyRows {
  const T* first = nullptr;  // of key 0; with pages, of slot 0 of page 0
  int64_t next = 0;          // elements to the row after, inside a page
  // The number of keys; a row beyond them is `zeros` [channels].
  int64_t keys = std::numeric_limits<int64_t>::max();
  const T* zeros = nullptr;
  // Of pages. `table` null: there are none.
  const int32_t* table = nullptr;
  int64_t table_next = 0;
  uint32_t size = 1;
  int64_t page_next = 0;

  const T* operator()(int64_t key) const {
    if (key >= keys) return zeros;
    if (table == nullptr) return first + key * next;
    // 64 bits would take the processor three times as long to divide.
    const uint32_t page = static_cast<uint32_t>(key) / size;
    const int64_t slot = key - static_cast<int64_t>(page) * size;
    return first + table[page * table_next] * page_next + slot * next;
  }

  // How many rows from `key` on lie `next` apart. Requires: the key is there.
  int64_t Together(int64_t key) const {
    if (table == nullptr) return keys - key;
    return std::min<int64_t>(size - static_cast<uint32_t>(key) % size,
                             keys - key);
  }

  // The same rows without their first channels.
  KeyRows From(int64_t channel) const {
    KeyRows rest = *this;
    rest.first += channel;
    if (zeros != nullptr) rest.zeros += channel;
    return rest;
  }
};

// Walks the rows one after the other, from a key on. Inside a page each row is
// one step after the last, so the table is read once per page, not once per
// key.
template <typename T>
class RowWalk {
 public:
  // Reads no table: a walk may begin behind the last key if it makes no step.
  RowWalk(const KeyRows<T>& of, int64_t key) : of_(of), key_(key) {}

  // Requires: the tensor has the key.
  const T* Next() {
    if (together_ == 0) Turn();
    const T* const row = row_;
    --together_;
    row_ += step_;
    return row;
  }

 private:
  // Goes to the next rows that are `step_` apart.
  void Turn() {
    row_ = of_(key_);
    if (key_ >= of_.keys) {  // zeros from here on
      step_ = 0;
      together_ = std::numeric_limits<int64_t>::max();
      return;
    }
    step_ = of_.next;
    together_ = of_.Together(key_);
    key_ += together_;
  }

  KeyRows<T> of_;
  int64_t key_;
  const T* row_ = nullptr;
  int64_t step_ = 0;
  int64_t together_ = 0;  // rows left at this distance
};

}  // namespace lockstep::optimized

#endif  // LOCKSTEP_OPTIMIZED_KEY_ROWS_H_
