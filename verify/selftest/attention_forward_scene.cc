#include "verify/selftest/attention_forward_scene.h"

#include <bit>
#include <utility>

#include "verify/allowed/attention_forward/envelope.h"
#include "verify/allowed/attention_forward/probes.h"
#include "verify/case/attention_forward/case.h"
#include "verify/inputs/attention_forward_outputs.h"
#include "verify/oracle/attention_forward/truth.h"

namespace lockstep::verify {

Result<Scene> OpenScene(const Case& request) {
  Result<AttentionForwardData> data = Materialise(request, {});
  if (!data.ok()) return data.status();
  return Scene{request, std::move(data.value())};
}

Result<Buffers> Emulate(const Scene& scene, AttentionEmulator* emulator) {
  Result<Buffers> out =
      AllocateOutputs(scene.request.Get<AttentionForwardCase>(), 0);
  if (out.ok()) {
    emulator->Run(scene.data.problem, scene.data.inputs, out->view());
  }
  return out;
}

std::vector<uint32_t> Bits(const AttentionForwardProblem& p, const Buffers& x) {
  const AttentionForwardOutputs view = x.view();
  std::vector<uint32_t> bits;
  const auto push = [&](float value, uint32_t word) {
    bits.push_back(value != value && word != kPoisonF32 && word != kPoisonBf16
                       ? kCanonicalNaNBits
                       : word);
  };
  for (int64_t b = 0; b < p.batch; ++b) {
    for (int64_t h = 0; h < p.q_heads; ++h) {
      for (int64_t i = 0; i < p.q_len; ++i) {
        for (int64_t c = 0; c < p.value_dim; ++c) {
          if (p.lane == Lane::kF32) {
            const float o = view.o.As<float>()(b, h, i, c);
            push(o, std::bit_cast<uint32_t>(o));
          } else {
            const Bf16 o = view.o.As<Bf16>()(b, h, i, c);
            push(ToFloat(o), o.bits);
          }
        }
        const float lse = view.lse(b, h, i);
        push(lse, std::bit_cast<uint32_t>(lse));
      }
    }
  }
  return bits;
}

std::vector<double> Numbers(const AttentionForwardProblem& p,
                            const LaneView& o) {
  std::vector<double> numbers;
  for (int64_t b = 0; b < p.batch; ++b) {
    for (int64_t h = 0; h < p.q_heads; ++h) {
      for (int64_t i = 0; i < p.q_len; ++i) {
        for (int64_t c = 0; c < p.value_dim; ++c) {
          numbers.push_back(double{p.lane == Lane::kF32
                                       ? o.As<float>()(b, h, i, c)
                                       : ToFloat(o.As<Bf16>()(b, h, i, c))});
        }
      }
    }
  }
  return numbers;
}

EnvelopeVerdict JudgeByEnvelope(const Scene& scene,
                                const NumericProfile& profile,
                                const Buffers& out,
                                std::vector<double>* truth_of_o) {
  const AttentionForwardProblem& p = scene.data.problem;
  const double elements = static_cast<double>(p.batch * p.q_heads * p.q_len) *
                          static_cast<double>(p.value_dim + 1);
  const AttentionEnvelope envelope(profile, p, elements, 1e-6,
                                   RangeOf(scene.data.inputs, profile));
  oracle::TruthOptions options;
  options.threads = 1;
  const oracle::AttentionTruth truth = oracle::ComputeTruth(
      p, scene.data.inputs, envelope.error_model(), options);
  if (truth_of_o) *truth_of_o = truth.o;
  const EnvelopeResult o =
      JudgeOutput(envelope, truth, nullptr, out.o.const_view());
  EnvelopeResult lse;
  if (HasLse(profile)) {
    lse = JudgeLse(
        envelope, truth, nullptr,
        {out.view().lse.data, out.view().lse.shape, out.view().lse.strides});
  }
  EnvelopeVerdict verdict;
  verdict.outside = !o.Passed() || (HasLse(profile) && !lse.Passed());
  verdict.unlikely = o.Suspicious() || lse.Suspicious();
  if (verdict.outside) {
    verdict.what = std::to_string(o.outside) + " of o, " +
                   std::to_string(lse.outside) + " of lse outside";
  }
  return verdict;
}

EnvelopeVerdict JudgeByProbe(const Scene& scene, const NumericProfile& profile,
                             const Buffers& out) {
  const ProbeKind kind = *ProbeOf(scene.request.Get<AttentionForwardCase>());
  const ProbeAnswers expected =
      ExpectProbe({kind, scene.data.problem, scene.data.inputs, profile,
                   scene.request.seed},
                  nullptr);
  const EnvelopeResult o = JudgeProbe(expected.o, nullptr, out.o.const_view());
  const EnvelopeResult lse = JudgeProbeLse(
      expected.lse, nullptr,
      {out.view().lse.data, out.view().lse.shape, out.view().lse.strides});
  EnvelopeVerdict verdict;
  verdict.outside = !o.Passed() || (HasLse(profile) && !lse.Passed());
  if (verdict.outside) {
    verdict.what = std::string(ProbeName(kind)) + ": " +
                   std::to_string(o.outside) + " of o, " +
                   std::to_string(lse.outside) + " of lse outside";
  }
  return verdict;
}

}  // namespace lockstep::verify
