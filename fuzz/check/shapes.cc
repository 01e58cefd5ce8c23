#include "fuzz/check/shapes.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <span>
#include <utility>

#include "fuzz/where.h"
#include "verify/base/status_macros.h"
#include "verify/case/case.h"
#include "verify/registry/ops.h"

namespace lockstep::fuzz::check {
namespace {

constexpr const char* kBackward = "attention_backward";

// Says whether the op has the key. Gradients have no pages and no fp8.
bool Has(const std::string& op, const std::string& key) {
  const std::set<std::string> forward = {"page",  "alias", "kvlane",
                                         "qlane", "order", "split"};
  return op != kBackward || !forward.contains(key);
}

// Each of the lines with the keys of the condition, once.
Result<std::vector<std::string>> Within(const std::vector<std::string>& bases,
                                        const Looked& looked,
                                        const std::string& lane) {
  std::vector<WhereKey> where;
  if (!looked.where.empty()) {
    ASSIGN_OR_RETURN(where, ParseWhere(looked.where));
    std::erase_if(
        where, [&](const WhereKey& key) { return !Has(looked.op, key.key); });
  }
  std::vector<std::string> lines;
  std::string why;
  for (size_t n = 0; n < bases.size(); ++n) {
    const std::string text =
        looked.op + " " + bases[n] + (lane == "f32" ? "" : " lane=" + lane);
    Result<verify::Case> c = verify::ParseCase(text, verify::Ops());
    if (!c.ok()) {
      why = c.message();
      continue;
    }
    const auto met = WithKeys(where, {std::move(c.value())}, n, &why);
    if (!met) continue;
    const std::string line = verify::MinimalLine(*met);
    const bool twice =
        std::find(lines.begin(), lines.end(), line) != lines.end();
    if (!twice) lines.push_back(line);
  }
  if (!lines.empty()) return lines;
  return Status::Error("no case is as the kernel takes it: " + why);
}

std::string Square(int64_t n, const std::string& rest) {
  return "sq=" + std::to_string(n) + " skv=" + std::to_string(n) + " " + rest;
}

bool IsScan(const Looked& looked) { return looked.op == "ssd_scan"; }

// The lines, and one of documents where the kernel is told of them.
std::vector<std::string> WithSegments(const Looked& looked,
                                      std::vector<std::string> lines) {
  if (looked.where.find("kv_seg=q_seg") != looked.where.npos) {
    lines.push_back(
        Square(64, "b=2 hq=2 d=32 q_seg=runs:30,34 kv_seg=runs:30,34"));
  }
  return lines;
}

}  // namespace

Result<std::vector<std::string>> ReadingLines(const Looked& looked,
                                              const std::string& lane) {
  if (IsScan(looked)) {
    return Within({"b=2 t=37 h=4 g=2 n=16 p=8", "t=128 h=2 n=8 p=4",
                   "b=2 t=64 h=2 n=16 p=8 seg=runs:30,34",
                   "b=2 t=64 h=2 n=16 p=5 seg=runs:30,34",
                   "b=2 t=128 h=2 n=16 p=8 carry=yes"},
                  looked, lane);
  }
  const int64_t past = std::max<int64_t>(67, looked.reach + 40);
  return Within(
      WithSegments(looked,
                   {Square(past, "d=64"),
                    "hq=4 hkv=2 sq=19 skv=" + std::to_string(past) + " d=32",
                    "hq=2 sq=" + std::to_string(past) + " skv=19 d=32",
                    Square(past, "hq=2 d=64 fill=normal:1+caps:0.1,20 cap=1")}),
      looked, lane);
}

Result<std::vector<std::string>> ShapeLines(const Looked& looked,
                                            const std::string& lane) {
  if (IsScan(looked)) {
    return Within(
        {"t=1 n=4 p=4", "b=2 t=37 h=2 n=24 p=20", "t=33 h=4 g=2 n=16 p=8",
         "b=2 t=64 h=2 n=16 p=8 seg=runs:30,34",
         "t=64 h=2 n=16 p=5 seg=runs:13,51", "t=193 h=2 n=16 p=16",
         "t=70 h=2 n=64 p=64", "b=2 t=128 h=2 n=16 p=8 carry=yes"},
        looked, lane);
  }
  const int64_t tiles = std::max<int64_t>(193, looked.reach + 66);
  return Within(
      WithSegments(looked,
                   {Square(1, "d=16"), "b=2 hq=2 sq=37 skv=53 d=40",
                    Square(33, "hq=4 hkv=2 d=32"), "hq=2 sq=1 skv=129 d=64",
                    Square(tiles, "d=64"), Square(70, "hq=2 d=128")}),
      looked, lane);
}

Result<std::vector<std::string>> TimedLines(const Looked& looked,
                                            const std::string& lane) {
  if (IsScan(looked)) return Within({"t=1024 h=8 n=64 p=64"}, looked, lane);
  return Within({Square(1024, "hq=8 d=64")}, looked, lane);
}

Result<std::vector<std::string>> GradientLines(const Looked& looked) {
  Looked backward = looked;
  backward.op = kBackward;
  const int64_t past = std::max<int64_t>(67, looked.reach + 40);
  return Within({Square(33, "hq=4 hkv=2 d=32"), Square(past, "d=32"),
                 "b=2 hq=2 sq=19 skv=37 d=40"},
                backward, "f32");
}

Result<std::vector<std::string>> ClaimLines(const Looked& looked,
                                            const std::string& lane) {
  if (IsScan(looked)) return Within({"b=2 t=64 h=2 n=16 p=8"}, looked, lane);
  return Within({Square(33, "b=2 hq=2 d=32")}, looked, lane);
}

}  // namespace lockstep::fuzz::check
