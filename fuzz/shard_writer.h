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
  // plan->done. Errors: another campaign's file, no file.
  Status Open(const std::string& folder, const CampaignHeader& header,
              Plan* plan);
  // `now`: reaches the file before this returns. Errors: the disk.
  Status Write(const std::string& line, bool now);

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  Status Resume(const CampaignHeader& header, Plan* plan);

  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
  int pending_ = 0;
};

}  // namespace lockstep::fuzz

#endif  // LOCKSTEP_FUZZ_SHARD_WRITER_H_
