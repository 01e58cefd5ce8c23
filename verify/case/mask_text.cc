#include "verify/case/mask_text.h"

#include <array>
#include <string_view>
#include <utility>

#include "verify/base/status_macros.h"
#include "verify/base/trade_words.h"
#include "verify/case/attention_forward/case.h"

namespace lockstep::verify {
namespace {

using Kind = MaskExpr::Kind;

constexpr std::array<std::string_view, 10> kTerms = {
    "full", "causal", "window", "chunked", "prefix",
    "sink", "dense",  "random", "blocks",  "index"};

// In the order of DenseSource::ListDraw.
constexpr std::array<std::string_view, 3> kListDraws = {"uniform", "ascending",
                                                        "recent"};

constexpr const char* kBlocksForm =
    "expected blocks:BQxBK:DENSITY or blocks:BQxBK:file:PATH";
constexpr const char* kIndexForm =
    "expected index:K, index:K:uniform, index:K:ascending, index:K:recent or "
    "index:K:file:PATH";

// Brackets that only group leave no node, so text may nest a little deeper
// than trees; this bounds the parser's recursion.
constexpr int kMaxBrackets = 2 * kMaxMaskDepth;

class MaskParser {
 public:
  MaskParser(Scanner& in, std::vector<DenseSource>* dense)
      : in_(in), dense_(dense) {}

  Result<MaskExpr> ParseOr() {
    return ParseList('|', Kind::kOr, [this] { return ParseAnd(); });
  }

 private:
  // operand (separator operand)*; one operand alone is itself.
  template <typename Operand>
  Result<MaskExpr> ParseList(char separator, Kind kind, Operand operand) {
    MaskExpr list;
    list.kind = kind;
    do {
      ASSIGN_OR_RETURN(auto child, operand());
      if (child.kind == kind) {
        for (MaskExpr& grandchild : child.children) {
          list.children.push_back(std::move(grandchild));
        }
      } else {
        list.children.push_back(std::move(child));
      }
    } while (in_.Accept(separator));
    if (list.children.size() > 1) return list;
    return MaskExpr(std::move(list.children[0]));
  }

  Result<MaskExpr> ParseAnd() {
    return ParseList('&', Kind::kAnd, [this] { return ParseOperand(); });
  }

  Result<MaskExpr> ParseOperand() {
    const size_t open = in_.position();
    if (!in_.Accept('(')) return ParseTerm();
    if (++brackets_ > kMaxBrackets) {
      return in_.ErrorAt(open, "brackets are nested more than " +
                                   std::to_string(kMaxBrackets) + " deep");
    }
    auto inner = ParseOr();
    if (!inner.ok()) return inner;
    if (!in_.Accept(')')) {
      return in_.Error("expected ')' for the '(' of column " +
                       std::to_string(open + 1) + ", found " +
                       (in_.AtEnd() ? "the end" : Quote(in_.Rest())));
    }
    --brackets_;
    return inner;
  }

  Result<MaskExpr> ParseTerm();
  Status ParseArguments(std::string_view name, MaskExpr* term);
  Status ParseWindow(MaskExpr* term);
  Status ParsePrefix(MaskExpr* term);
  Status ParseDense(std::string_view name, MaskExpr* term);
  Status ParseBlocks(MaskExpr* term, DenseSource* source);
  Status ParseIndex(DenseSource* source);
  Status ParsePath(std::string_view name, DenseSource* source);
  Status ParseDensity(DenseSource* source);

