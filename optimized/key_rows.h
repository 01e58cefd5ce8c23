// Where the rows of a head's keys, or of its values, lie: a distance apart, or
// in the pages of a pool.
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
  // Of pages. `table` null: there are none.
  const int32_t* table = nullptr;
  int64_t table_next = 0;
  uint32_t size = 1;
  int64_t page_next = 0;
  int64_t keys = 0;          // that are there; others are zeros
  const T* zeros = nullptr;  // as many as a row has channels

  const T* operator()(int64_t key) const {
    if (table == nullptr) return first + key * next;
    if (key >= keys) return zeros;
    // 64 bits would take the processor three times as long to divide.
    const uint32_t page = static_cast<uint32_t>(key) / size;
    const int64_t slot = key - static_cast<int64_t>(page) * size;
    return first + table[page * table_next] * page_next + slot * next;
  }

  // How many rows from `key` on lie `next` apart. Requires: the key is there.
  int64_t Together(int64_t key) const {
    if (table == nullptr) return std::numeric_limits<int64_t>::max();
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

}  // namespace lockstep::optimized

#endif  // LOCKSTEP_OPTIMIZED_KEY_ROWS_H_
