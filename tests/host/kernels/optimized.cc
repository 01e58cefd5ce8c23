// The optimized kernels of this repository with the C interface:
// so:optimized.so[,threads=N][,extra=N]. With `extra` it computes attention's
// first N kv heads once more: a kernel that is slower by a known share.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "optimized/attention_backward.h"
#include "optimized/attention_forward.h"
#include "optimized/attention_merge.h"
#include "optimized/mamba3_scan.h"
#include "optimized/mamba3_scan_backward.h"
#include "optimized/plan.h"
#include "optimized/ssd_scan.h"
#include "tests/host/kernels/problem_of_call.h"

namespace optimized = lockstep::optimized;
using lockstep::Status;
using lockstep::tests::ArgumentOf;
using lockstep::tests::AttentionCall;
using lockstep::tests::BackwardCall;
using lockstep::tests::MergeCall;
using lockstep::tests::ScanBackwardCall;
using lockstep::tests::ScanCall;
using lockstep::tests::Serve;
using lockstep::tests::SsdCall;

struct lockstep_handle {
  int threads = 0;  // 0: one per core
  int extra = 0;    // kv heads that are computed twice
};

namespace {

int ThreadsOf(const lockstep_handle* handle, int32_t asked) {
  return asked > 0 ? asked : handle->threads;
}

template <typename Execution>
void Tell(const Execution& ran, lockstep_receipt* receipt) {
  std::snprintf(receipt->target, sizeof(receipt->target), "%s",
                ran.target.c_str());
  receipt->threads = ran.threads;
}

template <typename Asked, typename Execution, typename Call, typename Caps,
          typename Kernel>
int RunScan(const Call& call, Caps caps, int threads, const Kernel& kernel,
            lockstep_receipt* receipt) {
  return Serve<Asked>(call, receipt, [&](const Asked& asked) {
    caps.threads = threads;
    Execution ran;
    const Status status =
        kernel(asked.problem, asked.inputs, caps, asked.outputs, &ran);
    if (status.ok()) Tell(ran, receipt);
    return status;
  });
}

// The first kv heads alone, with the query heads that read them. Requires: one
// mask for all heads.
AttentionCall FirstHeads(AttentionCall call, int64_t kv_heads) {
  const int64_t q_heads = kv_heads * call.problem.group();
  call.problem.q_heads = q_heads;
  call.problem.kv_heads = kv_heads;
  call.inputs.q.shape[1] = q_heads;
  call.inputs.k.shape[1] = kv_heads;
  call.inputs.v.shape[1] = kv_heads;
  if (call.pages) call.pages->k.shape[1] = call.pages->v.shape[1] = kv_heads;
  call.inputs.sink.shape[0] = q_heads;
  call.outputs.o.shape[1] = q_heads;
  call.outputs.lse.shape[1] = q_heads;
  return call;
}

Status RunAttention(const AttentionCall& asked, int threads,
                    optimized::AttentionForwardExecution* ran) {
  optimized::Caps caps;
  caps.threads = threads;
  const auto plan = optimized::MakePlan(asked.problem, caps);
  if (!plan.ok()) return plan.status();
  if (asked.pages) {
    return optimized::AttentionForward(asked.problem, asked.inputs,
                                       *asked.pages, plan.value(),
                                       asked.outputs, ran);
  }
  if (asked.varlen) {
    return optimized::AttentionForward(asked.problem, asked.inputs,
                                       *asked.varlen, plan.value(),
                                       asked.outputs, ran);
  }
  return optimized::AttentionForward(asked.problem, asked.inputs, plan.value(),
                                     asked.outputs, ran);
}

}  // namespace

int lockstep_describe(lockstep_description* description) {
  description->abi = LOCKSTEP_ABI;
  description->name = "optimized";
  description->lanes = "f32 bf16 f16";
  description->wants = "pages varlen kvlane qlane indices:ended";
  return 0;
}

