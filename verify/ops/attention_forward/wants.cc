// What hosts want made of attention's masks and ids.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "optimized/tile_plan.h"
#include "reference/mask.h"
#include "verify/base/elements.h"
#include "verify/base/io/safetensors.h"
#include "verify/case/block_plan.h"
#include "verify/inputs/attention_forward/lists.h"
#include "verify/ops/attention_forward/trial.h"
#include "verify/tables/files.h"

namespace lockstep::verify {
namespace {

// Ids of tokens that do not exist; they match nothing.
constexpr int32_t kNoQuery = -1;
constexpr int32_t kNoKey = -2;

class AttentionWants {
 public:
  AttentionWants(const AttentionForwardData& data, KernelInputs* inputs)
      : p_(data.problem), in_(data.inputs), to_(inputs) {}

  std::string Add(const std::string& want) {
    if (want == "mask.dense") return DenseMask(), "";
    if (want == "mask.bias") return Bias(), "";
    if (want == "segments") return AddSegments(), "";
    if (want == "doc_ids") return DocIds();
    if (want == "cu_seqlens") return CuSeqlens();
    if (want.starts_with("tables:")) return Tables(want.substr(7));
    return "attention_forward has no such input";
  }

 private:
  // Heads of the mask: one where all see the same.
  int64_t MaskHeads() const {
    const bool one = p_.masks.size() == 1 &&
                     std::all_of(in_.dense_masks.begin(), in_.dense_masks.end(),
                                 [](const auto& m) { return m.shape[1] == 1; });
    return one ? 1 : p_.q_heads;
  }

  std::vector<uint8_t> Visible() const {
    std::vector<uint8_t> visible;
    for (int64_t b = 0; b < p_.batch; ++b) {
      for (int64_t h = 0; h < MaskHeads(); ++h) {
        for (int64_t i = 0; i < p_.q_len; ++i) {
          for (int64_t j = 0; j < p_.kv_len; ++j) {
            visible.push_back(reference::IsVisible(p_, in_, b, h, i, j) ? 1
                                                                        : 0);
          }
        }
      }
    }
    return visible;
  }

  void DenseMask() {
    to_->AddBytes("mask.dense", ElementType::kU8,
                  {p_.batch, MaskHeads(), p_.q_len, p_.kv_len}, Visible());
  }

  void Bias() {
    const ElementType type = TypeOf(p_.lane);
    const auto width = static_cast<size_t>(ElementBytes(type));
    const std::vector<uint8_t> visible = Visible();
    const uint32_t inf =  // little endian
        BitsOf(p_.lane, -std::numeric_limits<double>::infinity());
    std::vector<uint8_t> bias(visible.size() * width);
    for (size_t n = 0; n < visible.size(); ++n) {
      if (visible[n] != 0) continue;
      std::memcpy(&bias[n * width], &inf, width);
    }
    to_->AddBytes("mask.bias", type,
                  {p_.batch, MaskHeads(), p_.q_len, p_.kv_len},
                  std::move(bias));
  }

  // Ids numbered from 0 in the order in which they appear, so that none of them
  // is negative; `absent` from `valid` on.
  std::vector<int32_t> Ids(const TensorView<const int32_t, 2>& ids, int64_t b,
                           int64_t length, int64_t valid, int32_t absent) {
    std::vector<int32_t> row;
    for (int64_t i = 0; i < length; ++i) {
      const int32_t id = p_.segments ? ids(b, i) : 0;
      const auto next = static_cast<int32_t>(numbers_.size());
      row.push_back(i < valid ? numbers_.try_emplace(id, next).first->second
                              : absent);
    }
    return row;
  }
  std::vector<int32_t> QueryIds(int64_t b) {
    return Ids(in_.q_seg, b, p_.q_len, in_.ValidQ(p_, b), kNoQuery);
  }
  std::vector<int32_t> KeyIds(int64_t b) {
    return Ids(in_.kv_seg, b, p_.kv_len, in_.ValidKv(p_, b), kNoKey);
  }

