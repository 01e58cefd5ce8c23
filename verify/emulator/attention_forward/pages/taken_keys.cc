#include "verify/emulator/attention_forward/pages/taken_keys.h"

#include <algorithm>
#include <array>

#include "reference/contract/lanes.h"
#include "verify/emulator/taken.h"

namespace lockstep::verify {
namespace {

// Where a key lies in the pool.
struct Place {
  int64_t page = 0;
  int64_t slot = 0;
};

class PageWalk {
 public:
  PageWalk(const AttentionForwardProblem& problem,
           const AttentionForwardInputs& inputs, const KeyPages& pages,
           const FaultDial& dial)
      : p_(problem), in_(inputs), pages_(pages), dial_(dial) {}

  // Keys of a row that the kernel takes for there.
  int64_t Keys(int64_t b) const {
    const int64_t keys = in_.ValidKv(p_, b);
    const int64_t size = pages_.size;
    if (dial_.Is(Fault::kPageSlotsRead)) {
      return std::min((keys + size - 1) / size * size, p_.kv_len);
    }
    if (dial_.Is(Fault::kPageEntriesFollowed)) return p_.kv_len;
    if (dial_.Is(Fault::kPageLengthRowZero)) return in_.ValidKv(p_, 0);
    if (dial_.Is(Fault::kPageCountFloored)) return keys / size * size;
    if (dial_.Is(Fault::kPageFullLastKey) && keys % size == 0) {
      return std::max<int64_t>(keys - 1, 0);
    }
    return keys;
  }

  Place PlaceOf(int64_t b, int64_t j) const {
    if (SharedWritten(b, j)) {
      // Where the newest key lies that was written there.
      const int64_t last = p_.batch - 1;
      const int64_t newest = in_.ValidKv(p_, last) - 1;
      return {Entry(last, newest / pages_.size), newest % pages_.size};
    }
    const bool doubled = dial_.Is(Fault::kPageSizeDoubled);
    const int64_t size = doubled ? 2 * pages_.size : pages_.size;
    const int64_t n = j / size;
    const int64_t slot = j % size;
    const bool middle = n == Middle(b);
    if (dial_.Is(Fault::kPageOfNextRow) && middle) {
      return {Entry((b + 1) % p_.batch, n), slot};
    }
    if (dial_.Is(Fault::kPageEntryNext) && middle && n < LastOf(b)) {
      return {Entry(b, n + 1), slot};
    }
    if (dial_.Is(Fault::kPageTableRowZero)) return {Entry(0, n), slot};
    if (dial_.Is(Fault::kPageTableTransposed)) {
      const int64_t flat = n * p_.batch + b;
      return {Entry(flat / Width(), flat % Width()), slot};
    }
    const int64_t page = Entry(b, n);
    const bool edge = middle && slot == size - 1;
    if (dial_.Is(Fault::kPageKeyOfNeighbour) && edge) {
      return {(page + 1) % pages_.pages(), slot};
    }
    return {page, slot};
  }

  // Elements before channel 0 of a slot of `pool`, or kNowhere.
  int64_t Offset(const LaneView& pool, const Place& at, int64_t head) const {
    std::array<int64_t, 4> strides = pool.strides;
    if (dial_.Is(Fault::kPageValueStride)) strides[0] = pages_.k.strides[0];
    if (dial_.Is(Fault::kPageOrderSwapped)) {
      const bool nhd = strides[1] < strides[2];
      strides[1] = nhd ? pages_.size * pool.shape[3] : pool.shape[3];
      strides[2] = nhd ? pool.shape[3] : pool.shape[1] * pool.shape[3];
    }
    int64_t page = at.page * strides[0];
    if (dial_.Is(Fault::kPageOffsetNarrow)) {
      const double bits = dial_.SeverityOf(Fault::kPageOffsetNarrow);
      page %= int64_t{1} << static_cast<int>(bits);
    }
    if (dial_.Is(Fault::kPageBytesNarrow)) {
      const auto width = static_cast<int64_t>(LaneBytes(pool.lane));
      const int64_t bytes = static_cast<int32_t>(page * width);
      // Zeros stand for what lies between far pages.
      if (bytes != page * width) return kNowhere;
    }
    const int64_t offset = page + head * strides[1] + at.slot * strides[2];
    // Behind the pool's end its beginning stands for whatever lies there.
    return offset % (LastElement(pool) + 2 - pool.shape[3]);
  }

 private:
  int64_t Width() const { return pages_.table.shape[1]; }
  int64_t LastOf(int64_t b) const {
    return (in_.ValidKv(p_, b) + pages_.size - 1) / pages_.size - 1;
  }
  int64_t Middle(int64_t b) const { return LastOf(b) / 2; }

  // An entry as an index of Python: -1 is the last page.
  int64_t Entry(int64_t b, int64_t n) const {
    const int64_t pages = pages_.pages();
    const int64_t page = pages_.table(b, std::min(n, Width() - 1)) % pages;
    return page < 0 ? page + pages : page;
  }

  bool SharedWritten(int64_t b, int64_t j) const {
    return dial_.Is(Fault::kPageSharedWritten) && j == 0 && p_.batch > 1 &&
           pages_.table(b, 0) == pages_.table(p_.batch - 1, 0) &&
           in_.ValidKv(p_, p_.batch - 1) > 0;
  }

  static int64_t LastElement(const LaneView& pool) {
    int64_t last = 0;
    for (size_t axis = 0; axis < pool.shape.size(); ++axis) {
      last += (pool.shape[axis] - 1) * pool.strides[axis];
    }
    return last;
  }

  const AttentionForwardProblem& p_;
  const AttentionForwardInputs& in_;
  const KeyPages& pages_;
  const FaultDial& dial_;
};

LaneView Take(const AttentionForwardProblem& p, const PageWalk& walk,
              const LaneView& pool, std::vector<uint8_t>* memory) {
  return TakeDense(
      pool, {p.batch, p.kv_heads, p.kv_len, pool.shape[3]},
      [&](int64_t b) { return walk.Keys(b); },
      [&](int64_t b, int64_t h, int64_t j) {
        return walk.Offset(pool, walk.PlaceOf(b, j), h);
      },
      memory);
}

}  // namespace

bool BreaksPages(const FaultDial& dial) {
  const auto of_pages = [](Fault f) {
    return f >= Fault::kPageOfNextRow && f <= Fault::kPageSharedWritten;
  };
  return of_pages(dial.fault) || of_pages(dial.second);
}

TakenKeys TakeKeys(const AttentionForwardProblem& problem,
                   const AttentionForwardInputs& inputs, const KeyPages& pages,
                   const FaultDial& dial) {
  const PageWalk walk(problem, inputs, pages, dial);
  TakenKeys taken;
  taken.inputs = inputs;
  taken.inputs.k = Take(problem, walk, pages.k, &taken.k);
  taken.inputs.v = Take(problem, walk, pages.v, &taken.v);
  taken.inputs.valid_kv.clear();
  for (int64_t b = 0; b < problem.batch; ++b) {
    taken.inputs.valid_kv.push_back(walk.Keys(b));
  }
  return taken;
}

}  // namespace lockstep::verify
