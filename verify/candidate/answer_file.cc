#include "verify/candidate/answer_file.h"

#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "verify/base/io/files.h"
#include "verify/base/io/npy.h"
#include "verify/candidate/wide_output.h"
#include "verify/ops/varlen/token_outputs.h"

namespace lockstep::verify {
namespace {

namespace fs = std::filesystem;

bool HasNpy(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    if (at->path().extension() == ".npy") return true;
  }
  return false;
}

// The spelling of a lane in safetensors.
const char* TypeName(Lane lane) { return LaneRowOf(lane).safetensors; }

std::string ShapeText(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (const int64_t n : shape) {
    text += (text.size() > 1 ? ", " : "") + std::to_string(n);
  }
  return text + "]";
}

// Extents of 1 at the end do not count: lse may be [b, h, i] or [b, h, i, 1].
std::vector<int64_t> Trimmed(std::vector<int64_t> shape, size_t rank) {
  while (shape.size() > rank && shape.back() == 1) shape.pop_back();
  return shape;
}

std::vector<int64_t> WantedShape(const OutputSpec& spec) {
  return Trimmed(spec.InFile(), 3);
}

// A batch of one may go unsaid, as kernels on one row leave it out.
bool SameShape(const std::vector<int64_t>& shape,
               const std::vector<int64_t>& wanted) {
  if (Trimmed(shape, 3) == wanted) return true;
  std::vector<int64_t> batched = shape;
  batched.insert(batched.begin(), 1);
  return wanted[0] == 1 && (batched == wanted || Trimmed(batched, 3) == wanted);
}

// What is wrong with a tensor, and what would be right.
std::string Mismatch(const OutputSpec& spec, const SafetensorsTensor& found) {
  const std::vector<int64_t> wanted = WantedShape(spec);
  std::string text = std::string("expected ") + TypeName(spec.lane) + " " +
                     ShapeText(wanted) + ", produced " + found.type + " " +
                     ShapeText(found.shape);
  if (wanted[0] == 1 && !SameShape(found.shape, wanted)) {
    text += "; a batch of 1 may be left out";
  }
  if (found.type != TypeName(spec.lane)) {
    const std::string lane = LaneName(spec.lane);
    text += spec.lane == Lane::kF32
                ? "; write this output as f32"
                : "; the case has lane=" + lane + ": write " + lane +
                      ", as the kernel rounds it, or f32 where the profile "
                      "says out = f32, or ask for a case with lane=f32";
  }
  return text;
}

// Dense bytes into a strided tensor.
void Scatter(const uint8_t* bytes, const LaneTensor& to) {
  const auto& n = to.view.shape;
  const auto& s = to.view.strides;
  const auto width = static_cast<int64_t>(LaneBytes(to.view.lane));
  auto* data = static_cast<uint8_t*>(to.view.data);
  for (int64_t b = 0; b < n[0]; ++b) {
    for (int64_t h = 0; h < n[1]; ++h) {
      for (int64_t i = 0; i < n[2]; ++i) {
        for (int64_t c = 0; c < n[3]; ++c) {
          const int64_t at = b * s[0] + h * s[1] + i * s[2] + c * s[3];
          std::memcpy(data + at * width, bytes, static_cast<size_t>(width));
          bytes += width;
        }
      }
    }
  }
}

// An output that the kernel says it has not.
void FillNan(const LaneTensor& to) {
  const uint32_t nan = LaneRowOf(to.view.lane).nan;
  std::vector<uint8_t> dense;
  int64_t elements = 1;
  for (const int64_t extent : to.view.shape) elements *= extent;
  const size_t width = LaneBytes(to.view.lane);
  dense.resize(static_cast<size_t>(elements) * width);
  for (size_t at = 0; at < dense.size(); at += width) {
    std::memcpy(dense.data() + at, &nan, width);  // little endian
  }
  Scatter(dense.data(), to);
}

}  // namespace