  void AddSegments() {
    std::vector<int32_t> q, kv;
    for (int64_t b = 0; b < p_.batch; ++b) {
      const std::vector<int32_t> q_row = QueryIds(b), kv_row = KeyIds(b);
      q.insert(q.end(), q_row.begin(), q_row.end());
      kv.insert(kv.end(), kv_row.begin(), kv_row.end());
    }
    to_->AddIntegers("q_seg", {p_.batch, p_.q_len}, q);
    to_->AddIntegers("kv_seg", {p_.batch, p_.kv_len}, kv);
  }

  // Runs of equal ids as (id, end); none if an id comes back or a token does
  // not exist.
  static std::optional<std::vector<std::pair<int32_t, int64_t>>> RunsOf(
      const std::vector<int32_t>& ids) {
    std::vector<std::pair<int32_t, int64_t>> runs;
    std::set<int32_t> seen;
    for (size_t i = 0; i < ids.size(); ++i) {
      if (runs.empty() || runs.back().first != ids[i]) {
        if (!seen.insert(ids[i]).second) return std::nullopt;
        runs.push_back({ids[i], 0});
      }
      runs.back().second = static_cast<int64_t>(i) + 1;
    }
    return runs;
  }

  std::string DocIds() {
    if (p_.q_len != p_.kv_len) return "sq and skv differ";
    std::vector<int32_t> all;
    for (int64_t b = 0; b < p_.batch; ++b) {
      if (in_.ValidQ(p_, b) != in_.ValidKv(p_, b)) {
        return "queries and keys have other counts";
      }
      std::vector<int32_t> ids = QueryIds(b), keys = KeyIds(b);
      const auto valid = static_cast<size_t>(in_.ValidQ(p_, b));
      if (!std::equal(ids.begin(), ids.begin() + static_cast<int64_t>(valid),
                      keys.begin())) {
        return "queries and keys have other ids";
      }
      ids.resize(valid);
      const auto runs = RunsOf(ids);
      if (!runs) return "ids come back";
      int32_t number = 0;
      size_t at = 0;
      for (const auto& [id, end] : *runs) {
        for (; at < static_cast<size_t>(end); ++at) all.push_back(number);
        ++number;
      }
      all.insert(all.end(), static_cast<size_t>(p_.q_len) - valid, -1);
    }
    to_->AddIntegers("doc_ids", {p_.batch, p_.q_len}, all);
    return "";
  }

  std::string CuSeqlens() {
    std::vector<int32_t> q = {0}, kv = {0};
    int64_t longest_q = 0, longest_kv = 0;
    const auto add = [](const auto& runs, int64_t row, std::vector<int32_t>* cu,
                        int64_t* longest) {
      for (const auto& [id, end] : runs) {
        cu->push_back(static_cast<int32_t>(row + end));
        *longest =
            std::max<int64_t>(*longest, cu->back() - (*cu)[cu->size() - 2]);
      }
    };
    for (int64_t b = 0; b < p_.batch; ++b) {
      if (in_.ValidQ(p_, b) != p_.q_len || in_.ValidKv(p_, b) != p_.kv_len) {
        return "there are counts below the lengths";
      }
      const auto q_runs = RunsOf(QueryIds(b)), kv_runs = RunsOf(KeyIds(b));
      if (!q_runs || !kv_runs) return "ids come back";
      const bool alike = std::equal(
          q_runs->begin(), q_runs->end(), kv_runs->begin(), kv_runs->end(),
          [](const auto& a, const auto& c) { return a.first == c.first; });
      if (!alike) return "runs stand on one side only, or in another order";
      add(*q_runs, b * p_.q_len, &q, &longest_q);
      add(*kv_runs, b * p_.kv_len, &kv, &longest_kv);
    }
    to_->AddIntegers("cu_seqlens_q", {static_cast<int64_t>(q.size())}, q);
    to_->AddIntegers("cu_seqlens_k", {static_cast<int64_t>(kv.size())}, kv);
    to_->scalars.emplace_back("max_seqlen_q", longest_q);
    to_->scalars.emplace_back("max_seqlen_k", longest_kv);
    return "";
  }

