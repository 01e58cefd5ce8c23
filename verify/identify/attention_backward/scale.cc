// Where the scale is multiplied into dq and dk, by the bits of products with a
// scale of 0.1372.
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "verify/base/format.h"
#include "verify/base/status_macros.h"
#include "verify/emulator/numbers.h"
#include "verify/identify/attention_backward/kernel.h"

namespace lockstep::verify {
namespace {

constexpr size_t kCalls = 4;

float InLane(float x, Lane lane) { return RoundTo(x, NumberTypeOf(lane)); }

// What the products know of the kernel.
class Products {
 public:
  explicit Products(const GradKernel& kernel) : kernel_(kernel) {}

  float scale() const { return static_cast<float>(kOddScale); }
  float Out(float x) const { return InLane(x, kernel_.grads()); }
  float Ds(float x) const { return RoundedBy(*kernel_.ds, x); }
  // q or k as dS meets it, times `factor` in its own lane.
  float Operand(float x, float factor) const {
    const float y = InLane(x * factor, kernel_.lane());
    const NumericProfile& p = kernel_.profile;
    return p.operand_round == Rounding::kTruncate ? TruncateTo(y, p.operand_qk)
                                                  : RoundTo(y, p.operand_qk);
  }
  // The sum of heads that are passed on in 16 bits.
  float Narrow(float x) const {
    return RoundTo(x, NarrowTypeOf(kernel_.lane()));
  }
  // a[0] b[0] + a[1] b[1] as the accumulator has it.
  float Sum(std::span<const float> a, std::span<const float> b,
            const Accumulator& acc) const {
    return Accumulate(
        {a.data(), 1, b.data(), 1, static_cast<int64_t>(a.size())}, 0.0f, acc);
  }

