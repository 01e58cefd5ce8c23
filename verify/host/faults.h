// Faults of a kernel that touches memory around its tensors, said in words.
#ifndef LOCKSTEP_VERIFY_HOST_FAULTS_H_
#define LOCKSTEP_VERIFY_HOST_FAULTS_H_

#include <cstdint>
#include <vector>

namespace lockstep::verify::host {

// Memory of the current call.
struct Area {
  const char* name;
  const uint8_t* begin;
  const uint8_t* end;
};

// From now on a fault in or near one of the areas of a call is answered on the
// wire as an error of that call, and the process ends. Other faults end it as
// they would without us. `outputs`: all addresses that outputs may have.
void WatchFaults(int answers, const Area& inputs, const Area& outputs);
// Call `id` begins; its areas have to live until EndAreas().
void BeginAreas(int64_t id, const std::vector<Area>& areas);
void EndAreas();

}  // namespace lockstep::verify::host

#endif  // LOCKSTEP_VERIFY_HOST_FAULTS_H_
