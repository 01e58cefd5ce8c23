// A shard's file while it grows.
#ifndef LOCKSTEP_FUZZ_SHARD_WRITER_H_
#define LOCKSTEP_FUZZ_SHARD_WRITER_H_

#include <cstdio>
#include <memory>
#include <string>

#include "fuzz/campaign.h"
#include "fuzz/run.h"
#include "reference/contract/status.h"

namespace lockstep::fuzz {

// Append only: what is written is never touched again, and a kill tears at
// most the last line, which the next Open cuts off.
class ShardWriter {
 public:
  // Takes up a file of the same campaign where it ends: its indices become
  // plan->done. Errors: another campaign's file, no file, a file that another
  // process is writing.
  Status Open(const std::string& folder, const CampaignHeader& header,
              Plan* plan);
  // `now`: reaches the file before this returns. Errors: the disk.
  Status Write(const std::string& line, bool now);
  // Errors: the disk did not take the last records.
  Status Close();

 private:
  struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  // False where the file holds nothing worth keeping: it is empty again.
  Result<bool> Resume(const CampaignHeader& header, Plan* plan);

  std::string path_;
  std::unique_ptr<std::FILE, CloseFile> file_;
  int pending_ = 0;
};

}  // namespace lockstep::fuzz

#endif  // LOCKSTEP_FUZZ_SHARD_WRITER_H_
