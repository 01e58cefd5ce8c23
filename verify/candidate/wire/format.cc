// Messages that the judge sends.
#include <cmath>
#include <cstdio>
#include <variant>

#include "verify/base/io/json.h"
#include "verify/candidate/wire/messages.h"

namespace lockstep::verify {
namespace {

// As C's %a writes it; "inf" and "nan" included.
std::string HexFloat(double value) {
  char text[48];
  std::snprintf(text, sizeof(text), "%a", value);
  return text;
}

// Integers that a reader with binary64 numbers would change are strings.
Json IntegerJson(int64_t value) {
  constexpr int64_t kExact = int64_t{1} << 53;
  if (value >= -kExact && value <= kExact) return value;
  return std::to_string(value);
}

Json IntegersJson(const std::vector<int64_t>& values) {
  Json json = Json::array();
  for (const int64_t value : values) json.push_back(IntegerJson(value));
  return json;
}

Json ScalarJson(const ScalarValue& value) {
  if (const auto* truth = std::get_if<bool>(&value)) return *truth;
  if (const auto* count = std::get_if<int64_t>(&value)) {
    return IntegerJson(*count);
  }
  if (const auto* real = std::get_if<double>(&value)) return HexFloat(*real);
  if (const auto* word = std::get_if<std::string>(&value)) return *word;
  if (const auto* list = std::get_if<std::vector<int64_t>>(&value)) {
    return IntegersJson(*list);
  }
  return nullptr;
}

Json SideJson(int64_t side) {
  return side == kUnlimited ? Json(nullptr) : IntegerJson(side);
}

Json MaskJson(const MaskExpr& mask) {
  switch (mask.kind) {
    case MaskExpr::Kind::kFull:
      return {{"kind", "full"}};
    case MaskExpr::Kind::kCausal:
      return {{"kind", "causal"}};
    case MaskExpr::Kind::kWindow:
      return {{"kind", "window"},
              {"left", SideJson(mask.left)},
              {"right", SideJson(mask.right)}};
    case MaskExpr::Kind::kChunked:
      return {{"kind", "chunked"}, {"chunk", IntegerJson(mask.chunk)}};
    case MaskExpr::Kind::kPrefix:
      return {{"kind", "prefix"}, {"prefix", IntegersJson(mask.prefix)}};
    case MaskExpr::Kind::kSink:
      return {{"kind", "sink"}, {"tokens", IntegerJson(mask.tokens)}};
    case MaskExpr::Kind::kDense:
      return {{"kind", "dense"},
              {"tensor", "dense_mask_" + std::to_string(mask.dense)}};
    case MaskExpr::Kind::kAnd:
    case MaskExpr::Kind::kOr:
      break;
  }
  Json terms = Json::array();
  for (const MaskExpr& child : mask.children) terms.push_back(MaskJson(child));
  return {{"kind", mask.kind == MaskExpr::Kind::kAnd ? "and" : "or"},
          {"terms", terms}};
}

Json TensorJson(const PlacedTensor& tensor, const char* file) {
  Json json = {{"file", file},
               {"offset", IntegerJson(tensor.offset)},
               {"dtype", ElementTypeName(tensor.type)},
               {"shape", IntegersJson(tensor.shape)},
               {"strides", IntegersJson(tensor.strides)}};
  if (tensor.page_bytes > 0) {
    json["pages"] = {{"offset", IntegerJson(tensor.first_page)},
                     {"bytes", IntegerJson(tensor.page_bytes)}};
  }
  return json;
}

void AddProblem(const KernelInputs& inputs, const std::string& case_line,
                Json* json) {
  (*json)["op"] = inputs.op;
  (*json)["case"] = case_line;
  Json& scalars = (*json)["scalars"] = Json::object();
  for (const auto& [name, value] : inputs.scalars) {
    scalars[name] = ScalarJson(value);
  }
  if (inputs.masks.empty()) return;
  Json& masks = (*json)["masks"] = Json::array();
  for (const MaskExpr& mask : inputs.masks) masks.push_back(MaskJson(mask));
}

Json CallJson(const CallMessage& call) {
  Json json = {{"type", "call"}, {"id", call.id}};
  AddProblem(*call.inputs, call.case_line, &json);
  Json& inputs = json["inputs"] = Json::object();
  for (const PlacedTensor& tensor : call.placed_inputs) {
    inputs[tensor.name] = TensorJson(tensor, "in");
  }
  if (call.tables) {
    json["tables"] = {{"file", "out"},
                      {"offset", (*call.tables)[0]},
                      {"bytes", (*call.tables)[1]}};
  } else {
    Json& outputs = json["outputs"] = Json::object();
    for (const PlacedTensor& tensor : call.placed_outputs) {
      outputs[tensor.name] = TensorJson(tensor, "out");
    }
  }
  Json& variation = json["variation"] = Json::object();
  if (call.threads) variation["threads"] = *call.threads;
  return json;
}

std::string Line(const Json& json) { return DumpJson(json, -1) + "\n"; }

template <typename Tensors>
Json ShapesJson(const Tensors& tensors) {
  Json json = Json::object();
  for (const auto& tensor : tensors) {
    json[tensor.name] = {{"dtype", ElementTypeName(tensor.type)},
                         {"shape", IntegersJson(tensor.shape)}};
  }
  return json;
}

}  // namespace

std::string HelloLine(const std::string& judge, int64_t in_bytes,
                      int64_t out_bytes) {
  return Line({{"type", "hello"},
               {"wire", kWireVersion},
               {"judge", judge},
               {"in", {{"bytes", in_bytes}}},
               {"out", {{"bytes", out_bytes}}}});
}

std::string CallLine(const CallMessage& call) { return Line(CallJson(call)); }

std::string ResetLine(int64_t id) {
  return Line({{"type", "reset"}, {"id", id}});
}

std::string ByeLine() { return Line({{"type", "bye"}}); }

std::string CallFile(const KernelInputs& inputs, const std::string& case_line,
                     const std::vector<NamedOutput>& outputs) {
  Json json = {{"type", "call"}};
  AddProblem(inputs, case_line, &json);
  json["inputs"] = ShapesJson(inputs.tensors);
  json["outputs"] = ShapesJson(outputs);
  return DumpJson(json, 1) + "\n";
}

}  // namespace lockstep::verify