  // "DIALECT:BQxBK".
  std::string Tables(const std::string& form) {
    const size_t colon = form.find(':');
    const size_t cross = form.find('x', colon == form.npos ? 0 : colon);
    if (colon == form.npos || cross == form.npos) {
      return "want tables:DIALECT:BQxBK, such as tables:shrunk:128x128";
    }
    const Result<Case> asked = ParseBlockPlan(
        "sq=" + std::to_string(p_.q_len) + " skv=" + std::to_string(p_.kv_len) +
        " hq=" + std::to_string(p_.q_heads) +
        " dialect=" + form.substr(0, colon) +
        " bq=" + form.substr(colon + 1, cross - colon - 1) +
        " bk=" + form.substr(cross + 1));
    if (!asked.ok()) return asked.message();
    for (int64_t b = 0; b < p_.batch; ++b) {
      const std::string why = TablesOf(b, asked->Get<BlockPlanCase>());
      if (!why.empty()) return why;
    }
    return "";
  }

  std::string TablesOf(int64_t b, const BlockPlanCase& asked) {
    const auto plan = optimized::PlanTiles(p_, in_, b, TileOptionsOf(asked));
    if (!plan.ok()) return plan.message();
    const Result<std::string> text = FormatTables(asked, plan.value(), "");
    if (!text.ok()) return text.message();
    const Result<SafetensorsFile> file = SafetensorsFile::Parse(
        "tables", {text.value().begin(), text.value().end()});
    if (!file.ok()) return file.message();
    for (const SafetensorsTensor& table : file->tensors()) {
      const std::string name = "tables." + std::to_string(b) + "." + table.name;
      if (table.type == "BOOL") {
        to_->AddBytes(name, ElementType::kU8, table.shape,
                      {table.bytes.begin(), table.bytes.end()});
      } else {
        to_->AddIntegers(name, table.shape, Widened(table));
      }
    }
    return "";
  }

  static std::vector<int32_t> Widened(const SafetensorsTensor& table) {
    const int64_t width = SafetensorsTypeBytes(table.type);
    std::vector<int32_t> wide;
    for (size_t at = 0; at < table.bytes.size();
         at += static_cast<size_t>(width)) {
      int8_t byte = 0;
      int16_t half = 0;
      int32_t word = 0;
      if (width == 1) std::memcpy(&byte, &table.bytes[at], 1);
      if (width == 2) std::memcpy(&half, &table.bytes[at], 2);
      if (width == 4) std::memcpy(&word, &table.bytes[at], 4);
      wide.push_back(byte + half + word);
    }
    return wide;
  }

  const AttentionForwardProblem& p_;
  const AttentionForwardInputs& in_;
  KernelInputs* to_;
  std::map<int32_t, int32_t> numbers_;
};

}  // namespace

std::string AddAttentionWanted(const AttentionForwardData& data,
                               const std::string& want, KernelInputs* inputs) {
  // A kernel that reads lists gets others' masks as they are.
  if (want == kListsWant) return HandOverLists(data, inputs), "";
  if (want == kEndedListsWant) return HandOverEndedLists(data, inputs), "";
  return AttentionWants(data, inputs).Add(want);
}

std::string AttentionForwardTrial::AddWanted(const std::string& want,
                                             KernelInputs* inputs) const {
  if (want == kPagesWant) {
    // A kernel that reads pages gets others' cases as they are.
    if (!data_.pages || inputs->Find("k_pages") != nullptr) return "";
    const Result<KeyPool>& made = pool();
    if (!made.ok()) return made.message();
    HandOverPages(data_, made.value(), inputs);
    return "";
  }
  if (want == kVarlenWant) {
    if (!data_.varlen || inputs->Find("cu_seqlens_q") != nullptr) return "";
    const Result<TokenTensors>& made = tokens();
    if (!made.ok()) return made.message();
    HandOverTokens(made.value(), inputs);
    return "";
  }
  // They came with the rows.
  if (want == "cu_seqlens" && data_.varlen) return "";
  // The case's own tensors are in it.
  if (want == kFp8KeysWant || want == kFp8QueriesWant) return "";
  return AddAttentionWanted(data_, want, inputs);
}

}  // namespace lockstep::verify
