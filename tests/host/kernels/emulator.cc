// Kernels of the emulator with the C interface:
// so:emulated.so,mutant=NAME[@SEVERITY]
// [,base=VARIANT], or variant=NAME.
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

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

void Run(verify::AttentionEmulator& kernel, const AttentionCall& asked) {
  if (asked.pages) {
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
  description->wants = "pages kvlane";
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