  Scanner& in_;
  std::vector<DenseSource>* dense_;
  int brackets_ = 0;
};

Result<MaskExpr> MaskParser::ParseTerm() {
  const size_t start = in_.position();
  const std::string_view name = in_.Word();
  if (name.empty()) {
    return in_.Error("expected a mask term (" + ListNames(kTerms) +
                     ") or '(', found " +
                     (in_.AtEnd() ? "the end" : Quote(in_.Rest())));
  }
  MaskExpr term;
  if (name == "full" || name == "causal") {
    term.kind = name == "full" ? Kind::kFull : Kind::kCausal;
    return term;
  }
  bool known = false;
  for (const std::string_view candidate : kTerms) known |= candidate == name;
  if (!known) {
    const std::string nearest = InTradeOr(
        WordFor::kMaskTerm, name,
        "nearest is '" + std::string(NearestName(name, kTerms)) + "'");
    return in_.ErrorAt(start,
                       "unknown mask term " + Quote(name) + "; " + nearest);
  }
  if (!in_.Accept(':')) {
    return in_.Error("mask term '" + std::string(name) +
                     "' wants ':' and its arguments");
  }
  RETURN_IF_ERROR(ParseArguments(name, &term));
  return term;
}

Status MaskParser::ParseArguments(std::string_view name, MaskExpr* term) {
  if (name == "window") return ParseWindow(term);
  if (name == "prefix") return ParsePrefix(term);
  if (name == "chunked" || name == "sink") {
    ASSIGN_OR_RETURN(const auto value, in_.Int());
    term->kind = name == "sink" ? Kind::kSink : Kind::kChunked;
    (name == "sink" ? term->tokens : term->chunk) = value;
    return {};
  }
  return ParseDense(name, term);
}

Status MaskParser::ParseWindow(MaskExpr* term) {
  term->kind = Kind::kWindow;
  for (int64_t* side : {&term->left, &term->right}) {
    if (side == &term->right && !in_.Accept(',')) {
      return in_.Error("window wants two sides, window:L,R");
    }
    if (in_.AcceptWord("inf")) {
      *side = kUnlimited;
      continue;
    }
    const size_t start = in_.position();
    ASSIGN_OR_RETURN(const auto count, in_.Int());
    if (count < 0) {
      return in_.ErrorAt(start,
                         "a window side is a count of keys, 0 or more, "
                         "or 'inf'; found " +
                             std::to_string(count));
    }
    *side = count;
  }
  return {};
}

Status MaskParser::ParsePrefix(MaskExpr* term) {
  term->kind = Kind::kPrefix;
  do {
    ASSIGN_OR_RETURN(const auto count, in_.Int());
    term->prefix.push_back(count);
  } while (in_.Accept(','));
  return {};
}

Status MaskParser::ParsePath(std::string_view name, DenseSource* source) {
  return ScanPinned(in_, name, "&|()", &source->path, &source->digest);
}

Status MaskParser::ParseDensity(DenseSource* source) {
  ASSIGN_OR_RETURN(source->density, in_.Real());
  return {};
}

// After "blocks:".
Status MaskParser::ParseBlocks(MaskExpr* term, DenseSource* source) {
  ASSIGN_OR_RETURN(const auto block_q, in_.Int());
  if (!in_.Accept('x')) return in_.Error(kBlocksForm);
  ASSIGN_OR_RETURN(const auto block_k, in_.Int());
  if (!in_.Accept(':')) return in_.Error(kBlocksForm);
  source->block_q = block_q;
  source->block_k = block_k;
  if (!in_.AcceptWord("file")) {
    source->kind = DenseSource::Kind::kBlocks;
    return ParseDensity(source);
  }
  if (!in_.Accept(':')) return in_.Error(kBlocksForm);
  source->kind = DenseSource::Kind::kBlockFile;
  term->block_q = source->block_q;
  term->block_k = source->block_k;
  return ParsePath("blocks:BQxBK:file:", source);
}

// After "index:".
Status MaskParser::ParseIndex(DenseSource* source) {
  source->kind = DenseSource::Kind::kIndex;
  ASSIGN_OR_RETURN(const auto entries, in_.Int());
  source->entries = entries;
  if (!in_.Accept(':')) return {};
  for (size_t n = 0; n < kListDraws.size(); ++n) {
    if (!in_.AcceptWord(kListDraws[n])) continue;
    source->draw = static_cast<DenseSource::ListDraw>(n);
    return {};
  }
  if (!in_.AcceptWord("file") || !in_.Accept(':')) {
    return in_.Error(kIndexForm);
  }
  source->kind = DenseSource::Kind::kIndexFile;
  return ParsePath("index:K:file:", source);
}

Status MaskParser::ParseDense(std::string_view name, MaskExpr* term) {
  DenseSource source;
  Status status;
  if (name == "dense") {
    source.kind = DenseSource::Kind::kFile;
    status = ParsePath(name, &source);
  } else if (name == "index") {
    status = ParseIndex(&source);
  } else {
    status =
        name == "blocks" ? ParseBlocks(term, &source) : ParseDensity(&source);
  }
  if (!status.ok()) return status;
  term->kind = Kind::kDense;
  term->dense = dense_->size();
  dense_->push_back(std::move(source));
  return {};
}

std::string FormatSide(int64_t side) {
  return side == kUnlimited ? "inf" : std::to_string(side);
}

std::string FormatPath(const DenseSource& source) {
  return FormatPinned(source.path, source.digest);
}

std::string FormatDense(const DenseSource& source) {
  using From = DenseSource::Kind;
  if (source.kind == From::kFile) return "dense:" + FormatPath(source);
  if (source.kind == From::kRandom) {
    return "random:" + FormatNumber(source.density);
  }
  if (source.listed()) {
    const std::string list = "index:" + std::to_string(source.entries);
    if (source.kind == From::kIndexFile)
      return list + ":file:" + FormatPath(source);
    if (source.draw == DenseSource::ListDraw::kUniform) return list;
    return list + ":" +
           std::string(kListDraws[static_cast<size_t>(source.draw)]);
  }
  const std::string blocks = "blocks:" + std::to_string(source.block_q) + "x" +
                             std::to_string(source.block_k) + ":";
  return blocks + (source.kind == From::kBlockFile
                       ? "file:" + FormatPath(source)
                       : FormatNumber(source.density));
}

std::string FormatPrefix(const std::vector<int64_t>& prefix) {
  std::string text = "prefix:";
  for (size_t i = 0; i < prefix.size(); ++i) {
    text += (i > 0 ? "," : "") + std::to_string(prefix[i]);
  }
  return text;
}

}  // namespace

std::span<const std::string_view> MaskTerms() { return kTerms; }

Result<MaskExpr> ParseMask(Scanner& in, std::vector<DenseSource>* dense) {
  return MaskParser(in, dense).ParseOr();
}

std::string FormatMask(const MaskExpr& mask,
                       std::span<const DenseSource> dense) {
  switch (mask.kind) {
    case Kind::kFull:
      return "full";
    case Kind::kCausal:
      return "causal";
    case Kind::kWindow:
      return "window:" + FormatSide(mask.left) + "," + FormatSide(mask.right);
    case Kind::kChunked:
      return "chunked:" + std::to_string(mask.chunk);
    case Kind::kPrefix:
      return FormatPrefix(mask.prefix);
    case Kind::kSink:
      return "sink:" + std::to_string(mask.tokens);
    case Kind::kDense:
      return FormatDense(dense[mask.dense]);
    case Kind::kAnd:
    case Kind::kOr:
      break;
  }
  std::string text;
  for (const MaskExpr& child : mask.children) {
    if (!text.empty()) text += mask.kind == Kind::kAnd ? '&' : '|';
    // Only an Or inside an And needs brackets: flattening left no others.
    const bool brackets = mask.kind == Kind::kAnd && child.kind == Kind::kOr;
    const std::string inner = FormatMask(child, dense);
    text += brackets ? "(" + inner + ")" : inner;
  }
  return text;
}

}  // namespace lockstep::verify