int lockstep_open(int argc, const char* const* argv, lockstep_handle** handle) {
  auto opened = std::make_unique<lockstep_handle>();
  const std::string threads = ArgumentOf(argc, argv, "threads");
  opened->threads = std::atoi(threads.c_str());
  const std::string extra = ArgumentOf(argc, argv, "extra");
  opened->extra = std::atoi(extra.c_str());
  *handle = opened.release();
  return 0;
}

void lockstep_close(lockstep_handle* handle) {
  const std::unique_ptr<lockstep_handle> closed(handle);
}

int lockstep_attention_forward(lockstep_handle* handle,
                               const lockstep_attention_forward_call* call,
                               lockstep_receipt* receipt) {
  const int threads = ThreadsOf(handle, call->threads);
  return Serve<AttentionCall>(*call, receipt, [&](const AttentionCall& asked) {
    optimized::AttentionForwardExecution ran;
    Status status = RunAttention(asked, threads, &ran);
    if (status.ok() && handle->extra > 0) {
      status = RunAttention(FirstHeads(asked, handle->extra), threads, &ran);
    }
    if (status.ok()) Tell(ran, receipt);
    return status;
  });
}

int lockstep_attention_backward(lockstep_handle* handle,
                                const lockstep_attention_backward_call* call,
                                lockstep_receipt* receipt) {
  return Serve<BackwardCall>(*call, receipt, [&](const BackwardCall& asked) {
    optimized::Caps caps;
    caps.threads = ThreadsOf(handle, call->forward->threads);
    const auto plan = optimized::MakePlan(asked.problem, caps);
    if (!plan.ok()) return plan.status();
    optimized::AttentionBackwardExecution ran;
    const Status status =
        asked.varlen
            ? optimized::AttentionBackward(asked.problem, asked.inputs,
                                           *asked.varlen, plan.value(),
                                           asked.outputs, &ran)
            : optimized::AttentionBackward(asked.problem, asked.inputs,
                                           plan.value(), asked.outputs, &ran);
    if (status.ok()) Tell(ran, receipt);
    if (!status.ok() || asked.own.o.data == nullptr) return status;
    optimized::AttentionForwardExecution forward;
    const auto own = optimized::MakePlan(asked.problem.forward, caps);
    if (!own.ok()) return own.status();
    return optimized::AttentionForward(asked.problem.forward,
                                       asked.inputs.forward, own.value(),
                                       asked.own, &forward);
  });
}

int lockstep_attention_merge(lockstep_handle* handle,
                             const lockstep_attention_merge_call* call,
                             lockstep_receipt* receipt) {
  return RunScan<MergeCall, optimized::AttentionMergeExecution>(
      *call, optimized::AttentionMergeCaps{}, ThreadsOf(handle, call->threads),
      optimized::AttentionMerge, receipt);
}

int lockstep_mamba3_scan(lockstep_handle* handle,
                         const lockstep_mamba3_scan_call* call,
                         lockstep_receipt* receipt) {
  return RunScan<ScanCall, optimized::Mamba3ScanExecution>(
      *call, optimized::Mamba3ScanCaps{}, ThreadsOf(handle, call->threads),
      optimized::Mamba3Scan, receipt);
}

int lockstep_mamba3_scan_backward(
    lockstep_handle* handle, const lockstep_mamba3_scan_backward_call* call,
    lockstep_receipt* receipt) {
  return RunScan<ScanBackwardCall, optimized::Mamba3ScanBackwardExecution>(
      *call, optimized::Mamba3ScanBackwardCaps{},
      ThreadsOf(handle, call->forward->threads), optimized::Mamba3ScanBackward,
      receipt);
}

int lockstep_mamba3_step(lockstep_handle* handle,
                         const lockstep_mamba3_scan_call* call,
                         lockstep_receipt* receipt) {
  return lockstep_mamba3_scan(handle, call, receipt);
}

int lockstep_ssd_scan(lockstep_handle* handle,
                      const lockstep_ssd_scan_call* call,
                      lockstep_receipt* receipt) {
  return RunScan<SsdCall, optimized::Mamba3ScanExecution>(
      *call, optimized::Mamba3ScanCaps{}, ThreadsOf(handle, call->threads),
      optimized::SsdScan, receipt);
}
