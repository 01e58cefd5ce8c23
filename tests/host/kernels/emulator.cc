// Kernels of the emulator with the C interface:
// so:emulated.so,mutant=NAME[@SEVERITY]
// [,base=VARIANT], or variant=NAME.
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "tests/host/kernels/padded_rows.h"
#include "tests/host/kernels/problem_of_call.h"
#include "verify/emulator/attention_backward/kernel.h"
#include "verify/emulator/attention_forward/kernel.h"
#include "verify/emulator/attention_forward/lists/taken_lists.h"
#include "verify/emulator/attention_forward/zoo.h"
#include "verify/emulator/attention_merge/kernel.h"
#include "verify/emulator/mamba3_scan/kernel.h"
#include "verify/emulator/mamba3_scan/zoo.h"
#include "verify/emulator/mamba3_scan_backward/kernel.h"
#include "verify/emulator/mutants.h"

namespace verify = lockstep::verify;
using lockstep::MutableLaneView;
using lockstep::Status;
using lockstep::tests::ArgumentOf;
using lockstep::tests::AttentionCall;
using lockstep::tests::BackwardCall;
using lockstep::tests::CallLists;
using lockstep::tests::MergeCall;
using lockstep::tests::OneChannel;
using lockstep::tests::PaddedRows;
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

verify::ListedKeys Listed(const CallLists& lists) {
  return {lists.view, lists.dense};
}

// The emulator writes padded rows; those that exist become tokens.
void RunTokens(verify::AttentionEmulator& kernel, const AttentionCall& asked) {
  const int64_t longest = asked.problem.q_len;
  const lockstep::TensorView<const int32_t, 1>& starts = asked.varlen->cu_q;
  const MutableLaneView lse_tokens = OneChannel(asked.outputs.lse);
  const PaddedRows o(starts, longest, asked.outputs.o);
  const PaddedRows lse(starts, longest, lse_tokens);
  kernel.RunVarlen(asked.problem, asked.inputs, *asked.varlen,
                   {o.view(), lse.rows<float>()});
  o.Give(asked.outputs.o);
  lse.Give(lse_tokens);
}

void RunMasked(verify::AttentionEmulator& kernel, const AttentionCall& asked) {
  if (asked.varlen) {
    RunTokens(kernel, asked);
  } else if (asked.pages) {
    kernel.RunPaged(asked.problem, asked.inputs, *asked.pages, asked.outputs);
  } else {
    kernel.Run(asked.problem, asked.inputs, asked.outputs);
  }
}
// Only a kernel with a bug of lists reads them; others read the mask.
void Run(verify::AttentionEmulator& kernel, const AttentionCall& given) {
  if (!given.lists || !kernel.breaks_lists()) return RunMasked(kernel, given);
  const verify::TakenLists taken = verify::TakeLists(
      given.problem, given.inputs, Listed(*given.lists), kernel.dial());
  AttentionCall asked = given;
  asked.problem = taken.problem;
  asked.inputs = taken.inputs;
  RunMasked(kernel, asked);
}

void RunRows(const verify::GradEmulator& kernel, const BackwardCall& asked,
             const lockstep::AttentionBackwardInputs& inputs,
             const lockstep::AttentionBackwardOutputs& outputs,
             const lockstep::AttentionForwardOutputs& own) {
  if (asked.varlen && kernel.breaks_varlen()) {
    kernel.RunVarlen(asked.problem, inputs, asked.inputs.forward, *asked.varlen,
                     outputs, own);
  } else if (asked.lists) {
    kernel.RunListed(asked.problem, inputs, Listed(*asked.lists), outputs, own);
  } else {
    kernel.Run(asked.problem, inputs, outputs, own);
  }
}

// The same of a ragged batch, in padded rows.
void RunTokens(const verify::GradEmulator& kernel, const BackwardCall& asked) {
  const lockstep::AttentionForwardProblem& p = asked.problem.forward;
  const lockstep::AttentionBackwardOutputs& out = asked.outputs;
  const auto queries = [&](const auto& tokens) {
    return PaddedRows(asked.varlen->cu_q, p.q_len, tokens);
  };
  const auto keys = [&](const auto& tokens) {
    return PaddedRows(asked.varlen->cu_kv, p.kv_len, tokens);
  };
  const MutableLaneView own_lse_tokens = OneChannel(asked.own.lse);
  const PaddedRows q = queries(asked.inputs.forward.q);
  const PaddedRows k = keys(asked.inputs.forward.k);
  const PaddedRows v = keys(asked.inputs.forward.v);
  const PaddedRows o = queries(asked.inputs.o);
  const PaddedRows d_o = queries(asked.inputs.d_o);
  const PaddedRows lse = queries(OneChannel(asked.inputs.lse));
  const PaddedRows dlse = queries(OneChannel(asked.inputs.dlse));
  const PaddedRows dq = queries(out.dq), dk = keys(out.dk), dv = keys(out.dv);
  const PaddedRows own_o = queries(asked.own.o);
  const PaddedRows own_lse = queries(own_lse_tokens);
  lockstep::AttentionBackwardInputs inputs = asked.inputs;
  inputs.forward.q = q.const_view();
  inputs.forward.k = k.const_view();
  inputs.forward.v = v.const_view();
  inputs.o = o.const_view();
  inputs.d_o = d_o.const_view();
  inputs.lse = lse.rows<const float>();
  inputs.dlse = dlse.rows<const float>();
  lockstep::AttentionBackwardOutputs outputs = out;
  outputs.dq = dq.view();
  outputs.dk = dk.view();
  outputs.dv = dv.view();
  RunRows(kernel, asked, inputs, outputs,
          {own_o.view(), own_lse.rows<float>()});
  dq.Give(out.dq);
  dk.Give(out.dk);
  dv.Give(out.dv);
  own_o.Give(asked.own.o);
  own_lse.Give(own_lse_tokens);
}

void Run(verify::GradEmulator& kernel, const BackwardCall& asked) {
  if (asked.varlen) return RunTokens(kernel, asked);
  RunRows(kernel, asked, asked.inputs, asked.outputs, asked.own);
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
  description->wants = "pages varlen kvlane qlane indices:ended";
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
