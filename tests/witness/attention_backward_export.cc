// attention_backward_export DIR: random backward problems and what the
// reference makes of them, one safetensors file each, for
// tests/witness/attention_backward_witness.py. Nothing depends on the machine.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "reference/mask.h"
#include "tests/support/attention_backward_problem.h"
#include "tests/support/tensor_file.h"

namespace lockstep::test {
namespace {

constexpr uint32_t kProblems = 400;
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// [batch, q_heads, q_len, kv_len]
std::vector<uint8_t> Visible(BackwardInstance& t) {
  const AttentionForwardProblem& p = t.forward.problem;
  const AttentionForwardInputs in = t.forward.Inputs();
  std::vector<uint8_t> visible;
  for (int64_t b = 0; b < p.batch; ++b) {
    for (int64_t h = 0; h < p.q_heads; ++h) {
      for (int64_t i = 0; i < p.q_len; ++i) {
        for (int64_t j = 0; j < p.kv_len; ++j) {
          visible.push_back(reference::IsVisible(p, in, b, h, i, j));
        }
      }
    }
  }
  return visible;
}

// NaN in every row of q, do and o that sees nothing, and in every row of k and
// v that nothing sees: the gradients must not show them.
void PoisonUnseen(const std::vector<uint8_t>& visible, BackwardInstance& t) {
  const AttentionForwardProblem& p = t.forward.problem;
  const auto rows = static_cast<size_t>(p.batch * p.q_heads * p.q_len);
  const auto keys = static_cast<size_t>(p.kv_len);
  std::vector<bool> seen(static_cast<size_t>(p.batch * p.kv_heads) * keys);
  const auto fill = [](std::vector<float>& x, size_t row, int64_t channels) {
    for (int64_t c = 0; c < channels; ++c) {
      x[row * static_cast<size_t>(channels) + static_cast<size_t>(c)] = kNaN;
    }
  };
  for (size_t row = 0; row < rows; ++row) {
    const size_t kv_head = row / static_cast<size_t>(p.q_len * p.group());
    bool sees = false;
    for (size_t j = 0; j < keys; ++j) {
      if (visible[row * keys + j] == 0) continue;
      sees = seen[kv_head * keys + j] = true;
    }
    if (sees) continue;
    fill(t.forward.q, row, p.head_dim);
    fill(t.d_o, row, p.value_dim);
    fill(t.o, row, p.value_dim);
  }
  for (size_t row = 0; row < seen.size(); ++row) {
    if (seen[row]) continue;
    fill(t.forward.k, row, p.head_dim);
    fill(t.forward.v, row, p.value_dim);
  }
}

void AddInputs(BackwardInstance& t, const std::vector<uint8_t>& visible,
               TensorFile& file) {
  const AttentionForwardProblem& p = t.forward.problem;
  const Shape rows{p.batch, p.q_heads, p.q_len};
  const Shape o{p.batch, p.q_heads, p.q_len, p.value_dim};
  const Shape q{p.batch, p.q_heads, p.q_len, p.head_dim};
  const Shape k{p.batch, p.kv_heads, p.kv_len, p.head_dim};
  const Shape v{p.batch, p.kv_heads, p.kv_len, p.value_dim};
  file.Add("q", Seen(t.forward.q, p.lane), q);
  file.Add("k", Seen(t.forward.k, p.lane), k);
  file.Add("v", Seen(t.forward.v, p.lane), v);
  file.Add("o", Seen(t.o, p.lane), o);
  file.Add("do", Seen(t.d_o, p.lane), o);
  file.Add("lse", t.lse, rows);
  if (t.has_dlse) file.Add("dlse", t.dlse, rows);
  if (p.sink) file.Add("sink", t.forward.sink, {p.q_heads});
  file.Add("visible", visible, {p.batch, p.q_heads, p.q_len, p.kv_len});
}

void AddGradients(const BackwardInstance& t, const Gradients& g,
                  TensorFile& file) {
  const AttentionForwardProblem& p = t.forward.problem;
  const std::vector<uint32_t> bits = g.Bits();
  size_t at = 0;
  const auto add = [&](const char* name, const Shape& shape, size_t count) {
    std::vector<float> x;
    while (x.size() < count) {
      const uint32_t one = bits[at++];
      const auto half = static_cast<uint16_t>(one);
      x.push_back(t.grad_lane == Lane::kF32    ? std::bit_cast<float>(one)
                  : t.grad_lane == Lane::kBf16 ? ToFloat(Bf16{half})
                                               : ToFloat(F16{half}));
    }
    file.Add(name, x, shape);
  };
  add("dq", {p.batch, p.q_heads, p.q_len, p.head_dim}, g.dq.size());
  add("dk", {p.batch, p.kv_heads, p.kv_len, p.head_dim}, g.dk.size());
  add("dv", {p.batch, p.kv_heads, p.kv_len, p.value_dim}, g.dv.size());
  if (p.sink) file.Add("dsink", g.dsink, {p.q_heads});
}

bool Export(uint32_t seed, const std::string& directory) {
  std::mt19937 rng(seed);
  BackwardInstance t = RandomBackward(rng, false);
  AttentionForwardProblem& p = t.forward.problem;
  // Small, so that central differences see single elements.
  p.q_len = Draw(rng, 1, 20);
  p.kv_len = Draw(rng, 1, 40);
  p.head_dim = Draw(rng, 1, 12);
  p.value_dim = Draw(rng, 1, 12);
  p.scale = 0.0625 * static_cast<double>(Draw(rng, 4, 16));  // six digits
  if (seed % 5 == 4) {
    if (t.grad_lane != Lane::kF32) t.grad_lane = Lane::kF16;
    MakeF16(t.forward);
  }
  t.forward.valid_q.clear();
  t.forward.valid_kv.clear();
  t.forward.Fill(rng, seed % 2 == 0 ? 1.0f : 3.0f);
  t.Fill(rng);
  const std::vector<uint8_t> visible = Visible(t);
  PoisonUnseen(visible, t);
  TensorFile file;
  file.AddText("lane", LaneName(p.lane));
  file.AddText("p", LaneName(p.p_lane));
  file.AddText("grad", LaneName(t.grad_lane));
  file.AddText("scale", std::to_string(p.scale));
  if (p.softcap) file.AddText("cap", std::to_string(*p.softcap));
  AddInputs(t, visible, file);
  AddGradients(t, t.RunReference(), file);
  return file.Write(directory + "/" + std::to_string(seed) + ".safetensors");
}

}  // namespace
}  // namespace lockstep::test

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: attention_backward_export DIR\n");
    return 2;
  }
  for (uint32_t seed = 0; seed < lockstep::test::kProblems; ++seed) {
    if (!lockstep::test::Export(seed, argv[1])) return 2;
  }
  return 0;
}
