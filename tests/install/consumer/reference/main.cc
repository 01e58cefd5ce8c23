// The scan of one token by the reference of an installed Lockstep: with a = 0
// the state is gamma v k, and y is q times it.
#include <cstdio>

#include "reference/mamba3_scan.h"

int main() {
  const float q = 2, k = 3, v = 5, a = 0, dt = 1, tau = 0;
  float y = 0;
  lockstep::Mamba3ScanInputs in;
  in.q = {&q, lockstep::Lane::kF32, {1, 1, 1, 1, 1}, {}};
  in.k = {&k, lockstep::Lane::kF32, {1, 1, 1, 1, 1}, {}};
  in.v = {&v, lockstep::Lane::kF32, {1, 1, 1, 1}, {}};
  in.a = {&a, {1, 1, 1}, {}};
  in.dt = {&dt, {1, 1, 1}, {}};
  in.tau = {&tau, lockstep::Lane::kF32, {1, 1, 1}, {}};
  lockstep::Mamba3ScanProblem problem;
  problem.state_dim = 2;
  in.q.shape[4] = in.k.shape[4] = 2;  // both states from one element
  lockstep::Mamba3ScanOutputs out;
  out.y = {&y, lockstep::Lane::kF32, {1, 1, 1, 1, 1}, {1, 1, 1, 1, 1}};
  const lockstep::Status done =
      lockstep::reference::Mamba3Scan(problem, in, out);
  std::printf("%s\nbits equal: %s\n",
              done.ok() ? "scanned" : done.message().c_str(),
              done.ok() && y == 30.0f ? "yes" : "no");
  return y == 30.0f ? 0 : 1;
}
