#include "verify/candidate/wire/wants.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "verify/base/status_macros.h"
#include "verify/candidate/wide_output.h"
#include "verify/ops/wants.h"

namespace lockstep::verify {
namespace {

// Strides of a dense tensor whose axes lie in memory in that order, the first
// outermost.
std::vector<int64_t> StridesInOrder(const std::vector<int64_t>& shape,
                                    const std::vector<size_t>& order) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t n = order.size(); n-- > 0;) {
    strides[order[n]] = stride;
    stride *= shape[order[n]];
  }
  return strides;
}

// The order that a tensor's axes have in memory by its strides. Broadcast axes
// go outermost.
std::vector<size_t> OrderOf(const std::vector<int64_t>& strides) {
  std::vector<size_t> order(strides.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    if (strides[a] == 0 || strides[b] == 0) return strides[a] < strides[b];
    return strides[a] > strides[b];
  });
  return order;
}

bool LaneTensorName(const std::string& name) {
  return name == "q" || name == "k" || name == "v" || name == "o";
}

}  // namespace

Result<WantedCall> WantedCall::Make(const Trial& trial, const HostHello& hello,
                                    bool wide, KernelCall call) {
  WantedCall wanted;
  wanted.call_ = std::move(call);
  // First, as others change what these bring.
  for (const std::string& need : trial.wants().NeededWants()) {
    const bool said = std::find(hello.wants.begin(), hello.wants.end(), need) !=
                      hello.wants.end();
    if (!said) {
      const char* what = need == kVarlenWant ? "it" : "them";
      return Status::Error("the case has " + NeedOf(need) + ", and " +
                           hello.name + " does not say that it wants " + what);
    }
    RETURN_IF_ERROR(wanted.Apply(trial, need));
  }
  ASSIGN_OR_RETURN(wanted.tokens_,
                   TokenOutputs::Make(trial, &wanted.call_.outputs));
  wanted.DropLacking(hello.lacks);
  if (wide) RETURN_IF_ERROR(wanted.Widen());
  for (const std::string& want : hello.wants) {
    RETURN_IF_ERROR(wanted.Apply(trial, want));
  }
  return wanted;
}

Status WantedCall::Apply(const Trial& trial, const std::string& want) {
  // A case with pages, a ragged batch, or q or keys in fp8 was passed in that
  // form; other cases have none of these tensors.
  if (want == kPagesWant || want == kVarlenWant || want == kFp8KeysWant ||
      want == kFp8QueriesWant) {
    const std::vector<std::string> needed = trial.wants().NeededWants();
    if (std::find(needed.begin(), needed.end(), want) == needed.end()) {
      return {};
    }
  }
  // Most cases have no lists, and other ops have none at all.
  const bool lists = want.starts_with(kListsWant);
  if (lists && call_.inputs.Find("indices") == nullptr) return {};
  if (want == "contiguous") {
    MakeDense();
    return {};
  }
  if (want.starts_with("layout:")) return Lay(want.substr(7));
  const std::string why = trial.wants().AddWanted(want, &call_.inputs);
  if (why.empty()) return {};
  return Status::Error("wants " + want + ": " + why);
}

void WantedCall::DropLacking(const std::vector<std::string>& lacks) {
  std::erase_if(call_.outputs, [&](const NamedOutput& output) {
    const bool lacking =
        std::find(lacks.begin(), lacks.end(), output.name) != lacks.end();
    if (lacking) lacking_.push_back(output);
    return lacking;
  });
}

// Strides count elements, so that they stay.
Status WantedCall::Widen() {
  for (NamedOutput& output : call_.outputs) {
    if (!IsNarrow(output.type)) continue;
    Moved moved{output, output};
    moved.host.type = ElementType::kF32;
    ASSIGN_OR_RETURN(GuardedBuffer memory,
                     GuardedBuffer::Allocate(RangesOf(moved.host), 0));
    moved.host.data = memory.data();
    wide_.push_back(std::move(memory));
    output = moved.host;
    moved_.push_back(std::move(moved));
  }
  return {};
}