Result<std::string> FindAnswer(const std::string& place) {
  const fs::path folder = place;
  std::error_code error;
  if (fs::is_regular_file(folder / kUsualAnswer, error)) {
    return (folder / kUsualAnswer).string();
  }
  std::vector<std::string> others;
  std::string archive;
  for (fs::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    const fs::path extension = at->path().extension();
    const fs::path stem = at->path().stem();
    const std::string name = at->path().string();
    if (extension == ".npz") archive = name;
    if (extension == ".safetensors" && stem != "inputs" && stem != "expected")
      others.push_back(name);
  }
  if (others.size() == 1) return others.front();
  if (others.empty() && HasNpy(folder)) return folder.string();
  if (others.empty() && !archive.empty()) {
    return Status::Error(WhyNoNpz(archive, folder.string()));
  }
  return Status::Error(
      "no " + (folder / kUsualAnswer).string() +
      (others.empty() ? ", and no o.npy, lse.npy, ... in its place"
                      : ", and " + std::to_string(others.size()) +
                            " other safetensors files, and any of them could "
                            "be the answer"));
}

std::string WhoseAnswer(const std::string& path, int64_t max_bytes) {
  constexpr const char* kOwn = "expected.safetensors";
  const std::string own = std::string(kOwn) + ", the judge's own answer";
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  if (error) return "";
  if (fs::path(path).filename() == kOwn || real.filename() == kOwn) return own;
  for (const fs::path& folder :
       {fs::path(path).parent_path(), real.parent_path()}) {
    const fs::path expected = folder / kOwn;
    if (fs::equivalent(expected, real, error)) return "a link to " + own;
    if (fs::file_size(expected, error) != fs::file_size(real, error) || error) {
      continue;
    }
    const auto limit = static_cast<size_t>(max_bytes);
    const auto one = ReadWholeFile(real.string(), limit);
    const auto other = ReadWholeFile(expected.string(), limit);
    if (one.ok() && other.ok() && one.value() == other.value()) {
      return "byte for byte " + own;
    }
  }
  return "";
}

std::string NoTensor(const OutputSpec& spec, const SafetensorsFile& file) {
  std::string has;
  for (const SafetensorsTensor& tensor : file.tensors()) {
    has += (has.empty() ? "" : ", ") + tensor.name;
  }
  return " has no tensor '" + spec.name + "', which is part of the answer (" +
         TypeName(spec.lane) + " " + ShapeText(WantedShape(spec)) +
         "); it has: " + (has.empty() ? "none" : has);
}

RunOutcome TakeAnswer(const AnswerFile& answer, const CaseRequest& request,
                      const Trial& trial, const OutputSet& own) {
  const Result<FileOutputs> made = FileOutputs::Make(trial, own);
  if (!made.ok()) {
    return {RunOutcome::State::kError, made.message(), "", "answer"};
  }
  const OutputSet& outputs = made->set();
  for (size_t t = 0; t < outputs.tensors.size(); ++t) {
    const OutputSpec& spec = made->specs()[t];
    const SafetensorsTensor* found = answer.file->Find(spec.name);
    if (found == nullptr && MayLack(request, spec)) {
      FillNan(outputs.tensors[t]);
      continue;
    }
    if (found == nullptr) {
      return {RunOutcome::State::kError,
              "candidate files: " + answer.path + NoTensor(spec, *answer.file),
              "", "answer"};
    }
    const std::vector<int64_t> wanted = WantedShape(spec);
    const bool wide =
        request.WideOut() && spec.lane != Lane::kF32 && found->type == "F32";
    if ((found->type != TypeName(spec.lane) && !wide) ||
        !SameShape(found->shape, wanted)) {
      return {RunOutcome::State::kMismatch, Mismatch(spec, *found), spec.name};
    }
    if (wide) {
      const MutableLaneView& to = outputs.tensors[t].view;
      const std::vector<int64_t> shape = {to.shape.begin(), to.shape.end()};
      RoundElements(to.lane, shape, found->bytes.data(), DenseStridesOf(shape),
                    to.data, {to.strides.begin(), to.strides.end()});
    } else {
      Scatter(found->bytes.data(), outputs.tensors[t]);
    }
  }
  made->Read();
  return {RunOutcome::State::kRan, WhoseAnswer(answer.path, request.max_bytes),
          ""};
}

}  // namespace lockstep::verify
