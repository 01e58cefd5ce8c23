// Draws cases of an order (N20, N21) and holds every way to compute them
// against the scalar reference, bit by bit: for order=amx, on each target that
// runs here, the matrix unit, multiply-adds that flush and guarded ones. What
// the reference answers is held against digests in a file, which other machines
// reproduce.
//   lockstep_order_campaign ORDER FILE CASES [CANDIDATE...] [!CANDIDATE...]
// Candidates (of `lockstep verify`) have to agree, too; those behind a ! are
// known to be wrong, and have to differ.
// Exit codes: 0 as wanted, 1 not, 2 usage.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "optimized/attention_forward.h"
#include "optimized/plan.h"
#include "tests/fuzz/order_cases.h"
#include "tests/support/runnable_targets.h"
#include "verify/base/digest.h"
#include "verify/base/io/files.h"
#include "verify/candidate/candidate.h"
#include "verify/ops/attention_forward/trial.h"
#include "verify/registry/ops.h"

namespace lockstep::verify {
namespace {

// One way to compute a case.
struct Way {
  std::string name;
  optimized::Caps caps;
  std::unique_ptr<Candidate> candidate;  // in place of a plan from caps
  bool wrong = false;                    // has to differ
  int64_t same = 0;
  int64_t differ = 0;
  std::string first;  // case that differs
  optimized::AttentionForwardExecution counts;
};

std::vector<Way> BuiltinWays(ProductOrder order) {
  struct Form {
    const char* name;
    bool native, flush;
  };
  constexpr Form kForms[] = {{" native", true, true},
                             {" flushed", false, true},
                             {" guarded", false, false}};
  std::vector<Way> ways;
  if (order != ProductOrder::kAmx) return ways;  // no SIMD kernel has them
  for (const std::string& target : test::RunnableTargets()) {
    for (const Form& form : kForms) {
      Way& way = ways.emplace_back();
      way.name = target + form.name;
      way.caps.target = target;
      way.caps.threads = 1;
      way.caps.native_dot = form.native;
      way.caps.flush = form.flush;
    }
  }
  return ways;
}

std::string DigestsOf(const Trial& trial, const OutputSet& outputs) {
  std::string text;
  for (size_t t = 0; t < outputs.tensors.size(); ++t) {
    text += trial.outputs()[t].name + "=" +
            DigestTensor(outputs.tensors[t].const_view()) + " ";
  }
  return text;
}

// Why there is no answer; empty if there is one.
std::string RunPlanned(const AttentionForwardTrial& trial,
                       const OrderCase& drawn, const OutputSet& outputs,
                       Way* way) {
  optimized::Caps caps = way->caps;
  caps.tile_rows = drawn.tile_rows;
  caps.tile_keys = drawn.tile_keys;
  const auto plan = optimized::MakePlan(trial.data().problem, caps);
  if (!plan.ok()) return plan.message();
  optimized::AttentionForwardExecution ran;
  const Status status =
      optimized::AttentionForward(trial.data().problem, trial.data().inputs,
                                  plan.value(), AttentionViews(outputs), &ran);
  if (!status.ok()) return status.message();
  way->counts.tiles_matrix += ran.tiles_matrix;
  way->counts.rows_fixed += ran.rows_fixed;
  way->counts.rows_online += ran.rows_online;
  way->counts.rows_redone += ran.rows_redone;
  way->counts.rows_empty += ran.rows_empty;
  return "";
}

std::string RunCandidate(const Trial& trial, const OrderCase& drawn,
                         const OutputSet& outputs, Way* way) {
  const CaseRequest request = {.call = &drawn.call, .line = drawn.line};
  way->candidate->Reset();
  const Status status = way->candidate->Prepare(request);
  if (!status.ok()) return status.message();
  Execution ran;
  const RunOutcome outcome =
      way->candidate->Run(request, trial, {}, outputs, &ran);
  return outcome.state == RunOutcome::State::kRan ? "" : outcome.message;
}

// Errors: there is no answer, which is no difference.
Status Try(const AttentionForwardTrial& trial, const OrderCase& drawn,
           const std::string& expected, Way* way) {
  const Result<OutputSet> outputs = trial.Allocate(0);
  if (!outputs.ok()) return outputs.status();
  const std::string why = way->candidate
                              ? RunCandidate(trial, drawn, outputs.value(), way)
                              : RunPlanned(trial, drawn, outputs.value(), way);
  if (!why.empty()) {
    return Status::Error(way->name + " on '" + drawn.line + "': " + why);
  }
  if (DigestsOf(trial, outputs.value()) == expected) {
    ++way->same;
    return {};
  }
  if (way->differ++ == 0) {
    way->first =
        "case " + std::to_string(way->same + 1) + ", " + drawn.line +
        (way->candidate ? ""
                        : " with tile=" + std::to_string(drawn.tile_rows) +
                              "x" + std::to_string(drawn.tile_keys));
  }
  return {};
}

// "COUNT HEX" lines of the file; -1 cases of a line that is none.
std::vector<std::pair<int64_t, std::string>> ReadGoldens(
    std::string_view text) {
  std::vector<std::pair<int64_t, std::string>> goldens;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.starts_with('#')) continue;
    const size_t blank = std::min(line.find(' '), line.size());
    int64_t count = -1;
    std::from_chars(line.data(), line.data() + blank, count);
    const std::string_view digest =
        line.substr(std::min(blank + 1, line.size()));
    if (!IsDigest(digest)) count = -1;
    goldens.emplace_back(count, digest);
  }
  return goldens;
}

