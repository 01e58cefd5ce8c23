// Messages that the judge sends.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "verify/base/io/json.h"
#include "verify/candidate/wire/messages.h"

namespace lockstep::verify {
namespace {

// A line of JSON as it grows. Calls are written some hundred thousand times a
// run: a tree of values for each took half of the judge's time.
class Writer {
 public:
  std::string Take() { return std::move(text_); }

  // Punctuation, and words of our own that need no escapes.
  Writer& Plain(std::string_view text) {
    text_ += text;
    return *this;
  }
  Writer& Text(std::string_view text) {
    bool plain = true;  // of all characters at once
    for (const char c : text) {
      plain &= c >= ' ' && c <= '~' && c != '"' && c != '\\';
    }
    if (!plain) return Plain(DumpJson(text, -1));
    return Plain("\"").Plain(text).Plain("\"");
  }
  Writer& Key(std::string_view name) { return Text(name).Plain(":"); }
  // One of our words, which hold nothing to escape.
  template <size_t kSize>
  Writer& Key(const char (&word)[kSize]) {
    return Plain("\"").Plain({word, kSize - 1}).Plain("\":");
  }
  Writer& Truth(bool truth) { return Plain(truth ? "true" : "false"); }
  // Integers that a reader with binary64 numbers would change are strings.
  Writer& Integer(int64_t value) {
    constexpr int64_t kExact = int64_t{1} << 53;
    char digits[24];
    const char* end = std::to_chars(digits, std::end(digits), value).ptr;
    const std::string_view number(digits, static_cast<size_t>(end - digits));
    return value >= -kExact && value <= kExact ? Plain(number) : Text(number);
  }
  // As C's %a writes it; "inf" and "nan" included.
  Writer& Real(double value) {
    char text[48];
    std::snprintf(text, sizeof(text), "%a", value);
    return Text(text);
  }
  // each(element) writes one.
  template <typename Elements, typename Each>
  Writer& List(const Elements& elements, const Each& each) {
    Plain("[");
    Separated(elements, each);
    return Plain("]");
  }
  // each(element) writes a key and a value.
  template <typename Elements, typename Each>
  Writer& Object(const Elements& elements, const Each& each) {
    Plain("{");
    Separated(elements, each);
    return Plain("}");
  }
  Writer& Integers(const std::vector<int64_t>& values) {
    return List(values, [&](int64_t value) { Integer(value); });
  }

 private:
  template <typename Elements, typename Each>
  void Separated(const Elements& elements, const Each& each) {
    bool first = true;
    for (const auto& element : elements) {
      if (!first) text_ += ',';
      first = false;
      each(element);
    }
  }