void WantedCall::MakeDense() {
  for (NamedTensor& tensor : call_.inputs.tensors) {
    if (ElementSpan(tensor.shape, tensor.strides) ==
        ElementCount(tensor.shape)) {
      continue;
    }
    const std::vector<int64_t> strides =
        StridesInOrder(tensor.shape, OrderOf(tensor.strides));
    const int64_t width = ElementBytes(tensor.type);
    storage_.emplace_back(
        static_cast<size_t>(ElementCount(tensor.shape) * width));
    CopyElements(tensor.shape, width, tensor.data, tensor.strides,
                 storage_.back().data(), strides);
    tensor.strides = strides;
    tensor.data = storage_.back().data();
  }
  for (NamedOutput& output : call_.outputs) {
    if (ElementSpan(output.shape, output.strides) ==
        ElementCount(output.shape)) {
      continue;
    }
    Moved moved{output, output};
    moved.host.strides = StridesInOrder(output.shape, OrderOf(output.strides));
    storage_.emplace_back(static_cast<size_t>(ElementCount(output.shape) *
                                              ElementBytes(output.type)));
    moved.host.data = storage_.back().data();
    output = moved.host;
    moved_.push_back(std::move(moved));
  }
}

Status WantedCall::Lay(const std::string& layout) {
  if (layout != "bhsd" && layout != "bshd" && layout != "thd") {
    return Status::Error("wants layout:" + layout +
                         ", which is none of bhsd, bshd and thd");
  }
  const std::vector<size_t> order = layout == "bhsd"
                                        ? std::vector<size_t>{0, 1, 2, 3}
                                        : std::vector<size_t>{0, 2, 1, 3};
  // Tokens of all rows in one axis.
  const auto packed = [&](auto* tensor) {
    if (layout != "thd") return;
    const auto [b, h, s, d] = std::array{tensor->shape[0], tensor->shape[1],
                                         tensor->shape[2], tensor->shape[3]};
    tensor->shape = {b * s, h, d};
    tensor->strides = {h * d, d, 1};
  };
  for (NamedTensor& tensor : call_.inputs.tensors) {
    if (!LaneTensorName(tensor.name) || tensor.shape.size() != 4) continue;
    const std::vector<int64_t> strides = StridesInOrder(tensor.shape, order);
    const int64_t width = ElementBytes(tensor.type);
    storage_.emplace_back(
        static_cast<size_t>(ElementCount(tensor.shape) * width));
    CopyElements(tensor.shape, width, tensor.data, tensor.strides,
                 storage_.back().data(), strides);
    tensor.strides = strides;
    tensor.data = storage_.back().data();
    packed(&tensor);
  }
  for (NamedOutput& output : call_.outputs) {
    if (!LaneTensorName(output.name) || output.shape.size() != 4) continue;
    Moved moved{output, output};
    moved.host.strides = StridesInOrder(output.shape, order);
    storage_.emplace_back(static_cast<size_t>(ElementCount(output.shape) *
                                              ElementBytes(output.type)));
    moved.host.data = storage_.back().data();
    output = moved.host;
    packed(&output);
    moved_.push_back(std::move(moved));
  }
  return {};
}

std::string WantedCall::Return() const {
  // The last move first: one may have moved what another has moved.
  for (auto moved = moved_.rbegin(); moved != moved_.rend(); ++moved) {
    if (moved->trial.type != moved->host.type) {
      RoundElements(LaneOf(moved->trial.type), moved->trial.shape,
                    moved->host.data, moved->host.strides, moved->trial.data,
                    moved->trial.strides);
      continue;
    }
    CopyElements(moved->trial.shape, ElementBytes(moved->trial.type),
                 moved->host.data, moved->host.strides, moved->trial.data,
                 moved->trial.strides);
  }
  std::string behind = tokens_.Behind();
  constexpr uint32_t kNan = 0x7fc07fc0;  // of any lane
  for (const NamedOutput& output : lacking_) {
    CopyElements(output.shape, ElementBytes(output.type), &kNan,
                 std::vector<int64_t>(output.shape.size()), output.data,
                 output.strides);
  }
  tokens_.Return();
  return behind;
}

}  // namespace lockstep::verify
