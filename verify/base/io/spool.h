// Text that waits until the text before it is known. Long text waits on disk,
// so that a run of ten thousand cases holds the evidence of one in memory.
#ifndef LOCKSTEP_VERIFY_BASE_IO_SPOOL_H_
#define LOCKSTEP_VERIFY_BASE_IO_SPOOL_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "reference/contract/status.h"
#include "verify/base/io/files.h"

namespace lockstep::verify {

class Spool {
 public:
  // Its file lies in `folder` and has no name: nothing is left of it however
  // the process ends. Empty: where the system keeps temporary files.
  explicit Spool(std::string folder) : folder_(std::move(folder)) {}
  ~Spool();
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  void Append(std::string_view text);
  bool empty() const { return on_disk_ == 0 && waiting_.empty(); }

  // Everything in the order it came. Errors: of the disk, also those of Append.
  Status CopyTo(const Sink& sink) const;

 private:
  void Flush();

  const std::string folder_;
  int fd_ = -1;
  bool in_memory_ = false;  // no file can be made
  int error_ = 0;           // errno of the first write that failed
  int64_t on_disk_ = 0;     // bytes
  std::string waiting_;     // behind them
};

// The folder for the spool of an output: its own, where that is a file.
std::string SpoolFolder(const std::string& output);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_BASE_IO_SPOOL_H_
