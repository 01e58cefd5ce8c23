// Kernels of the emulator with the C interface:
// so:emulated.so,mutant=NAME[@SEVERITY]
// [,base=VARIANT], or variant=NAME.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/host/kernels/problem_of_call.h"
#include "verify/emulator/attention_backward/kernel.h"
#include "verify/emulator/attention_forward/kernel.h"
#include "verify/emulator/attention_forward/zoo.h"
#include "verify/emulator/attention_merge/kernel.h"
#include "verify/emulator/mamba3_scan/kernel.h"
#include "verify/emulator/mamba3_scan/zoo.h"
#include "verify/emulator/mamba3_scan_backward/kernel.h"
#include "verify/emulator/mutants.h"

namespace verify = lockstep::verify;
using lockstep::Status;
using lockstep::tests::ArgumentOf;
using lockstep::tests::AttentionCall;
using lockstep::tests::BackwardCall;
using lockstep::tests::MergeCall;
using lockstep::tests::Refuse;
using lockstep::tests::ScanBackwardCall;
using lockstep::tests::ScanCall;
using lockstep::tests::Serve;
using lockstep::tests::SsdCall;

// What a kernel keeps from call to call: stale faults do.
struct lockstep_handle {
  std::optional<verify::AttentionEmulator> attention;
  std::optional<verify::GradEmulator> grad;
  std::optional<verify::MergeEmulator> merge;
  std::optional<verify::ScanEmulator> scan;
  std::optional<verify::ScanGradEmulator> scan_grad;
};

namespace {

Status OpenMutant(const std::string& spec, lockstep_handle* handle) {
  lockstep::Result<verify::Mutant> mutant = verify::ParseMutant(spec);
  if (!mutant.ok()) return mutant.status();
  if (mutant->info->attention()) {
    handle->attention.emplace(mutant->variant, mutant->dial);
  } else if (mutant->info->gradients()) {
    handle->grad.emplace(mutant->grad,
                         mutant->info->PointOf<verify::GradFault>());
  } else if (mutant->info->scan_gradients()) {
    handle->scan_grad.emplace(mutant->scan_grad,
                              mutant->info->PointOf<verify::ScanGradFault>());
  } else if (mutant->info->merge()) {
    handle->merge.emplace(mutant->merge,
                          mutant->info->PointOf<verify::MergeFault>());
  } else {
    handle->scan.emplace(mutant->scan, mutant->scan_dial);
  }
  return {};
}

Status OpenVariant(const std::string& name, lockstep_handle* handle) {
  const auto scan = verify::FindScanVariant(name);
  if (scan.ok()) {
    handle->scan.emplace(scan.value());
    return {};
  }
  const auto grad = verify::FindGradVariant(name);
  if (grad.ok()) {
    handle->grad.emplace(grad.value());
    return {};
  }
  const auto scan_grad = verify::FindScanGradVariant(name);
  if (scan_grad.ok()) {
    handle->scan_grad.emplace(scan_grad.value());
    return {};
  }
  const auto merge = verify::FindMergeVariant(name);
  if (merge.ok()) {
    handle->merge.emplace(merge.value());
    return {};
  }
  const auto attention = verify::FindVariant(name);
  if (!attention.ok()) return attention.status();
  handle->attention.emplace(attention.value());
  return {};
}

// copy(batch, head, position, token) for every query that exists.
template <typename Copy>
void ForEachToken(const AttentionCall& asked, const Copy& copy) {
  const lockstep::AttentionForwardProblem& p = asked.problem;
  for (int64_t b = 0; b < p.batch; ++b) {
    for (int64_t h = 0; h < p.q_heads; ++h) {
      for (int64_t i = 0; i < asked.inputs.ValidQ(p, b); ++i) {
        copy(b, h, i, asked.varlen->cu_q(b) + i);
      }
    }
  }
}

// The emulator writes padded rows; those that exist become tokens.
void RunTokens(verify::AttentionEmulator& kernel, const AttentionCall& asked) {
  const lockstep::AttentionForwardProblem& p = asked.problem;
  const std::array<int64_t, 4> shape = {p.batch, p.q_heads, p.q_len,
                                        p.value_dim};
  const size_t width = lockstep::LaneBytes(p.lane);
  const auto lines = static_cast<size_t>(p.batch * p.q_heads * p.q_len);
  std::vector<uint8_t> o(lines * static_cast<size_t>(p.value_dim) * width);
  std::vector<float> lse(lines);
  const lockstep::AttentionForwardOutputs padded = {
      {o.data(), p.lane, shape, lockstep::DenseStrides(shape)},
      {lse.data(),
       {p.batch, p.q_heads, p.q_len},
       {p.q_heads * p.q_len, p.q_len, 1}}};
  kernel.RunVarlen(p, asked.inputs, *asked.varlen, padded);
  const lockstep::MutableLaneView& to = asked.outputs.o;
  ForEachToken(asked, [&](int64_t b, int64_t h, int64_t i, int64_t token) {
    asked.outputs.lse(0, h, token) = padded.lse(b, h, i);
    const int64_t line = (b * p.q_heads + h) * p.q_len + i;
    for (int64_t c = 0; c < p.value_dim; ++c) {
      const int64_t at =
          h * to.strides[1] + token * to.strides[2] + c * to.strides[3];
      std::memcpy(
          static_cast<uint8_t*>(to.data) + at * static_cast<int64_t>(width),
          o.data() + (line * p.value_dim + c) * static_cast<int64_t>(width),
          width);
    }
  });
}

void Run(verify::AttentionEmulator& kernel, const AttentionCall& asked) {
  if (asked.varlen) {
    RunTokens(kernel, asked);
  } else if (asked.pages) {
    kernel.RunPaged(asked.problem, asked.inputs, *asked.pages, asked.outputs);
  } else {
    kernel.Run(asked.problem, asked.inputs, asked.outputs);
  }
}
void Run(verify::GradEmulator& kernel, const BackwardCall& asked) {
  kernel.Run(asked.problem, asked.inputs, asked.outputs, asked.own);
}
void Run(verify::MergeEmulator& kernel, const MergeCall& asked) {
  kernel.Run(asked.problem, asked.inputs, asked.outputs);
}
void Run(verify::ScanEmulator& kernel, const ScanCall& asked) {
  kernel.Run(asked.problem, asked.inputs, asked.outputs);
}
void Run(verify::ScanGradEmulator& kernel, const ScanBackwardCall& asked) {
  kernel.Run(asked.problem, asked.inputs, asked.outputs);
}
void Run(verify::ScanEmulator& kernel, const SsdCall& asked) {
  const lockstep::SsdAsMamba3 scan =
      AsMamba3(asked.problem, asked.inputs, asked.outputs);
  lockstep::Mamba3ScanOutputs outputs{scan.y, {}};
  outputs.carry.h = asked.outputs.carry;
  kernel.Run(scan.problem, scan.inputs, outputs);
}

// `lacks`: why there is no answer where the handle holds no such kernel.
template <typename Asked, typename Kernel, typename Call>
int RunBy(std::optional<Kernel>& kernel, const char* lacks, const Call& call,
          lockstep_receipt* receipt) {
  if (!kernel) {
    return Refuse(Status::Error(lacks), receipt);
  }
  return Serve<Asked>(call, receipt, [&](const Asked& asked) {
    Run(*kernel, asked);
    return Status();
  });
}

}  // namespace

