// JSON that comes from elsewhere: shard files, through the records' reader.
#include <string>

#include "fuzz/campaign.h"
#include "fuzz/engine/engine.h"

namespace lockstep::fuzz {
namespace {

void Check(std::string_view text) {
  const Result<ShardFile> file = ParseShardFile(text, "x");
  if (!file.ok()) {
    Expect(file.message().find('\n') == std::string::npos,
           "an error is one line", text);
    return;
  }
  std::string lines = HeaderLine(file->header);
  for (const auto& [index, record] : file->records) {
    lines += RecordLine(record, true);
  }
  const Result<ShardFile> again = ParseShardFile(lines, "x");
  Expect(again.ok() && again->records.size() == file->records.size(),
         "written again it is another shard", text);
  for (const auto& [index, record] : file->records) {
    const auto at = again->records.find(index);
    Expect(at != again->records.end() && at->second.SameResult(record),
           "written again a record is another", text);
  }
  (void)Gaps(file.value(), 3);
}

}  // namespace
}  // namespace lockstep::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lockstep::fuzz::Check(lockstep::fuzz::TextOf(data, size));
  return 0;
}