class Campaign {
 public:
  Campaign(ProductOrder order,
           std::vector<std::pair<int64_t, std::string>> goldens,
           std::vector<Way> ways)
      : order_(order), goldens_(std::move(goldens)), ways_(std::move(ways)) {}

  Status Run(int64_t cases) {
    OrderCases draws(order_);
    for (int64_t n = 1; n <= cases; ++n) {
      const OrderCase drawn = draws.Next();
      features_.Add(domain_.features_of(drawn.call));
      const auto opened = AttentionForwardTrial::Open(drawn.call, {});
      if (!opened.ok()) return opened.status();
      const auto& trial =
          static_cast<const AttentionForwardTrial&>(*opened.value());
      const Result<OutputSet> outputs = trial.Allocate(0);
      if (!outputs.ok()) return outputs.status();
      Execution ran;
      trial.kernels().RunReference(outputs.value(), &ran);
      const std::string expected = DigestsOf(trial, outputs.value());
      all_.UpdateText(drawn.line + " => " + expected + "\n");
      for (Way& way : ways_) {
        const Status status = Try(trial, drawn, expected, &way);
        if (!status.ok()) return status;
      }
      HoldAgainstGolden(n);
      if (n % 10000 == 0 && n < cases) {
        std::printf("%lld cases\n", static_cast<long long>(n));
        std::fflush(stdout);
      }
    }
    return {};
  }

  // Whether everything is as wanted.
  bool Print(int64_t cases) const {
    bool good = held_ > 0 && !missed_;
    if (held_ == 0) std::puts("no line of the file has so few cases");
    for (const Way& way : ways_) {
      const bool wanted = way.wrong ? way.differ > 0 : way.differ == 0;
      good = good && wanted;
      std::printf("%s %s: %lld same, %lld differ",
                  wanted ? "as wanted" : "WRONG", way.name.c_str(),
                  static_cast<long long>(way.same),
                  static_cast<long long>(way.differ));
      const auto& counts = way.counts;
      if (!way.candidate) {
        std::printf(
            "; tiles of the matrix unit %lld; rows fixed %lld, online %lld, "
            "redone %lld, empty %lld",
            static_cast<long long>(counts.tiles_matrix),
            static_cast<long long>(counts.rows_fixed),
            static_cast<long long>(counts.rows_online),
            static_cast<long long>(counts.rows_redone),
            static_cast<long long>(counts.rows_empty));
      }
      if (way.differ > 0) std::printf("; first %s", way.first.c_str());
      std::puts("");
    }
    PrintFeatures(cases);
    return good;
  }