 private:
  const GradKernel& kernel_;
};

float DqBy(DqScaleAt at, const Products& by, float ds, float k,
           const Accumulator& acc) {
  const float s = by.scale();
  const std::array<float, 1> d = {by.Ds(at == DqScaleAt::kDs ? ds * s : ds)};
  const std::array<float, 1> x = {
      by.Operand(k, at == DqScaleAt::kK ? s : 1.0f)};
  const float sum = by.Sum(d, x, acc);
  return by.Out(at == DqScaleAt::kEnd ? sum * s : sum);
}

// Orders and roundings of the sum over two heads that a profile leaves open.
enum class HeadWay : uint8_t { kChain, kApart, kRounded, kRoundedTwice, kKept };
constexpr HeadWay kWays[] = {HeadWay::kChain, HeadWay::kApart,
                             HeadWay::kRounded, HeadWay::kRoundedTwice,
                             HeadWay::kKept};
bool IsRounded(HeadWay way) {
  return way != HeadWay::kChain && way != HeadWay::kApart;
}

// `turned`: the second head first.
float DkBy(DkScaleAt at, HeadWay way, bool turned, const Products& by,
           std::array<float, 2> ds, std::array<float, 2> q,
           const Accumulator& acc) {
  const float s = by.scale();
  if (turned) {
    std::swap(ds[0], ds[1]);
    std::swap(q[0], q[1]);
  }
  std::array<float, 2> d{}, x{}, head{};
  for (size_t h = 0; h < 2; ++h) {
    d[h] = by.Ds(at == DkScaleAt::kDs ? ds[h] * s : ds[h]);
    x[h] = by.Operand(q[h], at == DkScaleAt::kQ ? s : 1.0f);
    const float product = by.Sum({&d[h], 1}, {&x[h], 1}, acc);
    const auto narrow = [&](float y, bool really) {
      return really ? by.Narrow(y) : y;
    };
    const float kept =
        narrow(product, way == HeadWay::kRoundedTwice || way == HeadWay::kKept);
    head[h] = narrow(at == DkScaleAt::kHead ? kept * s : kept, IsRounded(way));
  }
  float sum = head[0] + head[1];
  if (way == HeadWay::kChain) sum = by.Sum(d, x, acc);
  if (way == HeadWay::kKept) {
    const float second = by.Sum({&d[1], 1}, {&x[1], 1}, acc);
    sum = by.Narrow(head[0] + (at == DkScaleAt::kHead ? head[1] : second));
  }
  return by.Out(at == DkScaleAt::kSum ? sum * s : sum);
}

// One answer, of one head or of two.
struct Product {
  std::array<float, 2> ds, x;
  float answer = 0;
};

bool Near(float a, float b, double rounding) {
  return std::fabs(double{a} - double{b}) <= rounding * std::fabs(double{b});
}

// What there is to say where no single place explains the bits.
void SayNoPlace(GradKernel* kernel, const char* key, bool several,
                const std::vector<Product>& products) {
  bool near = true;
  for (const Product& one : products) {
    double exact = 0;
    for (size_t h = 0; h < 2; ++h) {
      exact += double{one.ds[h]} * double{one.x[h]} * kOddScale;
    }
    const double rounding = kernel->lane() == Lane::kBf16 ? 0x1p-5 : 0x1p-8;
    near = near && Near(one.answer, static_cast<float>(exact), rounding);
  }
  if (several || near) {
    kernel->Say(key, Word::kAssumed,
                several ? "products had the bits of more than one place of "
                          "the scale"
                        : "products with the scale had the bits of no known "
                          "place, and were right to what a place may cost");
    return;
  }
  kernel->Say(key, Word::kCannotTell,
              Format("dS of %.9g times %.9g, with a scale of %g, gave %.9g",
                     double{products[0].ds[0]}, double{products[0].x[0]},
                     kOddScale, double{products[0].answer}));
}

GradQuestion QuestionOf(Rows q, float d_o) {
  GradQuestion question;
  question.forward = Mirrored(std::move(q), {1});
  question.forward.scale = kOddScale;
  question.d_o = {{d_o}};
  return question;
}

Result<std::vector<Product>> DqProducts(GradKernel* kernel) {
  std::vector<Product> products;
  const auto x = DrawnNumbers(kCalls, 8, 161);
  for (size_t n = 0; n < kCalls; ++n) {
    GradQuestion question =
        QuestionOf({std::vector<float>(kGradWide, 0.0f)}, x[n]);
    const auto k = DrawnNumbers(kGradWide, 8, 162 + n);
    question.forward.k[0] = k;
    ASSIGN_OR_RETURN(const auto answer, kernel->AskGrad(question));
    const float ds = x[n] * static_cast<float>(kernel->unit(2));
    for (size_t c = 0; c < kGradWide; ++c) {
      products.push_back({{ds, 0}, {k[c], 0}, answer.dq[0][c]});
    }
  }
  return products;
}

Result<std::vector<Product>> DkProducts(GradKernel* kernel, bool two) {
  std::vector<Product> products;
  const auto x = DrawnNumbers(2 * kCalls, 8, 171);
  for (size_t n = 0; n < kCalls; ++n) {
    const auto q = DrawnNumbers(kGradWide, 8, 172 + n);
    const auto other = DrawnNumbers(kGradWide, 8, 182 + n);
    GradQuestion question = QuestionOf({q}, x[2 * n]);
    if (two) {
      question.more_q = {{other}};
      question.more_d_o = {{{x[2 * n + 1]}}};
    }
    ASSIGN_OR_RETURN(const auto answer, kernel->AskGrad(question));
    const auto unit = static_cast<float>(kernel->unit(2));
    for (size_t c = 0; c < kGradWide; ++c) {
      products.push_back({{x[2 * n] * unit, two ? x[2 * n + 1] * unit : 0},
                          {q[c], two ? other[c] : 0},
                          answer.dk[0][c]});
    }
  }
  return products;
}

std::string Came(size_t n, const char* text) {
  return Format("%zu products with a scale of %g had the bits of a scale %s", n,
                kOddScale, text);
}

struct DqPlace {
  DqScaleAt at;
  const char* text;
};
constexpr DqPlace kDqPlaces[] = {{DqScaleAt::kEnd, "after the sum"},
                                 {DqScaleAt::kDs, "in dS"},
                                 {DqScaleAt::kK, "in k"}};
struct DkPlace {
  DkScaleAt at;
  const char* text;
};
constexpr DkPlace kDkPlaces[] = {{DkScaleAt::kSum, "after the heads' sum"},
                                 {DkScaleAt::kDs, "in dS"},
                                 {DkScaleAt::kQ, "in q"},
                                 {DkScaleAt::kHead, "after each head's sum"}};

// Whether the place explains every product, heads in f32, or rounded.
bool DkExplains(const GradKernel& kernel, DkScaleAt at, bool rounded,
                const std::vector<Product>& products) {
  const Products by(kernel);
  for (const HeadWay way : kWays) {
    if (IsRounded(way) != rounded) continue;
    // Heads that are scaled are apart.
    if (at == DkScaleAt::kHead && way == HeadWay::kChain) continue;
    for (const bool turned : {false, true}) {
      bool all = true;
      for (size_t i = 0; i < products.size() && all; ++i) {
        const Product& one = products[i];
        all = one.answer == DkBy(at, way, turned, by, one.ds, one.x,
                                 kernel.profile.grad->acc_dkv);
      }
      if (all) return true;
    }
  }
  return false;
}

}  // namespace

void AskDqScale(GradKernel* kernel) {
  const char* key = "grad.dq_scale_at";
  if (kernel->ds == nullptr) return;
  const auto products = DqProducts(kernel);
  if (!kernel->Answered(key, products)) return;
  const Products by(*kernel);
  const DqPlace* place = nullptr;
  int explain = 0;
  for (const DqPlace& one : kDqPlaces) {
    bool all = true;
    for (const Product& p : products.value()) {
      all = all && p.answer == DqBy(one.at, by, p.ds[0], p.x[0],
                                    kernel->profile.grad->acc_dq);
    }
    if (!all) continue;
    ++explain;
    place = &one;
  }
  if (explain != 1) {
    SayNoPlace(kernel, key, explain > 1, products.value());
    return;
  }
  kernel->profile.grad->dq_scale_at = place->at;
  kernel->Say(key, Word::kSeen, Came(products->size(), place->text));
}

void AskDkScale(GradKernel* kernel) {
  const char* key = "grad.dk_scale_at";
  if (kernel->ds == nullptr) return;
  // Two heads of a group, where the kernel has groups.
  auto products = DkProducts(kernel, true);
  if (!products.ok()) products = DkProducts(kernel, false);
  if (!kernel->Answered(key, products)) return;
  for (const bool rounded : {false, true}) {
    const DkPlace* place = nullptr;
    int explain = 0;
    for (const DkPlace& one : kDkPlaces) {
      if (!DkExplains(*kernel, one.at, rounded, products.value())) continue;
      ++explain;
      place = &one;
    }
    if (explain == 0 && !rounded) continue;
    if (rounded && explain > 0) {
      const bool f16 = NarrowTypeOf(kernel->lane()) == NumberType::kF16;
      const std::string type = f16 ? "f16" : "bf16";
      kernel->Say("grad.dkv_state", Word::kReported,
                  "dk of two heads had the bits of a sum of two dk in " + type,
                  "grad.dkv_state = " + type);
    }
    if (explain != 1) {
      SayNoPlace(kernel, key, explain > 1, products.value());
      return;
    }
    kernel->profile.grad->dk_scale_at = place->at;
    kernel->Say(key, Word::kSeen, Came(products->size(), place->text));
    return;
  }
}

}  // namespace lockstep::verify