  std::string text_;
};

void WriteScalar(const ScalarValue& value, Writer* out) {
  if (const auto* truth = std::get_if<bool>(&value)) {
    out->Truth(*truth);
  } else if (const auto* count = std::get_if<int64_t>(&value)) {
    out->Integer(*count);
  } else if (const auto* real = std::get_if<double>(&value)) {
    out->Real(*real);
  } else if (const auto* word = std::get_if<std::string>(&value)) {
    out->Text(*word);
  } else if (const auto* list = std::get_if<std::vector<int64_t>>(&value)) {
    out->Integers(*list);
  } else {
    out->Plain("null");
  }
}

void WriteSide(const char* name, int64_t side, Writer* out) {
  out->Plain(",").Key(name);
  if (side == kUnlimited) {
    out->Plain("null");
  } else {
    out->Integer(side);
  }
}

// `listed`: the dense mask in place of which there are lists.
void WriteMask(const MaskExpr& mask, std::optional<size_t> listed,
               Writer* out) {
  static constexpr const char* kKinds[] = {"full",    "causal", "window",
                                           "chunked", "prefix", "sink",
                                           "dense",   "and",    "or"};
  if (mask.kind == MaskExpr::Kind::kDense && mask.dense == listed) {
    out->Plain("{").Key("kind").Text("index");
    out->Plain(",").Key("tensor").Text("indices").Plain("}");
    return;
  }
  const bool blocks = mask.block_q != 1 || mask.block_k != 1;
  out->Plain("{").Key("kind").Text(
      blocks ? "blocks" : kKinds[static_cast<size_t>(mask.kind)]);
  switch (mask.kind) {
    case MaskExpr::Kind::kFull:
    case MaskExpr::Kind::kCausal:
      break;
    case MaskExpr::Kind::kWindow:
      WriteSide("left", mask.left, out);
      WriteSide("right", mask.right, out);
      break;
    case MaskExpr::Kind::kChunked:
      out->Plain(",").Key("chunk").Integer(mask.chunk);
      break;
    case MaskExpr::Kind::kPrefix:
      out->Plain(",").Key("prefix").Integers(mask.prefix);
      break;
    case MaskExpr::Kind::kSink:
      out->Plain(",").Key("tokens").Integer(mask.tokens);
      break;
    case MaskExpr::Kind::kDense:
      out->Plain(",").Key("tensor").Text("dense_mask_" +
                                         std::to_string(mask.dense));
      if (blocks) {
        out->Plain(",").Key("block").Integers({mask.block_q, mask.block_k});
      }
      break;
    case MaskExpr::Kind::kAnd:
    case MaskExpr::Kind::kOr:
      out->Plain(",").Key("terms").List(
          mask.children,
          [&](const MaskExpr& term) { WriteMask(term, listed, out); });
      break;
  }
  out->Plain("}");
}

void WritePlaced(const PlacedTensor& tensor, const char* file, Writer* out) {
  out->Key(tensor.name).Plain("{").Key("file").Text(file);
  out->Plain(",").Key("offset").Integer(tensor.offset);
  out->Plain(",").Key("dtype").Text(ElementTypeName(tensor.type));
  out->Plain(",").Key("shape").Integers(tensor.shape);
  out->Plain(",").Key("strides").Integers(tensor.strides);
  if (tensor.page_bytes > 0) {
    out->Plain(",").Key("pages").Plain("{").Key("offset");
    out->Integer(tensor.first_page);
    out->Plain(",").Key("bytes").Integer(tensor.page_bytes).Plain("}");
  }
  out->Plain("}");
}

void WriteProblem(const KernelInputs& inputs, const std::string& case_line,
                  Writer* out) {
  out->Plain(",").Key("op").Text(inputs.op);
  out->Plain(",").Key("case").Text(case_line);
  out->Plain(",").Key("scalars").Object(inputs.scalars,
                                        [&](const auto& scalar) {
                                          out->Key(scalar.first);
                                          WriteScalar(scalar.second, out);
                                        });
  if (inputs.masks.empty()) return;
  out->Plain(",").Key("masks").List(inputs.masks, [&](const MaskExpr& mask) {
    WriteMask(mask, inputs.listed, out);
  });
}

void WriteOutputs(const CallMessage& call, Writer* out) {
  if (!call.tables) {
    out->Plain(",").Key("outputs").Object(
        call.placed_outputs,
        [&](const PlacedTensor& tensor) { WritePlaced(tensor, "out", out); });
    return;
  }
  out->Plain(",").Key("tables").Plain("{").Key("file").Text("out");
  out->Plain(",").Key("offset").Integer((*call.tables)[0]);
  out->Plain(",").Key("bytes").Integer((*call.tables)[1]).Plain("}");
}

template <typename Tensors>
void WriteShapes(const char* name, const Tensors& tensors, Writer* out) {
  out->Plain(",").Key(name).Object(tensors, [&](const auto& tensor) {
    out->Key(tensor.name).Plain("{").Key("dtype");
    out->Text(ElementTypeName(tensor.type));
    out->Plain(",").Key("shape").Integers(tensor.shape).Plain("}");
  });
}

// `type` and nothing else.
Writer Message(const char* type) {
  Writer out;
  out.Plain("{").Key("type").Text(type);
  return out;
}

}  // namespace

std::string HelloLine(const std::string& judge, int64_t in_bytes,
                      int64_t out_bytes) {
  Writer out = Message("hello");
  out.Plain(",").Key("wire").Text(kWireVersion);
  out.Plain(",").Key("judge").Text(judge);
  out.Plain(",").Key("in").Plain("{").Key("bytes").Integer(in_bytes);
  out.Plain("},").Key("out").Plain("{").Key("bytes").Integer(out_bytes);
  return out.Plain("}}\n").Take();
}

std::string CallLine(const CallMessage& call) {
  Writer out = Message("call");
  out.Plain(",").Key("id").Integer(call.id);
  WriteProblem(*call.inputs, call.case_line, &out);
  out.Plain(",").Key("inputs").Object(
      call.placed_inputs,
      [&](const PlacedTensor& tensor) { WritePlaced(tensor, "in", &out); });
  WriteOutputs(call, &out);
  out.Plain(",").Key("variation").Plain("{");
  if (call.threads) out.Key("threads").Integer(*call.threads);
  if (call.threads && call.splits) out.Plain(",");
  if (call.splits) out.Key("splits").Integer(*call.splits);
  return out.Plain("}}\n").Take();
}

std::string ResetLine(int64_t id) {
  return Message("reset").Plain(",").Key("id").Integer(id).Plain("}\n").Take();
}

std::string ByeLine() { return Message("bye").Plain("}\n").Take(); }

std::string CallFile(const KernelInputs& inputs, const std::string& case_line,
                     const std::vector<NamedOutput>& outputs) {
  Writer out = Message("call");
  WriteProblem(inputs, case_line, &out);
  WriteShapes("inputs", inputs.tensors, &out);
  WriteShapes("outputs", outputs, &out);
  // For people, too.
  return DumpJson(ParseJson(out.Plain("}").Take()), 1) + "\n";
}

}  // namespace lockstep::verify