int lockstep_describe(lockstep_description* description) {
  description->abi = LOCKSTEP_ABI;
  description->name = "emulated";
  description->lanes = "f32 bf16 f16";
  description->wants = "pages varlen kvlane";
  return 0;
}

int lockstep_open(int argc, const char* const* argv, lockstep_handle** handle) {
  auto opened = std::make_unique<lockstep_handle>();
  std::string mutant = ArgumentOf(argc, argv, "mutant");
  const std::string base = ArgumentOf(argc, argv, "base");
  if (!base.empty()) mutant += ",base=" + base;
  const Status status =
      mutant.empty()
          ? OpenVariant(ArgumentOf(argc, argv, "variant"), opened.get())
          : OpenMutant(mutant, opened.get());
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.message().c_str());
    return 1;
  }
  *handle = opened.release();
  return 0;
}

void lockstep_close(lockstep_handle* handle) {
  const std::unique_ptr<lockstep_handle> closed(handle);
}

int lockstep_attention_forward(lockstep_handle* handle,
                               const lockstep_attention_forward_call* call,
                               lockstep_receipt* receipt) {
  return RunBy<AttentionCall>(handle->attention, "scans only", *call, receipt);
}

int lockstep_attention_backward(lockstep_handle* handle,
                                const lockstep_attention_backward_call* call,
                                lockstep_receipt* receipt) {
  if (call->forward->varlen != 0) {
    return Refuse(Status::Error("gradients of ragged batches"), receipt);
  }
  return RunBy<BackwardCall>(handle->grad, "no gradients", *call, receipt);
}

int lockstep_attention_merge(lockstep_handle* handle,
                             const lockstep_attention_merge_call* call,
                             lockstep_receipt* receipt) {
  return RunBy<MergeCall>(handle->merge, "no merges", *call, receipt);
}

int lockstep_mamba3_scan(lockstep_handle* handle,
                         const lockstep_mamba3_scan_call* call,
                         lockstep_receipt* receipt) {
  return RunBy<ScanCall>(handle->scan, "attention only", *call, receipt);
}

int lockstep_mamba3_scan_backward(
    lockstep_handle* handle, const lockstep_mamba3_scan_backward_call* call,
    lockstep_receipt* receipt) {
  return RunBy<ScanBackwardCall>(handle->scan_grad, "no gradients of scans",
                                 *call, receipt);
}

int lockstep_mamba3_step(lockstep_handle* handle,
                         const lockstep_mamba3_scan_call* call,
                         lockstep_receipt* receipt) {
  return lockstep_mamba3_scan(handle, call, receipt);
}

int lockstep_ssd_scan(lockstep_handle* handle,
                      const lockstep_ssd_scan_call* call,
                      lockstep_receipt* receipt) {
  return RunBy<SsdCall>(handle->scan, "attention only", *call, receipt);
}
