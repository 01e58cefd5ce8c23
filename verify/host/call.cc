#include "verify/host/call.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace lockstep::verify::host {
namespace {

constexpr int64_t kPage = 4096;

int32_t TypeOf(std::string_view name) {
  if (name == "f32") return LOCKSTEP_F32;
  if (name == "bf16") return LOCKSTEP_BF16;
  if (name == "f16") return LOCKSTEP_F16;
  if (name == "e4m3") return LOCKSTEP_E4M3;
  if (name == "e5m2") return LOCKSTEP_E5M2;
  return name == "u8" ? LOCKSTEP_U8 : LOCKSTEP_I32;
}

int64_t BytesOf(int32_t type) {
  if (type == LOCKSTEP_U8 || type == LOCKSTEP_E4M3 || type == LOCKSTEP_E5M2) {
    return 1;
  }
  return type == LOCKSTEP_BF16 || type == LOCKSTEP_F16 ? 2 : 4;
}

// Bytes from the first to the end of the last element; 0 if there is none.
int64_t SpanOf(const lockstep_tensor& tensor) {
  int64_t span = BytesOf(tensor.dtype);
  for (int32_t axis = 0; axis < tensor.rank; ++axis) {
    if (tensor.shape[axis] == 0) return 0;
    span += (tensor.shape[axis] - 1) * tensor.strides[axis];
  }
  return span;
}

// Of its elements alone; more than the span where a stride is 0.
int64_t ElementBytesOf(const lockstep_tensor& tensor) {
  int64_t bytes = BytesOf(tensor.dtype);
  for (int32_t axis = 0; axis < tensor.rank; ++axis) {
    bytes *= tensor.shape[axis];
  }
  return bytes;
}

int32_t KindOf(std::string_view name) {
  static constexpr std::pair<const char*, int32_t> kKinds[] = {
      {"full", LOCKSTEP_MASK_FULL},     {"causal", LOCKSTEP_MASK_CAUSAL},
      {"window", LOCKSTEP_MASK_WINDOW}, {"chunked", LOCKSTEP_MASK_CHUNKED},
      {"prefix", LOCKSTEP_MASK_PREFIX}, {"sink", LOCKSTEP_MASK_SINK},
      {"dense", LOCKSTEP_MASK_DENSE},   {"and", LOCKSTEP_MASK_AND},
      {"or", LOCKSTEP_MASK_OR},         {"blocks", LOCKSTEP_MASK_BLOCKS},
      {"index", LOCKSTEP_MASK_INDEX},
  };
  for (const auto& [word, kind] : kKinds) {
    if (name == word) return kind;
  }
  return 0;
}

int64_t SideOf(const Field& side) {
  return side ? side.Integer() : LOCKSTEP_NO_BOUND;
}

}  // namespace

CallReader::CallReader(Message* message, SharedFiles* files)
    : message_(message),
      root_(message->root()),
      scalars_(root_["scalars"]),
      inputs_(root_["inputs"]),
      outputs_(root_["outputs"]),
      files_(files) {
  case_line_ = root_["case"].Text();
  const Field variation = root_["variation"];
  threads_ = static_cast<int32_t>(variation["threads"].Integer());
  splits_ = static_cast<int32_t>(variation["splits"].Integer());
  OpenPages();
}

const Status& CallReader::status() const {
  return status_.ok() ? message_->status() : status_;
}

void CallReader::OpenPages() {
  std::vector<SharedFiles::Pages> pages;
  outputs_.ForEach([&](const Field& output) {
    const Field own = output["pages"];
    pages.emplace_back(own["offset"].Integer(), own["bytes"].Integer());
  });
  if (const Field tables = root_["tables"]) {
    const int64_t offset = tables["offset"].Integer();
    room_bytes_ = tables["bytes"].Integer();
    room_ = Place(false, offset, room_bytes_);
    const int64_t first = offset / kPage * kPage;
    const int64_t end = (offset + room_bytes_ + kPage - 1) / kPage * kPage;
    pages.emplace_back(first, end - first);
  }
  std::sort(pages.begin(), pages.end());
  if (status_.ok()) status_ = files_->Open(pages);
}

uint8_t* CallReader::Place(bool in, int64_t offset, int64_t bytes) {
  const int64_t there = in ? files_->in_bytes() : files_->out_bytes();
  if (offset >= 0 && bytes >= 0 && offset <= there && bytes <= there - offset) {
    return (in ? files_->in() : files_->out()) + offset;
  }
  status_ = Status::Error("a tensor lies outside of its file");
  return nullptr;
}

