#include "verify/host/call.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

namespace lockstep::verify::host {
namespace {

constexpr int64_t kPage = 4096;

// Beyond 2^53 integers are decimal strings.
int64_t AsInteger(const Json& json) {
  if (!json.is_string()) return json.get<int64_t>();
  const auto text = json.get<std::string>();
  int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

int32_t TypeOf(const std::string& name) {
  if (name == "f32") return LOCKSTEP_F32;
  if (name == "bf16") return LOCKSTEP_BF16;
  return name == "u8" ? LOCKSTEP_U8 : LOCKSTEP_I32;
}

int64_t BytesOf(int32_t type) {
  if (type == LOCKSTEP_U8) return 1;
  return type == LOCKSTEP_BF16 ? 2 : 4;
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

int32_t KindOf(const std::string& name) {
  static constexpr std::pair<const char*, int32_t> kKinds[] = {
      {"full", LOCKSTEP_MASK_FULL},     {"causal", LOCKSTEP_MASK_CAUSAL},
      {"window", LOCKSTEP_MASK_WINDOW}, {"chunked", LOCKSTEP_MASK_CHUNKED},
      {"prefix", LOCKSTEP_MASK_PREFIX}, {"sink", LOCKSTEP_MASK_SINK},
      {"dense", LOCKSTEP_MASK_DENSE},   {"and", LOCKSTEP_MASK_AND},
      {"or", LOCKSTEP_MASK_OR},
  };
  for (const auto& [word, kind] : kKinds) {
    if (name == word) return kind;
  }
  return 0;
}

int64_t SideOf(const Json& node, const char* name) {
  const auto side = node.find(name);
  return side == node.end() || side->is_null() ? LOCKSTEP_NO_BOUND
                                               : AsInteger(*side);
}

}  // namespace

CallReader::CallReader(const Json& message, SharedFiles* files)
    : message_(message), files_(files) {
  case_line_ = message.value("case", "");
  threads_ = message.at("variation").value("threads", 0);
  OpenPages();
}

void CallReader::OpenPages() {
  std::vector<SharedFiles::Pages> pages;
  if (const auto outputs = message_.find("outputs");
      outputs != message_.end()) {
    for (const Json& output : *outputs) {
      const Json& own = output.at("pages");
      pages.emplace_back(AsInteger(own.at("offset")),
                         AsInteger(own.at("bytes")));
    }
  }
  const auto tables = message_.find("tables");
  if (tables != message_.end()) {
    const int64_t offset = AsInteger(tables->at("offset"));
    room_bytes_ = AsInteger(tables->at("bytes"));
    room_ = Place("out", offset, room_bytes_);
    const int64_t first = offset / kPage * kPage;
    const int64_t end = (offset + room_bytes_ + kPage - 1) / kPage * kPage;
    pages.emplace_back(first, end - first);
  }
  std::sort(pages.begin(), pages.end());
  if (status_.ok()) status_ = files_->Open(pages);
}

uint8_t* CallReader::Place(const std::string& file, int64_t offset,
                           int64_t bytes) {
  const bool in = file == "in";
  const int64_t there = in ? files_->in_bytes() : files_->out_bytes();
  if (offset >= 0 && bytes >= 0 && offset <= there && bytes <= there - offset) {
    return (in ? files_->in() : files_->out()) + offset;
  }
  status_ = Status::Error("a tensor lies outside of its file");
  return nullptr;
}

const lockstep_tensor* CallReader::Tensor(const char* group,
                                          const std::string& name) {
  const auto tensors = message_.find(group);
  if (tensors == message_.end()) return nullptr;
  const auto found = tensors->find(name);
  if (found == tensors->end()) return nullptr;
  const Json& json = *found;
  const Json& shape = json.at("shape");
  if (shape.size() > LOCKSTEP_MAX_RANK) {
    status_ = Status::Error(name + " has more axes than lockstep_tensor");
    return nullptr;
  }
  lockstep_tensor tensor = {};
  tensor.size = sizeof(tensor);
  tensor.abi = LOCKSTEP_ABI;
  tensor.dtype = TypeOf(json.at("dtype").get<std::string>());
  tensor.rank = static_cast<int32_t>(shape.size());
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    tensor.shape[axis] = AsInteger(shape[axis]);
    tensor.strides[axis] = AsInteger(json.at("strides").at(axis));
  }
  const int64_t span = SpanOf(tensor);
  uint8_t* data = Place(json.at("file").get<std::string>(),
                        AsInteger(json.at("offset")), span);
  if (data == nullptr) return nullptr;
  tensor.data = data;
  tensors_.push_back(tensor);
  areas_.push_back({words_.emplace_back(name).c_str(), data, data + span});
  return &tensors_.back();
}

const lockstep_tensor* CallReader::Input(const char* name) {
  return Tensor("inputs", name);
}

const lockstep_tensor* CallReader::Output(const char* name) {
  return Tensor("outputs", name);
}

const std::vector<lockstep_named_tensor>& CallReader::Tables() {
  for (const auto& [name, json] : message_.at("inputs").items()) {
    if (!std::string_view(name).starts_with("tables.")) continue;
    lockstep_named_tensor table = {};
    table.size = sizeof(table);
    table.abi = LOCKSTEP_ABI;
    table.tensor = Tensor("inputs", name);
    table.name = words_.back().c_str();
    tables_.push_back(table);
  }
  return tables_;
}

const std::vector<const lockstep_mask*>& CallReader::Masks() {
  if (const auto masks = message_.find("masks"); masks != message_.end()) {
    for (const Json& node : *masks) heads_.push_back(Mask(node));
  }
  return heads_;
}

const lockstep_mask* CallReader::Mask(const Json& node) {
  lockstep_mask& mask = masks_.emplace_back();
  mask = {};
  mask.size = sizeof(mask);
  mask.abi = LOCKSTEP_ABI;
  mask.kind = KindOf(node.at("kind").get<std::string>());
  mask.left = SideOf(node, "left");
  mask.right = SideOf(node, "right");
  if (node.contains("chunk")) mask.chunk = AsInteger(node["chunk"]);
  if (node.contains("tokens")) mask.tokens = AsInteger(node["tokens"]);
  if (node.contains("prefix")) mask.prefix = Keep(node["prefix"]);
  if (node.contains("tensor")) {
    mask.dense = Input(node["tensor"].get<std::string>().c_str());
  }
  if (node.contains("terms")) {
    std::vector<const lockstep_mask*>& terms = terms_.emplace_back();
    for (const Json& term : node["terms"]) terms.push_back(Mask(term));
    mask.terms = terms.data();
    mask.term_count = static_cast<int32_t>(terms.size());
  }
  return &mask;
}

const int64_t* CallReader::Keep(const Json& integers) {
  std::vector<int64_t>& kept = integers_.emplace_back();
  for (const Json& value : integers) kept.push_back(AsInteger(value));
  return kept.data();
}

const Json& CallReader::Scalar(const char* name) const {
  static const Json null;
  const Json& scalars = message_.at("scalars");
  const auto found = scalars.find(name);
  return found == scalars.end() ? null : *found;
}

int64_t CallReader::Integer(const char* name) const {
  const Json& scalar = Scalar(name);
  return scalar.is_null() ? 0 : AsInteger(scalar);
}

int32_t CallReader::Truth(const char* name) const {
  return Scalar(name).get<bool>() ? 1 : 0;
}

const char* CallReader::Word(const char* name) {
  return words_.emplace_back(Scalar(name).get<std::string>()).c_str();
}

double CallReader::Real(const char* name, double none) const {
  const Json& scalar = Scalar(name);
  if (scalar.is_null()) return none;
  return std::strtod(scalar.get<std::string>().c_str(), nullptr);
}

const int64_t* CallReader::Integers(const char* name) {
  return Keep(Scalar(name));
}

int32_t CallReader::Lane(const char* name) const {
  return TypeOf(Scalar(name).get<std::string>());
}

}  // namespace lockstep::verify::host
