// A call of the wire as the structs of lockstep/candidate.h.
#ifndef LOCKSTEP_VERIFY_HOST_CALL_H_
#define LOCKSTEP_VERIFY_HOST_CALL_H_

#include <cstdint>
#include <functional>
#include <list>
#include <string>
#include <vector>

#include "verify/host/device/arrays.h"
#include "verify/host/faults.h"
#include "verify/host/library.h"
#include "verify/host/memory.h"
#include "verify/host/message.h"

namespace lockstep::verify::host {

// Everything that the structs of one call point to.
class CallReader {
 public:
  // Both have to live on. The outputs' pages are opened.
  CallReader(Message* message, SharedFiles* files);

  // What is wrong with places in memory, or with the message.
  const Status& status() const;
  // Tensors of the call by name, for messages about faults.
  const std::vector<Area>& areas() const { return areas_; }
  // The same, for a device to have.
  std::vector<DeviceTensor> DeviceTensors();

  // Null where the call has none of that name.
  const lockstep_tensor* Input(const char* name);
  const lockstep_tensor* Output(const char* name);
  // Inputs whose names begin with "tables.".
  const std::vector<lockstep_named_tensor>& Tables();
  const std::vector<const lockstep_mask*>& Masks();

  // Scalars. An integer that is absent is 0, a real that is null `none`.
  int64_t Integer(const char* name) const;
  int32_t Truth(const char* name) const;
  const char* Word(const char* name);
  double Real(const char* name, double none) const;
  const int64_t* Integers(const char* name);
  int32_t Lane(const char* name) const;

  const char* case_line() const { return case_line_.c_str(); }
  int32_t threads() const { return threads_; }
  int32_t splits() const { return splits_; }
  // Room for tables, of a call that has it.
  uint8_t* room() const { return room_; }
  int64_t room_bytes() const { return room_bytes_; }
  int64_t room_offset() const { return room_ - files_->out(); }

 private:
  Field Scalar(const char* name) const { return scalars_[name]; }
  const lockstep_tensor* Tensor(const Field& field);
  const lockstep_mask* Mask(const Field& node);
  const int64_t* Keep(const Field& integers);
  void OpenPages();
  // Where it lies. An error, and null, if not all of it lies in its file.
  uint8_t* Place(bool in, int64_t offset, int64_t bytes);

  const Message* message_;
  Field root_, scalars_, inputs_, outputs_;
  SharedFiles* files_;
  Status status_;
  std::string case_line_;
  int32_t threads_ = 0;
  int32_t splits_ = 0;
  uint8_t* room_ = nullptr;
  int64_t room_bytes_ = 0;
  std::list<lockstep_tensor> tensors_;
  std::list<lockstep_mask> masks_;
  std::list<std::vector<const lockstep_mask*>> terms_;
  std::list<std::vector<int64_t>> integers_;
  std::list<std::string> words_;
  std::vector<lockstep_named_tensor> tables_;
  std::vector<const lockstep_mask*> heads_;
  std::vector<Area> areas_;
};

// A call that is ready to be made. `tables`, which may be empty, are those of
// the answer, as its field of that name.
struct PreparedCall {
  std::function<int(lockstep_receipt*)> kernel;
  std::function<Json()> tables;
};

// One for each op. `kernel` is empty where the library does not have the op.
PreparedCall PrepareAttentionForward(const Library& library,
                                     lockstep_handle* handle, CallReader* in);
PreparedCall PrepareAttentionBackward(const Library& library,
                                      lockstep_handle* handle, CallReader* in);
PreparedCall PrepareAttentionMerge(const Library& library,
                                   lockstep_handle* handle, CallReader* in);
PreparedCall PrepareMamba3Scan(const Library& library, lockstep_handle* handle,
                               CallReader* in);
PreparedCall PrepareMamba3Step(const Library& library, lockstep_handle* handle,
                               CallReader* in);
PreparedCall PrepareMamba3ScanBackward(const Library& library,
                                       lockstep_handle* handle, CallReader* in);
PreparedCall PrepareSsdScan(const Library& library, lockstep_handle* handle,
                            CallReader* in);
// All but o and lse. What it points to lives as long as `in`.
lockstep_attention_forward_call ReadAttentionCall(CallReader* in);
// All but the outputs.
lockstep_mamba3_scan_call ReadMamba3ScanCall(CallReader* in);
// LOCKSTEP_RUNS_... of a scan.
int32_t RunsOf(std::string_view name);
PreparedCall PrepareBlockPlan(const Library& library, lockstep_handle* handle,
                              CallReader* in);

}  // namespace lockstep::verify::host

#endif  // LOCKSTEP_VERIFY_HOST_CALL_H_
