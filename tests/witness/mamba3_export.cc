// mamba3_export DIR: random scans and what the reference makes of them, one
// safetensors file each, for tests/witness/mamba3_witness.py. Two files of
// every regime are longer than the others; nothing depends on the machine.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "reference/contract/mamba3_scan.h"
#include "reference/contract/numerics.h"
#include "tests/support/mamba3_problem.h"

namespace lockstep::test {
namespace {

constexpr int kSmall = 40;  // problems of each regime
constexpr int kLong = 2;
constexpr const char* kRegimeNames[] = {"typical", "short", "long", "decay"};

using Shape = std::vector<int64_t>;

// Tensors one after the other, and their entries of the header.
class File {
 public:
  template <typename T>
  void Add(const std::string& name, const std::vector<T>& x,
           const Shape& shape) {
    const size_t begin = data_.size();
    data_.append(reinterpret_cast<const char*>(x.data()), x.size() * sizeof(T));
    header_ << "\"" << name << "\":{\"dtype\":\""
            << (std::is_same_v<T, float> ? "F32" : "I32") << "\",\"shape\":[";
    for (size_t r = 0; r < shape.size(); ++r) {
      header_ << (r > 0 ? "," : "") << shape[r];
    }
    header_ << "],\"data_offsets\":[" << begin << "," << data_.size() << "]},";
  }
  void AddText(const std::string& key, const std::string& value) {
    text_ << (text_.tellp() > 0 ? "," : "") << "\"" << key << "\":\"" << value
          << "\"";
  }
  bool Write(const std::string& path) const {
    std::string header =
        "{" + header_.str() + "\"__metadata__\":{" + text_.str() + "}}";
    header.resize((header.size() + 7) / 8 * 8, ' ');
    const uint64_t size = header.size();
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(&size), sizeof(size));
    file << header << data_;
    return file.good();
  }

 private:
  std::ostringstream header_;
  std::ostringstream text_;
  std::string data_;
};

// As the op sees it: what the bf16 lane cuts off is not exported.
std::vector<float> Seen(const std::vector<float>& x, Lane lane) {
  std::vector<float> seen = x;
  for (float& value : seen) {
    if (lane == Lane::kF32) break;
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    value = std::bit_cast<float>(bits & 0xffff0000u);
  }
  return seen;
}

void AddCarry(const std::string& prefix, const Mamba3ScanProblem& p,
              int64_t runs, const Mamba3CarryData& carry, File& file) {
  file.Add(prefix + "theta", carry.theta, {runs, p.heads, p.angles});
  file.Add(prefix + "h", carry.h, {runs, p.heads, p.head_dim, p.state_dim});
  file.Add(prefix + "k", carry.k, {runs, p.ranks, p.heads, p.state_dim});
  file.Add(prefix + "v", carry.v, {runs, p.heads, p.head_dim});
}

void AddInputs(const Mamba3Instance& t, File& file) {
  const Mamba3ScanProblem& p = t.problem;
  const Shape time = {p.batch, p.heads, p.length};
  const Shape groups = {p.batch, p.length, p.ranks, p.groups, p.state_dim};
  const Shape channels = {p.batch, p.length, p.heads, p.head_dim};
  const Shape ranks = {p.heads, p.ranks, p.head_dim};
  file.Add("q", Seen(t.q, p.lane), groups);
  file.Add("k", Seen(t.k, p.lane), groups);
  file.Add("v", Seen(t.v, p.lane), channels);
  file.Add("a", t.a, time);
  file.Add("dt", t.dt, time);
  file.Add("tau", Seen(t.tau, p.lane), time);
  file.Add("vartheta", Seen(t.vartheta, p.lane),
           {p.batch, p.length, p.heads, p.angles});
  if (p.bias) file.Add("bq", t.bq, {p.heads, p.ranks, p.state_dim});
  if (p.bias) file.Add("bk", t.bk, {p.heads, p.ranks, p.state_dim});
  if (p.skip) file.Add("d", t.d, {p.heads});
  if (p.gate) file.Add("z", Seen(t.z, p.lane), channels);
  if (p.mimo()) file.Add("psi", t.psi, ranks);
  if (p.mimo() && p.gate) file.Add("zeta", t.zeta, ranks);
  if (p.reduce) file.Add("phi", t.phi, ranks);
  if (p.norm_epsilon) {
    file.Add("norm_weight", t.norm_weight, {p.heads, p.head_dim});
    file.AddText("norm_epsilon", std::to_string(*p.norm_epsilon));
  }
  if (p.runs == Mamba3ScanProblem::Runs::kSegments) {
    file.Add("segments", t.segments, {p.batch, p.length});
  }
  if (p.runs == Mamba3ScanProblem::Runs::kCuSeqlens) {
    std::vector<int32_t> cu(t.cu_seqlens.begin(), t.cu_seqlens.end());
    file.Add("cu_seqlens", cu, {static_cast<int64_t>(cu.size())});
  }
}

bool Export(Mamba3Instance& t, const std::string& path) {
  const Mamba3Result result = t.RunReference();
  File file;
  file.AddText("variant", t.problem.mimo() ? "mimo" : "siso");
  file.AddText("lane", LaneName(t.problem.lane));
  file.AddText("rotated_lane", LaneName(t.problem.rotated_lane));
  AddInputs(t, file);
  const int64_t runs = t.CountRuns();
  if (t.problem.carry_in) {
    AddCarry("carry_", t.problem, runs, t.carry, file);
  }
  file.Add("y", result.y, YShape(t.problem));
  AddCarry("y_carry_", t.problem, runs, result.carry, file);
  return file.Write(path);
}

bool ExportAll(const std::string& directory) {
  std::mt19937 rng(3);
  for (const Regime regime : kRegimes) {
    for (int i = 0; i < kSmall + kLong; ++i) {
      Mamba3Instance t = RandomMamba3(rng, regime);
      if (i >= kSmall) {
        t.problem.batch = 1;
        t.problem.length = 300;
        t.problem.state_dim = 24;
        t.problem.angles = i % 2 == 0 ? 6 : 12;
        t.problem.head_dim = 19;
        t.problem.runs = Mamba3ScanProblem::Runs::kRows;
        t.Fill(rng, regime);
      }
      const std::string path = directory + "/" +
                               kRegimeNames[static_cast<int>(regime)] + "_" +
                               std::to_string(i) + ".safetensors";
      if (!Export(t, path)) return false;
    }
  }
  return true;
}

}  // namespace
}  // namespace lockstep::test

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: mamba3_export DIR\n");
    return 2;
  }
  return lockstep::test::ExportAll(argv[1]) ? 0 : 2;
}
