#include "reference/contract/cores.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

namespace lockstep {
namespace {

// Version 2: "QUOTA PERIOD" in one file, QUOTA is "max" where there is no
// limit.
double QuotaOfVersion2(const std::string& folder) {
  std::ifstream file(folder + "/cpu.max");
  double quota = 0, period = 0;
  return file >> quota >> period && period > 0 ? quota / period : 0;
}

// Version 1: a file for each, and a quota below 0 where there is no limit.
double QuotaOfVersion1(const std::string& folder) {
  std::ifstream quota_file(folder + "/cpu.cfs_quota_us");
  std::ifstream period_file(folder + "/cpu.cfs_period_us");
  double quota = 0, period = 0;
  const bool read = quota_file >> quota && period_file >> period;
  return read && quota > 0 && period > 0 ? quota / period : 0;
}

// The least quota of a group and those above it; a container may show its own
// group under a path that only the world outside has, and its limit at `root`.
double LeastQuota(const std::string& root, std::string path,
                  double (*quota_of)(const std::string& folder)) {
  double least = 0;
  while (true) {
    const double quota = quota_of(root + path);
    if (quota > 0 && (least == 0 || quota < least)) least = quota;
    const size_t slash = path.rfind('/');
    if (path.empty() || slash == path.npos) return least;
    path.resize(slash);
  }
}

int CoresOfMask() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(getpid(), sizeof(mask), &mask) == 0) {
    return std::max(1, CPU_COUNT(&mask));
  }
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace

double QuotaOfGroups(const std::string& groups, const std::string& root) {
  double least = 0;
  std::istringstream lines(groups);
  for (std::string line; std::getline(lines, line);) {
    // NUMBER:CONTROLLERS:PATH, no controllers in version 2.
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    const std::string controllers =
        "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string path = line.substr(second + 1);
    double quota = 0;
    if (controllers == ",,") quota = LeastQuota(root, path, &QuotaOfVersion2);
    if (controllers.find(",cpu,") != controllers.npos) {
      quota = LeastQuota(root + "/cpu", path, &QuotaOfVersion1);
    }
    if (quota > 0 && (least == 0 || quota < least)) least = quota;
  }
  return least;
}

int UsableCores() {
  static const int cores = [] {
    std::ifstream file("/proc/self/cgroup");
    const std::string groups{std::istreambuf_iterator<char>(file), {}};
    const double quota = QuotaOfGroups(groups, "/sys/fs/cgroup");
    const int mask = CoresOfMask();
    if (!(quota > 0) || quota >= mask) return mask;
    return std::max(1, static_cast<int>(std::ceil(quota)));
  }();
  return cores;
}

}  // namespace lockstep
