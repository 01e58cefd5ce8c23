#include "fuzz/shard_writer.h"

#include <filesystem>
#include <system_error>

#include "verify/files.h"

namespace lockstep::fuzz {
namespace {

constexpr int kFlushEvery = 64;  // records

}  // namespace

Status ShardWriter::Open(const std::string& folder,
                         const CampaignHeader& header, Plan* plan) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  path_ = ShardPath(folder, header.shard);
  std::string first = HeaderLine(header);
  if (std::filesystem::exists(path_, error)) {
    const Status status = Resume(header, plan);
    if (!status.ok()) return status;
    first.clear();
  }
  file_.reset(std::fopen(path_.c_str(), "ab"));
  return Write(first, true);
}

Status ShardWriter::Write(const std::string& line, bool now) {
  bool good = file_ != nullptr && std::fwrite(line.data(), 1, line.size(),
                                              file_.get()) == line.size();
  // A kill loses at most what has not been flushed, and that is drawn again.
  if (good && (now || ++pending_ >= kFlushEvery)) {
    good = std::fflush(file_.get()) == 0;
    pending_ = 0;
  }
  return good ? Status() : Status::Error("cannot write " + path_);
}

Status ShardWriter::Resume(const CampaignHeader& header, Plan* plan) {
  const auto bytes = verify::ReadWholeFile(path_, size_t{1} << 34);
  if (!bytes.ok()) return bytes.status();
  const std::string text(bytes.value().begin(), bytes.value().end());
  if (text.find('\n') == std::string::npos) {
    return verify::WriteFileAtomically(path_, HeaderLine(header));
  }
  const Result<ShardFile> file = ParseShardFile(text, path_);
  if (!file.ok()) return file.status();
  if (!file->header.SameCampaign(header)) {
    return Status::Error(path_ +
                         " is of another campaign; give the same options, "
                         "or another --out");
  }
  for (const auto& [index, record] : file->records) {
    plan->done.insert(index);
    CountRecord(record, &plan->before);
    if (!record.signature.empty()) {
      plan->known_faults.insert(record.signature);
    }
  }
  std::error_code error;
  std::filesystem::resize_file(path_, file->good_bytes, error);
  return error ? Status::Error("cannot write " + path_) : Status();
}

}  // namespace lockstep::fuzz
