#include "verify/candidate/wire/placed_call.h"

#include <fcntl.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "verify/base/format.h"
#include "verify/base/sparse/file.h"
#include "verify/base/sparse/used_elements.h"
#include "verify/base/status_macros.h"

namespace lockstep::verify {
namespace {

constexpr int64_t kBoundary = 64;  // as of buffers in this process
constexpr int64_t kZone = 256;     // around inputs
constexpr uint8_t kZoneByte = 0xa5;

int64_t Up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }
int64_t Down(int64_t n, int64_t to) { return n / to * to; }

int64_t BoundaryOf(const Placement& placement) {
  return std::max(kBoundary, placement.alignment);
}

// Bytes behind the boundary; what the host cannot take is rounded up.
int64_t ShiftBytes(const Placement& placement, ElementType type) {
  const int64_t bytes = placement.shift * ElementBytes(type) % kBoundary;
  if (placement.alignment <= ElementBytes(type)) return bytes;
  return Up(bytes, placement.alignment) % BoundaryOf(placement);
}

template <typename Tensor>
PlacedTensor Described(const Tensor& tensor) {
  PlacedTensor placed;
  placed.name = tensor.name;
  placed.type = tensor.type;
  placed.shape = tensor.shape;
  for (const int64_t stride : tensor.strides) {
    placed.strides.push_back(stride * ElementBytes(tensor.type));
  }
  return placed;
}

template <typename Tensor>
int64_t SpanBytes(const Tensor& tensor) {
  return ElementSpan(tensor.shape, tensor.strides) * ElementBytes(tensor.type);
}

// Gaps of a sparse tensor: in bytes from its first element.
std::vector<ByteRange> GapsBetween(const std::vector<ByteRange>& ranges) {
  std::vector<ByteRange> gaps;
  for (size_t n = 1; n < ranges.size(); ++n) {
    gaps.push_back({ranges[n - 1].end, ranges[n].begin});
  }
  return gaps;
}

// Calls visit(offset of the element in elements) in logical order.
template <typename Visit>
void ForOffsets(const std::vector<int64_t>& shape,
                const std::vector<int64_t>& strides, const Visit& visit) {
  if (ElementCount(shape) == 0) return;
  std::vector<int64_t> at(shape.size());
  int64_t offset = 0;
  while (true) {
    visit(offset);
    size_t axis = shape.size();
    while (axis-- > 0) {
      offset += strides[axis];
      if (++at[axis] < shape[axis]) break;
      offset -= strides[axis] * shape[axis];
      at[axis] = 0;
    }
    if (axis == static_cast<size_t>(-1)) return;
  }
}

template <typename Tensor>
int64_t GapBytes(const std::vector<Tensor>& tensors) {
  int64_t bytes = 0;
  for (const Tensor& tensor : tensors) {
    bytes += SpanBytes(tensor) - BytesIn(RangesOf(tensor));
  }
  return bytes;
}

bool Dense(const NamedOutput& output) {
  return ElementSpan(output.shape, output.strides) ==
         ElementCount(output.shape);
}

// They end at `end`, and `gaps` bytes before it do not exist.
Status CheckRoom(const char* what, int64_t end, int64_t gaps,
                 const SharedMemory& memory) {
  if (end - gaps > memory.limit()) {
    return Status::Error(
        std::string(what) + " take " + std::to_string((end - gaps) >> 20) +
        " MiB, more than the " + std::to_string(memory.limit() >> 20) +
        " MiB that the host may use (--candidate-memory)");
  }
  if (end <= memory.bytes()) return {};
  return Status::Error(std::string(what) + " reach over " +
                       std::to_string(end >> 20) + " MiB, more than the " +
                       std::to_string(memory.bytes() >> 20) +
                       " MiB that judge and host share");
}

// Whole pages of [from, to) are given back to the system: they read as zeros.
void GiveBack(const SharedMemory& memory, int64_t from, int64_t to) {
  const int64_t first = Up(from, kPage);
  const int64_t last = Down(to, kPage);
  if (first < last) {
    fallocate(memory.descriptor(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
              first, last - first);
  }
  // What is left of the pages at the ends.
  std::memset(memory.data() + from, 0,
              static_cast<size_t>(std::min(first, to) - from));
  if (last >= first) {
    std::memset(memory.data() + last, 0, static_cast<size_t>(to - last));
  }
}

void FillElements(const PlacedTensor& placed, int64_t span, uint32_t bits,
                  uint8_t* data) {
  // Room for tables is no element's: what lies there says nothing.
  if (ElementBytes(placed.type) == 1) return;
  if (ElementBytes(placed.type) == 2) {
    std::fill_n(reinterpret_cast<uint16_t*>(data), span,
                static_cast<uint16_t>(bits));
    return;
  }
  std::fill_n(reinterpret_cast<uint32_t*>(data), span, bits);
}

}  // namespace

PoisonOf ReadPoison(const std::vector<NamedOutput>& outputs) {
  PoisonOf poison;
  for (const NamedOutput& output : outputs) {
    uint32_t bits = 0;
    if (ElementCount(output.shape) > 0) {
      std::memcpy(&bits, output.data,
                  static_cast<size_t>(ElementBytes(output.type)));
    }
    poison[output.name] = bits;
  }
  return poison;
}

Result<PlacedCall> PlacedCall::Place(const KernelCall& call,
                                     const Placement& placement,
                                     const PoisonOf& poison,
                                     const SharedMemory& in,
                                     const SharedMemory& out) {
  PlacedCall placed(call, in, out);
  Status status = placed.PlaceInputs(placement);
  if (status.ok()) status = placed.PlaceOutputs(placement, poison);
  if (!status.ok()) return status;
  return placed;
}

Status PlacedCall::PlaceInputs(const Placement& placement) {
  const int64_t boundary = BoundaryOf(placement);
  int64_t at = placement.first_page * kPage;
  for (size_t n = 0; n < call_->inputs.tensors.size(); ++n) {
    const NamedTensor& tensor = call_->inputs.tensors[n];
    PlacedTensor placed = Described(tensor);
    if (const size_t holder = call_->inputs.HolderOf(n); holder != n) {
      placed.offset = inputs_[holder].offset;
      inputs_.push_back(std::move(placed));
      continue;
    }
    placed.offset =
        Up(at + kZone, boundary) + ShiftBytes(placement, tensor.type);
    at = placed.offset + SpanBytes(tensor) + kZone;
    inputs_.push_back(std::move(placed));
  }
  RETURN_IF_ERROR(
      CheckRoom("inputs", at, GapBytes(call_->inputs.tensors), *in_));
  int64_t behind = placement.first_page * kPage;
  for (size_t n = 0; n < inputs_.size(); ++n) {
    if (call_->inputs.HolderOf(n) != n) continue;
    const NamedTensor& tensor = call_->inputs.tensors[n];
    const int64_t first = inputs_[n].offset;
    const int64_t bytes = SpanBytes(tensor);
    std::memset(in_->data() + behind, kZoneByte,
                static_cast<size_t>(first - behind));
    // What an earlier call left in the gaps stays there.
    for (const ByteRange& range : RangesOf(tensor)) {
      std::memcpy(in_->data() + first + range.begin,
                  static_cast<const uint8_t*>(tensor.data) + range.begin,
                  static_cast<size_t>(range.bytes()));
    }
    behind = first + bytes;
  }
  std::memset(in_->data() + behind, kZoneByte,
              static_cast<size_t>(at - behind));
  return {};
}

Status PlacedCall::PlaceOutputs(const Placement& placement,
                                const PoisonOf& poison) {
  const int64_t boundary = BoundaryOf(placement);
  begin_ = end_ = placement.first_page * kPage;
  for (const NamedOutput& output : call_->outputs) {
    PlacedTensor placed = Described(output);
    const int64_t shift = ShiftBytes(placement, output.type);
    const int64_t bytes = SpanBytes(output);
    placed.first_page = end_ + kPage;  // one page of zone in front
    placed.page_bytes = Up(std::max<int64_t>(bytes + shift, 1), kPage);
    placed.offset = placed.first_page + shift;
    if (placement.at_end) {
      placed.offset += Down(placed.page_bytes - bytes - shift, boundary);
    }
    end_ = placed.first_page + placed.page_bytes;
    outputs_.push_back(std::move(placed));
  }
  end_ += kPage;
  RETURN_IF_ERROR(CheckRoom("outputs", end_, GapBytes(call_->outputs), *out_));
  int64_t behind = begin_;
  for (size_t n = 0; n < outputs_.size(); ++n) {
    for (const ByteRange& gap : GapsBetween(RangesOf(call_->outputs[n]))) {
      existing_.push_back({behind, outputs_[n].offset + gap.begin});
      behind = outputs_[n].offset + gap.end;
      GiveBack(*out_, existing_.back().end, behind);
    }
  }
  existing_.push_back({behind, end_});
  for (const ByteRange& range : existing_) {
    std::memset(out_->data() + range.begin, kZoneByte,
                static_cast<size_t>(range.bytes()));
  }
  for (size_t n = 0; n < outputs_.size(); ++n) {
    const NamedOutput& output = call_->outputs[n];
    const auto found = poison.find(output.name);
    const uint32_t bits = found == poison.end() ? 0 : found->second;
    uint8_t* data = out_->data() + outputs_[n].offset;
    if (Dense(output)) {
      FillElements(outputs_[n], ElementCount(output.shape), bits, data);
      continue;
    }
    const auto width = static_cast<size_t>(ElementBytes(output.type));
    ForOffsets(output.shape, output.strides, [&](int64_t offset) {
      std::memcpy(data + offset * static_cast<int64_t>(width), &bits, width);
    });
  }
  return {};
}

bool PlacedCall::Untouched(int64_t from, int64_t to, int64_t* first) const {
  const uint8_t* begin = out_->data() + from;
  const uint8_t* end = out_->data() + to;
  if (begin == end) return true;
  const auto size = static_cast<size_t>(end - begin);
  if (*begin == kZoneByte && std::memcmp(begin, begin + 1, size - 1) == 0) {
    return true;
  }
  *first =
      std::find_if(begin, end, [](uint8_t byte) { return byte != kZoneByte; }) -
      out_->data();
  return false;
}

bool PlacedCall::GapsUntouched(size_t n, int64_t* first) const {
  const NamedOutput& output = call_->outputs[n];
  if (Dense(output)) return true;
  const int64_t width = ElementBytes(output.type);
  const std::vector<ByteRange> ranges = RangesOf(output);
  for (const ByteRange& gap : GapsBetween(ranges)) {
    const int64_t end = outputs_[n].offset + gap.end;
    *first = FirstNonZero(out_->descriptor(), out_->data(),
                          outputs_[n].offset + gap.begin, end);
    if (*first < end) return false;
  }
  UsedElements used(ranges, width);
  ForOffsets(output.shape, output.strides,
             [&](int64_t offset) { used.Use(offset); });
  return used.AllUnused([&](int64_t offset) {
    const int64_t at = outputs_[n].offset + offset * width;
    return Untouched(at, at + width, first);
  });
}

std::string PlacedCall::Outside() const {
  int64_t behind = begin_;
  int64_t first = 0;
  for (size_t n = 0; n <= outputs_.size(); ++n) {
    const bool last = n == outputs_.size();
    const int64_t next = last ? end_ : outputs_[n].offset;
    if (!Untouched(behind, next, &first)) {
      // Of two outputs the nearer one.
      const bool before = n == 0 || (!last && next - first < first - behind);
      return before
                 ? Count(next - first, "byte") + " before " + outputs_[n].name
                 : Count(first - behind + 1, "byte") + " behind " +
                       outputs_[n - 1].name;
    }
    if (last) return "";
    if (!GapsUntouched(n, &first)) {
      return "between the rows of " + outputs_[n].name;
    }
    behind = outputs_[n].offset + SpanBytes(call_->outputs[n]);
  }
  return "";
}

void PlacedCall::CopyBack() const {
  for (size_t n = 0; n < outputs_.size(); ++n) {
    const NamedOutput& output = call_->outputs[n];
    const uint8_t* from = out_->data() + outputs_[n].offset;
    auto* to = static_cast<uint8_t*>(output.data);
    if (Dense(output)) {
      std::memcpy(to, from, static_cast<size_t>(SpanBytes(output)));
      continue;
    }
    const int64_t width = ElementBytes(output.type);
    ForOffsets(output.shape, output.strides, [&](int64_t offset) {
      std::memcpy(to + offset * width, from + offset * width,
                  static_cast<size_t>(width));
    });
  }
}

}  // namespace lockstep::verify
