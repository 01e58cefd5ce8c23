// How much memory programs use, as Linux reports it in /proc.
#ifndef LOCKSTEP_VERIFY_CANDIDATE_PROCESS_MEMORY_USE_H_
#define LOCKSTEP_VERIFY_CANDIDATE_PROCESS_MEMORY_USE_H_

#include <sys/types.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace lockstep::verify {

// Of a program and all its descendants: resident bytes, shared ones included,
// and the bytes of their files in memory (memfd, /dev/shm). Such a file counts
// if it is open for writing, mapped or not. What no process has open any more
// is not seen.
class MemoryUse {
 public:
  // `given`: files in memory that this process writes to as well, and has open
  // as long as this object lives.
  explicit MemoryUse(std::vector<int> given);

  // Before the program goes on: what these files have grown by since it last
  // rested is this process's.
  void NoteOwn();
  // When it rests.
  void NoteRest();

  int64_t Bytes(const std::vector<pid_t>& processes) const;

 private:
  using File = std::pair<dev_t, ino_t>;

  int64_t GivenBytes() const;

  std::vector<int> given_;
  std::vector<File> files_;  // those of `given_`
  int64_t rest_ = 0;         // of them, in bytes
  int64_t own_ = 0;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CANDIDATE_PROCESS_MEMORY_USE_H_
