#include "verify/ops/varlen/token_outputs.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "verify/base/status_macros.h"
#include "verify/ops/wants.h"

namespace lockstep::verify {
namespace {

// All of a dense output.
void FillTokens(const NamedOutput& tokens, uint32_t bits) {
  const int64_t count = ElementCount(tokens.shape);
  if (ElementBytes(tokens.type) == 4) {
    std::fill_n(static_cast<uint32_t*>(tokens.data), count, bits);
  } else {
    std::fill_n(static_cast<uint16_t*>(tokens.data), count,
                static_cast<uint16_t>(bits));
  }
}

}  // namespace

Result<TokenOutputs> TokenOutputs::Make(const Trial& trial,
                                        std::vector<NamedOutput>* outputs) {
  TokenOutputs made;
  for (NamedOutput& output : *outputs) {
    std::optional<TokenRows> rows = trial.wants().RowsEndToEnd(output.name);
    if (!rows) continue;
    const int64_t channels = output.shape.size() == 4 ? output.shape[3] : 1;
    Packed packed;
    packed.rows = std::move(*rows);
    packed.own = output;
    ASSIGN_OR_RETURN(packed.memory,
                     AllocateTokens(LaneOf(output.type), output.shape[1],
                                    channels, packed.rows.tokens(), 0));
    std::memcpy(&packed.bits, output.data,
                static_cast<size_t>(ElementBytes(output.type)));
    packed.tokens = NameTokens(packed.memory, output);
    FillTokens(packed.tokens, packed.bits);
    output = packed.tokens;
    made.packed_.push_back(std::move(packed));
  }
  return made;
}

const LaneTensor& TokenOutputs::Find(const std::string& name) const {
  return std::find_if(packed_.begin(), packed_.end(),
                      [&](const Packed& p) { return p.own.name == name; })
      ->memory;
}

std::string TokenOutputs::Behind() const {
  for (const Packed& packed : packed_) {
    std::string what = WrittenBehind(packed.rows, packed.tokens, packed.bits);
    if (!what.empty()) return what;
  }
  return "";
}

void TokenOutputs::Return() const {
  for (const Packed& packed : packed_) {
    SpreadTokens(packed.rows, packed.tokens, packed.own);
  }
}

std::vector<OutputSpec> FileOutputs::Specs(const Trial& trial) {
  std::vector<OutputSpec> specs = trial.outputs();
  for (OutputSpec& spec : specs) {
    const std::optional<TokenRows> rows = trial.wants().RowsEndToEnd(spec.name);
    if (!rows) continue;
    const int64_t heads = spec.shape[1];
    const int64_t channels = spec.shape[3];
    const bool wide = spec.InFile().size() == 4;
    spec.shape = {1, heads, rows->tokens(), 1};
    spec.file_shape = {heads, rows->tokens()};
    if (wide) {
      spec.shape = {1, rows->tokens(), heads, channels};
      spec.file_shape = {rows->tokens(), heads, channels};
    }
    spec.strides.reset();
  }
  return specs;
}

Result<FileOutputs> FileOutputs::Make(const Trial& trial,
                                      const OutputSet& own) {
  FileOutputs made;
  made.trial_ = &trial;
  made.own_ = &own;
  made.specs_ = Specs(trial);
  const bool packed = std::any_of(
      made.specs_.begin(), made.specs_.end(), [&](const OutputSpec& spec) {
        return trial.wants().RowsEndToEnd(spec.name).has_value();
      });
  if (!packed) return made;
  for (const OutputSpec& spec : made.specs_) {
    ASSIGN_OR_RETURN(
        LaneTensor dense,
        AllocateLaneTensor(spec.lane, spec.shape, DenseStrides(spec.shape), 0));
    made.dense_.tensors.push_back(std::move(dense));
  }
  return made;
}

void FileOutputs::Move(bool read) const {
  for (size_t t = 0; t < dense_.tensors.size(); ++t) {
    const OutputSpec& spec = trial_->outputs()[t];
    const ElementType type = TypeOf(spec.lane);
    NamedOutput there =
        NameView<void>(spec.name.c_str(), type, own_->tensors[t].view);
    NamedOutput dense =
        NameView<void>(spec.name.c_str(), type, dense_.tensors[t].view);
    const std::optional<TokenRows> rows =
        trial_->wants().RowsEndToEnd(spec.name);
    if (!rows) {
      const NamedOutput& from = read ? dense : there;
      const NamedOutput& to = read ? there : dense;
      CopyElements(to.shape, ElementBytes(type), from.data, from.strides,
                   to.data, to.strides);
      continue;
    }
    // Drops the axes that files do not have. These are the last of the trial's
    // and the first of the file's.
    there.shape = spec.InFile();
    there.strides.resize(there.shape.size());
    dense.shape = specs_[t].InFile();
    dense.strides = DenseStridesOf(dense.shape);
    if (read) {
      SpreadTokens(*rows, dense, there);
    } else {
      GatherTokens(*rows, there, dense);
    }
  }
}

}  // namespace lockstep::verify
