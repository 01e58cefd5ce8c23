// Between fork and exec: only what is safe there, with everything made before.
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "verify/base/status_macros.h"
#include "verify/candidate/process/c_library.h"
#include "verify/candidate/process/child_process.h"
#include "verify/candidate/process/keeper.h"
#include "verify/candidate/process/process_tree.h"

namespace lockstep::verify {
namespace {

namespace fs = std::filesystem;

constexpr int kFirstDescriptor = 3;
constexpr size_t kMostDescriptors = 8;

// Variables that a host inherits; a star stands for any end or beginning.
constexpr const char* kKept[] = {
    "PATH",       "HOME",       "USER",         "LANG",
    "LC_*",       "TZ",         "TMPDIR",       "LD_LIBRARY_PATH",
    "PYTHON*",    "OMP_*",      "MKL_*",        "KMP_*",
    "GOMP_*",     "OPENBLAS_*", "CUDA_*",       "ROCM_*",
    "HIP_*",      "NVIDIA_*",   "XLA_*",        "JAX_*",
    "TORCH_*",    "TRITON_*",   "*SAN_OPTIONS", "CUBLAS_*",
    "CUBLASLT_*", "CUDNN_*",    "PYTORCH_*",    "TORCHINDUCTOR_*",
    "NCCL_*",     "NUMEXPR_*",  "HSA_*",        "ROCBLAS_*",
    "MIOPEN_*",   "TF_*",       "LIBTPU_*",     "TPU_*"};

bool Kept(std::string_view variable) {
  const std::string_view name = variable.substr(0, variable.find('='));
  return std::any_of(std::begin(kKept), std::end(kKept), [&](const char* kept) {
    std::string_view pattern = kept;
    if (pattern.ends_with('*')) {
      pattern.remove_suffix(1);
      return name.starts_with(pattern);
    }
    if (pattern.starts_with('*')) {
      pattern.remove_prefix(1);
      return name.ends_with(pattern);
    }
    return name == pattern;
  });
}

// The files that arguments name: a script, a shared object, FILE.py:FUNCTION.
std::vector<std::string> FilesNamed(const std::vector<std::string>& arguments) {
  std::vector<std::string> files;
  for (size_t n = 1; n < arguments.size(); ++n) {
    const std::string& word = arguments[n];
    std::error_code error;
    for (const std::string& path : {word, word.substr(0, word.rfind(':'))}) {
      if (!fs::is_regular_file(path, error)) continue;
      files.push_back(path);
      break;
    }
  }
  return files;
}

Result<std::string> FindProgram(const std::string& name) {
  const auto runs = [](const fs::path& path) {
    std::error_code error;
    return fs::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
  };
  if (name.find('/') != std::string::npos) {
    if (runs(name)) return name;
    return Status::Error("cannot start '" + name +
                         "': it is not an executable file");
  }
  const char* variable = std::getenv("PATH");
  std::string_view path = variable == nullptr ? "/usr/bin:/bin" : variable;
  while (!name.empty()) {
    const size_t colon = path.find(':');
    const fs::path folder(path.substr(0, colon));
    if (runs(folder / name)) return (folder / name).string();
    if (colon == path.npos) break;
    path.remove_prefix(colon + 1);
  }
  return Status::Error("cannot start '" + name + "': no such program in PATH");
}

// Everything that exec needs, as it needs it.
struct Prepared {
  std::string name;     // as it was asked for
  std::string program;  // where it lies
  std::vector<std::string> variables;
  std::vector<char*> arguments;
  std::vector<char*> environment;
  std::vector<int> descriptors;
  std::optional<HostUser> user;
  std::vector<std::string> files;  // that this user has to be able to read
  int output = -1;                 // of stdout and stderr
  int report = -1;                 // takes Report
  int lifeline = -1;
};

// What the child says of itself: first its number, and errno where exec fails.
struct Report {
  pid_t program = 0;
  int error = 0;
  int unread = -1;  // which of `files` cannot be read
};

void FillVariables(const ChildLaunch& launch, Prepared* prepared) {
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
    if (Kept(*at)) prepared->variables.emplace_back(*at);
  }
  if (HostsSleep()) prepared->variables.emplace_back("OMP_WAIT_POLICY=passive");
  for (const std::string& variable : launch.variables) {
    prepared->variables.push_back(variable);
  }
  if (prepared->user) {
    std::erase_if(prepared->variables, [](const std::string& variable) {
      return variable.starts_with("HOME=") || variable.starts_with("USER=");
    });
    prepared->variables.push_back("HOME=" + prepared->user->home);
    prepared->variables.push_back("USER=" + prepared->user->name);
  }
  for (std::string& variable : prepared->variables) {
    prepared->environment.push_back(variable.data());
  }
  prepared->environment.push_back(nullptr);
}

// Tells the judge why there will be no program.
[[noreturn]] void GiveUp(int report, int unread = -1) {
  const Report said = {0, errno, unread};
  // If this fails, too, no report is possible.
  const ssize_t written = write(report, &said, sizeof(said));
  _exit(written == sizeof(said) ? 127 : 126);
}

// What a child must not inherit: the group of the terminal, cores that would
// be left behind, signals that the judge ignores or holds back.
void Detach(const std::optional<HostUser>& user, pid_t keeper, int report) {
  setpgid(0, 0);
  if (user && (setgroups(1, &user->gid) != 0 || setgid(user->gid) != 0 ||
               setuid(user->uid) != 0)) {
    GiveUp(report);
  }
  // Behind the change of the user, which forgets it.
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (getppid() != keeper) _exit(126);
  const rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  for (const int number : {SIGPIPE, SIGXFSZ, SIGINT, SIGTERM, SIGHUP, SIGCHLD})
    signal(number, SIG_DFL);
  sigset_t empty;
  sigemptyset(&empty);
  sigprocmask(SIG_SETMASK, &empty, nullptr);
}

// In the child. Descriptors first go above all places that they shall have,
// and no higher: a machine may allow few.
[[noreturn]] void Become(const Prepared& prepared, pid_t keeper) {
  Detach(prepared.user, keeper, prepared.report);
  for (size_t n = 0; prepared.user && n < prepared.files.size(); ++n) {
    if (access(prepared.files[n].c_str(), R_OK) != 0) {
      GiveUp(prepared.report, static_cast<int>(n));
    }
  }
  const auto count = static_cast<int>(prepared.descriptors.size());
  const int last = kFirstDescriptor + count;
  const int above = last + 1;
  std::array<int, kMostDescriptors> high{};
  for (size_t n = 0; n < prepared.descriptors.size(); ++n) {
    high[n] = fcntl(prepared.descriptors[n], F_DUPFD, above);
    if (high[n] < 0) GiveUp(prepared.report);
  }
  const int nothing = open("/dev/null", O_RDONLY);
  const int output = fcntl(prepared.output, F_DUPFD, above);
  const int report = fcntl(prepared.report, F_DUPFD, above);
  if (nothing < 0 || output < 0 || report < 0) GiveUp(prepared.report);
  dup2(nothing, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  for (int n = 0; n < count; ++n) {
    dup2(high[static_cast<size_t>(n)], kFirstDescriptor + n);
  }
  dup3(report, last, O_CLOEXEC);
  CloseFrom(last + 1);
  execve(prepared.program.c_str(), prepared.arguments.data(),
         prepared.environment.data());
  GiveUp(last);
}

// In the first child, which starts the program as its own.
[[noreturn]] void StartKept(const Prepared& prepared) {
  BecomeKeeper();
  const pid_t keeper = getpid();
  const pid_t program = ForkAlone();
  if (program < 0) GiveUp(prepared.report);
  if (program == 0) Become(prepared, keeper);
  const Report said = {program, 0, -1};
  if (write(prepared.report, &said, sizeof(said)) != sizeof(said)) _exit(126);
  Keep(program, prepared.lifeline);
}

// Until the program runs, or cannot.
Report ReadReport(int descriptor) {
  Report all;
  while (true) {
    Report said;
    const ssize_t got = read(descriptor, &said, sizeof(said));
    if (got < 0 && errno == EINTR) continue;
    if (got == sizeof(said)) {
      if (said.program != 0) all.program = said.program;
      if (said.error != 0) all.error = said.error;
      if (said.unread >= 0) all.unread = said.unread;
      continue;
    }
    if (all.error == 0 && (got != 0 || all.program == 0)) all.error = EIO;
    return all;
  }
}

Status CannotStart(const Prepared& prepared, const Report& said) {
  const std::string why = std::strerror(said.error);
  const std::string what = "cannot start '" + prepared.name + "'";
  if (!prepared.user) return Status::Error(what + ": " + why);
  const std::string& user = prepared.user->name;
  if (said.unread < 0) {
    return Status::Error(what + " as user '" + user + "': " + why +
                         " (--candidate-user)");
  }
  return Status::Error(
      what + ": user '" + user + "' cannot read '" +
      prepared.files[static_cast<size_t>(said.unread)] + "': " + why +
      "; want a kernel that the user of --candidate-user can read");
}

struct Pipe {
  int ends[2] = {-1, -1};
  bool Open() { return pipe2(ends, O_CLOEXEC) == 0; }
  void Close(int end) {
    if (ends[end] >= 0) close(ends[end]);
    ends[end] = -1;
  }
  ~Pipe() {
    Close(0);
    Close(1);
  }
};

}  // namespace

Result<std::unique_ptr<ChildProcess>> ChildProcess::Start(
    const ChildLaunch& launch) {
  if (launch.arguments.empty()) return Status::Error("there is no program");
  ASSIGN_OR_RETURN(std::string program, FindProgram(launch.arguments[0]));
  GuardThisProcess();
  Pipe output, report, lifeline;
  if (!output.Open() || !report.Open() || !lifeline.Open()) {
    return Status::Error(std::string("no pipe: ") + std::strerror(errno));
  }
  Prepared prepared;
  prepared.name = launch.arguments[0];
  prepared.program = std::move(program);
  std::vector<std::string> arguments = launch.arguments;
  for (std::string& word : arguments) prepared.arguments.push_back(word.data());
  prepared.arguments.push_back(nullptr);
  prepared.user = TheHostLimits().user;
  prepared.files = FilesNamed(launch.arguments);
  FillVariables(launch, &prepared);
  prepared.descriptors = launch.descriptors;
  prepared.output = output.ends[1];
  prepared.report = report.ends[1];
  prepared.lifeline = lifeline.ends[0];
  const pid_t pid = fork();
  if (pid == 0) StartKept(prepared);
  if (pid < 0) {
    return Status::Error("cannot start '" + launch.arguments[0] +
                         "': " + std::strerror(errno));
  }
  setpgid(pid, pid);  // whoever of both comes first
  report.Close(1);
  const Report said = ReadReport(report.ends[0]);
  if (said.error != 0) {
    waitpid(pid, nullptr, 0);
    return CannotStart(prepared, said);
  }
  fcntl(output.ends[0], F_SETFL, O_NONBLOCK);
  return std::unique_ptr<ChildProcess>(new ChildProcess(
      {pid, said.program, OpenChildren(pid)}, std::exchange(output.ends[0], -1),
      std::exchange(lifeline.ends[1], -1), MemoryUse(launch.descriptors)));
}

}  // namespace lockstep::verify