const lockstep_tensor* CallReader::Tensor(const Field& field) {
  if (!field) return nullptr;
  lockstep_tensor tensor = {};
  tensor.size = sizeof(tensor);
  tensor.abi = LOCKSTEP_ABI;
  tensor.dtype = TypeOf(field["dtype"].Text());
  field["shape"].ForEach([&](const Field& extent) {
    if (tensor.rank < LOCKSTEP_MAX_RANK) {
      tensor.shape[tensor.rank] = extent.Integer();
    }
    ++tensor.rank;
  });
  if (tensor.rank > LOCKSTEP_MAX_RANK) {
    status_ = Status::Error(std::string(field.name()) +
                            " has more axes than lockstep_tensor");
    return nullptr;
  }
  int32_t axis = 0;
  field["strides"].ForEach([&](const Field& stride) {
    if (axis < tensor.rank) tensor.strides[axis++] = stride.Integer();
  });
  const int64_t span = SpanOf(tensor);
  uint8_t* data =
      Place(field["file"].Text() == "in", field["offset"].Integer(), span);
  if (data == nullptr) return nullptr;
  tensor.data = data;
  tensors_.push_back(tensor);
  areas_.push_back(
      {words_.emplace_back(field.name()).c_str(), data, data + span});
  return &tensors_.back();
}

std::vector<DeviceTensor> CallReader::DeviceTensors() {
  std::vector<DeviceTensor> tensors;
  const uint8_t* const in = files_->in();
  auto area = areas_.begin();
  for (lockstep_tensor& tensor : tensors_) {
    auto* const host = static_cast<uint8_t*>(tensor.data);
    const bool input = host >= in && host < in + files_->in_bytes();
    const int64_t bytes = area->end - area->begin;
    tensors.push_back({area->name, input, host, bytes,
                       bytes - ElementBytesOf(tensor), &tensor.data});
    ++area;
  }
  return tensors;
}

const lockstep_tensor* CallReader::Input(const char* name) {
  return Tensor(inputs_[name]);
}

const lockstep_tensor* CallReader::Output(const char* name) {
  return Tensor(outputs_[name]);
}

const std::vector<lockstep_named_tensor>& CallReader::Tables() {
  inputs_.ForEach([&](const Field& field) {
    if (!field.name().starts_with("tables.")) return;
    lockstep_named_tensor table = {};
    table.size = sizeof(table);
    table.abi = LOCKSTEP_ABI;
    table.tensor = Tensor(field);
    table.name = words_.emplace_back(field.name()).c_str();
    tables_.push_back(table);
  });
  return tables_;
}

const std::vector<const lockstep_mask*>& CallReader::Masks() {
  root_["masks"].ForEach(
      [&](const Field& node) { heads_.push_back(Mask(node)); });
  return heads_;
}

const lockstep_mask* CallReader::Mask(const Field& node) {
  lockstep_mask& mask = masks_.emplace_back();
  mask = {};
  mask.size = sizeof(mask);
  mask.abi = LOCKSTEP_ABI;
  mask.kind = KindOf(node["kind"].Text());
  mask.left = SideOf(node["left"]);
  mask.right = SideOf(node["right"]);
  mask.chunk = node["chunk"].Integer();
  mask.tokens = node["tokens"].Integer();
  if (const Field prefix = node["prefix"]) mask.prefix = Keep(prefix);
  if (const Field tensor = node["tensor"]) {
    const bool lists = mask.kind == LOCKSTEP_MASK_INDEX;
    (lists ? mask.indices : mask.dense) = Tensor(inputs_[tensor.Text()]);
  }
  if (const Field block = node["block"]) {
    const int64_t* extents = Keep(block);
    mask.block_q = extents[0];
    mask.block_k = extents[1];
  }
  if (const Field children = node["terms"]) {
    std::vector<const lockstep_mask*>& terms = terms_.emplace_back();
    children.ForEach([&](const Field& term) { terms.push_back(Mask(term)); });
    mask.terms = terms.data();
    mask.term_count = static_cast<int32_t>(terms.size());
  }
  return &mask;
}

const int64_t* CallReader::Keep(const Field& integers) {
  std::vector<int64_t>& kept = integers_.emplace_back();
  integers.ForEach(
      [&](const Field& value) { kept.push_back(value.Integer()); });
  return kept.data();
}

int64_t CallReader::Integer(const char* name) const {
  return Scalar(name).Integer();
}

int32_t CallReader::Truth(const char* name) const {
  return Scalar(name).Truth() ? 1 : 0;
}

const char* CallReader::Word(const char* name) {
  return words_.emplace_back(Scalar(name).Text()).c_str();
}

double CallReader::Real(const char* name, double none) const {
  const Field scalar = Scalar(name);
  return scalar ? std::strtod(std::string(scalar.Text()).c_str(), nullptr)
                : none;
}

const int64_t* CallReader::Integers(const char* name) {
  return Keep(Scalar(name));
}

int32_t CallReader::Lane(const char* name) const {
  return TypeOf(Scalar(name).Text());
}

}  // namespace lockstep::verify::host