 private:
  void HoldAgainstGolden(int64_t n) {
    for (const auto& [count, digest] : goldens_) {
      if (count != n) continue;
      ++held_;
      const std::string found = all_.Hex();
      const bool same = found == digest;
      missed_ = missed_ || !same;
      std::printf("%s reference: answers to %lld cases have the digest %s\n",
                  same ? "as wanted" : "WRONG", static_cast<long long>(n),
                  found.c_str());
    }
  }
  void PrintFeatures(int64_t cases) const {
    std::string missing;
    size_t met = 0;
    for (size_t f = 0; f < features_.has.size(); ++f) {
      if (features_.has[f]) {
        ++met;
      } else {
        missing += std::string(" ") + domain_.features()[f];
      }
    }
    std::printf("%lld cases of order=%s with %zu of %zu features; without:%s\n",
                static_cast<long long>(cases), OrderName(order_), met,
                features_.has.size(), missing.c_str());
  }

  const ProductOrder order_;
  const Domain domain_ = *FindDomain("attention_forward").value();
  const std::vector<std::pair<int64_t, std::string>> goldens_;
  std::vector<Way> ways_;
  Digester all_;  // of lines and answers
  FeatureSet features_;
  int held_ = 0;
  bool missed_ = false;
};

int Usage(const std::string& what) {
  std::fprintf(stderr,
               "lockstep_order_campaign ORDER FILE CASES [CANDIDATE...]: %s\n",
               what.c_str());
  return 2;
}

int Main(std::span<const char* const> arguments) {
  if (arguments.size() < 3) return Usage("three arguments or more are wanted");
  using enum ProductOrder;
  std::optional<ProductOrder> order;
  for (const ProductOrder known : {kAmx, kAmpere, kHopper}) {
    if (arguments[0] == std::string_view(OrderName(known))) order = known;
  }
  if (!order) return Usage("ORDER is amx, ampere or hopper");
  arguments = arguments.subspan(1);
  const auto bytes = ReadWholeFile(arguments[0], size_t{1} << 16);
  if (!bytes.ok()) return Usage(bytes.message());
  auto goldens = ReadGoldens(
      {reinterpret_cast<const char*>(bytes->data()), bytes->size()});
  for (const auto& [count, digest] : goldens) {
    if (count < 1) return Usage("a line is not 'CASES DIGEST'");
  }
  const std::string_view number = arguments[1];
  int64_t cases = 0;
  const char* const end = number.data() + number.size();
  const auto read = std::from_chars(number.data(), end, cases);
  if (read.ptr != end || cases < 1) return Usage("CASES is a number from 1 on");
  std::vector<Way> ways = BuiltinWays(*order);
  for (const char* argument : arguments.subspan(2)) {
    std::string_view spec = argument;
    Way& way = ways.emplace_back();
    way.wrong = spec.starts_with('!');
    if (way.wrong) spec.remove_prefix(1);
    way.name = spec;
    auto candidate = ParseCandidate(spec);
    if (!candidate.ok()) return Usage(candidate.message());
    way.candidate = std::move(candidate.value());
  }
  Campaign campaign(*order, std::move(goldens), std::move(ways));
  const Status status = campaign.Run(cases);
  if (!status.ok()) std::puts(status.message().c_str());
  const bool good = campaign.Print(cases);
  return good && status.ok() ? 0 : 1;
}

}  // namespace
}  // namespace lockstep::verify

int main(int argc, char** argv) {
  return lockstep::verify::Main(
      {argv + 1, static_cast<size_t>(argc > 0 ? argc - 1 : 0)});
}
