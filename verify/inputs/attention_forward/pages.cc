#include "verify/inputs/attention_forward/pages.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include "verify/base/compare.h"
#include "verify/base/digest.h"
#include "verify/base/elements.h"
#include "verify/base/mixing.h"
#include "verify/base/status_macros.h"
#include "verify/case/attention_forward/pages.h"
#include "verify/inputs/fill.h"

namespace lockstep::verify {
namespace {

// The numbers 0 .. n - 1 in another order.
std::vector<int32_t> Shuffled(int64_t n, uint64_t seed) {
  std::vector<int32_t> list(static_cast<size_t>(n));
  std::iota(list.begin(), list.end(), 0);
  uint64_t state = seed;
  for (size_t i = list.size(); i > 1; --i) {
    std::swap(list[i - 1], list[NextMixed(&state) % i]);
  }
  return list;
}

// Entries of the table that nothing may follow.
int32_t Behind(const PageSpec& spec, int64_t pages, size_t at) {
  if (!spec.large_entries) return -1;
  const int32_t large[] = {std::numeric_limits<int32_t>::max(),
                           static_cast<int32_t>(pages), 1 << 30};
  return large[at % std::size(large)];
}

// The table of a file, as it is, or with its pages elsewhere.
std::vector<int32_t> GivenTable(const AttentionForwardData& data, int64_t pages,
                                int64_t width) {
  const PageSpec& spec = *data.pages;
  std::vector<int32_t> table = spec.given;
  if (!spec.large_entries) return table;
  const std::vector<int32_t> order = Shuffled(pages, spec.seed);
  for (size_t at = 0; at < table.size(); ++at) {
    const auto [b, n] = std::div(static_cast<int64_t>(at), width);
    const bool used = n < PagesOfRow(data.problem, data.inputs, spec.how, b);
    table[at] =
        used ? order[static_cast<size_t>(table[at])] : Behind(spec, pages, at);
  }
  return table;
}

std::vector<int32_t> MakeTable(const AttentionForwardData& data, int64_t pages,
                               int64_t width) {
  const AttentionForwardProblem& p = data.problem;
  const PageSpec& spec = *data.pages;
  if (!spec.given.empty()) return GivenTable(data, pages, width);
  const std::vector<int32_t> order = Shuffled(pages, spec.seed);
  std::vector<int32_t> table(static_cast<size_t>(p.batch * width));
  auto next = static_cast<size_t>(spec.how.shared);
  for (int64_t b = 0; b < p.batch; ++b) {
    const int64_t used = PagesOfRow(p, data.inputs, spec.how, b);
    for (int64_t n = 0; n < width; ++n) {
      const auto at = static_cast<size_t>(b * width + n);
      table[at] = n >= used             ? Behind(spec, pages, at)
                  : n < spec.how.shared ? order[static_cast<size_t>(n)]
                                        : order[next++];
    }
  }
  return table;
}

Result<LaneTensor> FillPool(const AttentionForwardData& data,
                            const LaneView& from, int64_t pages,
                            const std::optional<std::array<int64_t, 4>>& given,
                            const std::vector<int32_t>& table, int64_t width) {
  const PageSpec& spec = *data.pages;
  const int64_t size = spec.how.size;
  const std::array<int64_t, 4> shape = {pages, from.shape[1], size,
                                        from.shape[3]};
  ASSIGN_OR_RETURN(
      LaneTensor pool,
      AllocateLaneTensor(from.lane, shape, PoolStrides(spec.how, shape, given),
                         spec.shift));
  Poison(pool);
  std::vector<bool> used(static_cast<size_t>(pages * size));
  for (int64_t b = 0; b < from.shape[0]; ++b) {
    const int64_t keys = data.inputs.ValidKv(data.problem, b);
    for (int64_t j = 0; j < keys; ++j) {
      const int64_t page = table[static_cast<size_t>(b * width + j / size)];
      const auto slot = static_cast<size_t>(page * size + j % size);
      // A shared page's keys are the same ones in every row.
      if (used[slot]) continue;
      used[slot] = true;
      for (int64_t h = 0; h < shape[1]; ++h) {
        for (int64_t c = 0; c < shape[3]; ++c) {
          SetElement(pool.view, {page, h, j % size, c},
                     ElementBits(from, {b, h, j, c}));
        }
      }
    }
  }
  return pool;
}

// A pool by name: in the order of its axes in memory.
NamedTensor NamePool(const char* name, const LaneView& pool, bool nhd) {
  NamedTensor named = NameView<const void>(name, TypeOf(pool.lane), pool);
  if (nhd) {
    std::swap(named.shape[1], named.shape[2]);
    std::swap(named.strides[1], named.strides[2]);
  }
  return named;
}

// Calls visit(b, j, first): key j of row b lies in a slot that an earlier row
// has too, and `first` is the first row that has it.
template <class Visit>
void ForSharedKeys(const AttentionForwardData& data, const Visit& visit) {
  if (!data.pages || !data.pages->shared) return;
  const AttentionForwardProblem& p = data.problem;
  const PagedKeys& how = data.pages->how;
  const int64_t width = TableWidth(p, how);
  const auto place = [&](int64_t b, int64_t j) {
    const auto at = static_cast<size_t>(b * width + j / how.size);
    const bool given = !data.pages->given.empty();
    // The first pages of each row, or the numbers of a file.
    const int64_t page = given ? data.pages->given[at] : j / how.size;
    return page * how.size + j % how.size;
  };
  std::map<int64_t, int64_t> first;
  for (int64_t b = 0; b < p.batch; ++b) {
    int64_t keys = data.inputs.ValidKv(p, b);
    if (how.shared > 0) keys = how.shared * how.size;
    for (int64_t j = 0; j < keys; ++j) {
      const auto [row, is_new] = first.try_emplace(place(b, j), b);
      if (!is_new) visit(b, j, row->second);
    }
  }
}

}  // namespace

void ShareKeys(AttentionForwardData* data) {
  for (const LaneTensor* tensor : {&data->k, &data->v}) {
    const auto& [pages, heads, keys, channels] = tensor->view.shape;
    ForSharedKeys(*data, [&](int64_t b, int64_t j, int64_t first) {
      for (int64_t h = 0; h < heads; ++h) {
        for (int64_t c = 0; c < channels; ++c) {
          SetElement(tensor->view, {b, h, j, c},
                     ElementBits(tensor->const_view(), {first, h, j, c}));
        }
      }
    });
  }
}

Status CheckSharedKeys(const AttentionForwardData& data) {
  Status status;
  for (const LaneView& view : {data.inputs.k, data.inputs.v}) {
    ForSharedKeys(data, [&](int64_t b, int64_t j, int64_t first) {
      for (int64_t h = 0; status.ok() && h < view.shape[1]; ++h) {
        for (int64_t c = 0; status.ok() && c < view.shape[3]; ++c) {
          if (ElementBits(view, {b, h, j, c}) ==
              ElementBits(view, {first, h, j, c})) {
            continue;
          }
          status = Status::Error("page: rows " + std::to_string(first) +
                                 " and " + std::to_string(b) +
                                 " share the page of key " + std::to_string(j) +
                                 ", and fill gives it other elements in each");
        }
      }
    });
  }
  return status;
}

KeyPages KeyPool::view() const {
  const auto rows = static_cast<int64_t>(table.size()) / width;
  return {k.view.shape[2],
          k.const_view(),
          v.const_view(),
          {table.data(), {rows, width}, {width, 1}}};
}

std::string KeyPool::StorageDigest() const {
  return DigestText(k.buffer.Digest() + v.buffer.Digest() +
                    DigestBytes(table.data(), table.size() * sizeof(int32_t)));
}

Result<KeyPool> MakeKeyPool(const AttentionForwardData& data) {
  const PageSpec& spec = *data.pages;
  const AttentionForwardInputs& in = data.inputs;
  KeyPool pool;
  pool.width = TableWidth(data.problem, spec.how);
  const int64_t pages = PoolPages(data.problem, in, spec.how);
  pool.table = MakeTable(data, pages, pool.width);
  ASSIGN_OR_RETURN(pool.k, FillPool(data, in.k, pages, spec.k_strides,
                                    pool.table, pool.width));
  if (data.problem.v_in_k) {
    pool.v.view = pool.k.view;
    pool.v.view.shape[3] = data.problem.value_dim;
    return pool;
  }
  ASSIGN_OR_RETURN(pool.v, FillPool(data, in.v, pages, spec.v_strides,
                                    pool.table, pool.width));
  return pool;
}

void HandOverPages(const AttentionForwardData& data, const KeyPool& pool,
                   KernelInputs* inputs) {
  const AttentionForwardProblem& p = data.problem;
  const PagedKeys& how = data.pages->how;
  std::vector<int32_t> lengths;
  for (int64_t b = 0; b < p.batch; ++b) {
    lengths.push_back(static_cast<int32_t>(data.inputs.ValidKv(p, b)));
  }
  inputs->Drop("k");
  inputs->Drop("v");
  inputs->tensors.push_back(NamePool("k_pages", pool.k.const_view(), how.nhd));
  inputs->tensors.push_back(NamePool("v_pages", pool.v.const_view(), how.nhd));
  inputs->AddIntegers("page_table", {p.batch, pool.width}, pool.table);
  inputs->AddIntegers("kv_len", {p.batch}, lengths);
  inputs->scalars.push_back({"page_size", how.size});
  inputs->scalars.push_back({"page_order", how.nhd ? "nhd" : "hnd"});
}

}  // namespace lockstep::verify
