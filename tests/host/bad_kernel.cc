// A right kernel that misbehaves: so:bad.so,mode=MODE. Its arithmetic is that
// of examples/attention.c, linked in under other names.
#include <dlfcn.h>
#include <fcntl.h>
#include <fenv.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xmmintrin.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "verify/host/include/lockstep/candidate.h"

using Call = lockstep_attention_forward_call;
using Receipt = lockstep_receipt;
using Bytes = std::vector<char>;

extern "C" int right_describe(lockstep_description* description);
extern "C" int right_open(int argc, const char* const* argv,
                          lockstep_handle** handle);
extern "C" void right_close(lockstep_handle* handle);
extern "C" int right_attention_forward(lockstep_handle* handle,
                                       const Call* call, Receipt* receipt);

namespace {

// Never destroyed: it is read when all that is has been.
std::string& mode = *new std::string;
jmp_buf opened_at;
volatile int sink_of_work;

char* Begin(const lockstep_tensor* x) { return static_cast<char*>(x->data); }
char* End(const lockstep_tensor* x) {
  char* end = Begin(x) + 4;
  for (int axis = 0; axis < x->rank; ++axis)
    end += (x->shape[axis] - 1) * x->strides[axis];
  return end;
}
// Runs when the host ends: after bye, where nobody asks any more.
__attribute__((destructor)) void OnTheWayOut() {
  if (mode == "ends_crashing") abort();
  if (mode == "ends_with_status") _exit(7);
}

Bytes Copy(const lockstep_tensor* x) { return {Begin(x), End(x)}; }
void Store(const Bytes& bytes, const lockstep_tensor* x) {
  memcpy(Begin(x), bytes.data(), bytes.size());
}
void Zero(const lockstep_tensor* x) { memset(Begin(x), 0, End(x) - Begin(x)); }

[[noreturn]] void Sleep() {
  while (true) pause();
}

int Overflow(int depth) {
  volatile char frame[4096];
  frame[0] = static_cast<char>(depth);
  return depth < 0 ? 0 : Overflow(depth + 1) + frame[0];
}

// A child of a child, in a session of its own.
void Orphan() {
  const pid_t child = fork();
  if (child == 0) {
    setsid();
    if (fork() == 0) Sleep();
    _exit(0);
  }
  waitpid(child, nullptr, 0);
}

void Wire(const char* text) {
  int ends[2] = {3, 4};
  if (const char* wire = getenv("LOCKSTEP_WIRE"))
    sscanf(wire, "%d,%d", &ends[0], &ends[1]);
  if (write(ends[1], text, strlen(text)) < 0) abort();
}

// Breaks before anything is computed. False: this mode does not.
bool BreakBefore() {
  static int calls = 0;
  const bool first = calls++ == 0;
  if (mode == "null") *static_cast<volatile int*>(nullptr) = 1;
  if (mode == "abort") abort();
  if (mode == "kill") kill(getpid(), SIGKILL);
  if (mode == "terminate") kill(getpid(), SIGTERM);
  if (mode == "illegal") __builtin_trap();
  if (mode == "divide") sink_of_work = 7 / (sink_of_work - sink_of_work);
  if (mode == "stop") kill(getpid(), SIGSTOP);
  if (mode == "overflow") sink_of_work = Overflow(0);
  if (mode == "exit_0") exit(0);
  if (mode == "exit_7") {
    fputs("no device\n", stderr);
    _exit(7);
  }
  if (mode == "exception")
    throw std::runtime_error("a kernel's own \"trouble\"\n");
  if (mode == "exception_int") throw 7;
  if (mode == "exception_thread") {
    std::thread([] { throw std::runtime_error("in a thread"); }).join();
  }
  if (mode == "thread_exit") pthread_exit(nullptr);
  if (mode == "longjmp") longjmp(opened_at, 1);
  if (mode == "hang") Sleep();
  if (mode == "spin") {
    while (true) sink_of_work = sink_of_work + 1;
  }
  if (mode == "timer") {
    const itimerval soon = {{0, 0}, {0, 1000}};
    setitimer(ITIMER_REAL, &soon, nullptr);
    Sleep();
  }
  if (mode == "memory") {
    memset(malloc(size_t{400} << 20), 1, size_t{400} << 20);
    Sleep();
  }
  if (mode == "shared_memory") {
    void* all = mmap(nullptr, size_t{400} << 20, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    memset(all, 1, size_t{400} << 20);
    Sleep();
  }
  if (mode == "memory_file" || mode == "shared_file") {
    char name[] = "/dev/shm/bad-kernel-XXXXXX";
    const bool nameless = mode == "memory_file";
    const int file = nameless ? memfd_create("kernel", 0) : mkstemp(name);
    if (!nameless) unlink(name);
    // Never mapped: no page of it is in anybody's table.
    if (posix_fallocate(file, 0, off_t{400} << 20) != 0) abort();
    Sleep();
  }
  if (mode == "fills_out") {
    int ends[4] = {3, 4, 5, 6};
    if (const char* wire = getenv("LOCKSTEP_WIRE"))
      sscanf(wire, "%d,%d,%d,%d", &ends[0], &ends[1], &ends[2], &ends[3]);
    // All that the files of the outputs and of the inputs take.
    posix_fallocate(ends[3], 0, off_t{200} << 20);
    posix_fallocate(ends[2], 0, off_t{200} << 20);
    Sleep();
  }
  if (mode == "child_memory" && fork() == 0) {
    memset(malloc(size_t{400} << 20), 1, size_t{400} << 20);
    Sleep();
  }
  if (mode == "child_memory") Sleep();
  if (mode == "flood") {
    for (int line = 0; line < 100000; ++line)
      puts("all work and no play makes a dull kernel");
  }
  if (mode == "flood_errors") {
    for (int line = 0; line < 100000; ++line)
      fputs("warning: slow path taken here\n", stderr);
  }
  if (mode == "orphan" && first) Orphan();
  if (mode == "child" && first && fork() == 0) Sleep();
  if (mode == "zombie" && first && fork() == 0) _exit(0);
  if (mode == "thread" && first) std::thread(Sleep).detach();
  if (mode == "close_wire") {
    for (int descriptor = 3; descriptor < 64; ++descriptor) close(descriptor);
  }
  if (mode == "writes_wire") Wire("done\n");
  if (mode == "forged_answer")
    Wire(R"({"type": "done", "id": 1})"
         "\n");
  if (mode == "long_line") Wire((std::string(2 << 20, 'x') + "\n").c_str());
  return mode == "unsupported_later" && !first;
}

// Spoils what was computed.
void BreakAfter(const Call* call) {
  char* const begin = Begin(call->o);
  char* const end = End(call->o);
  if (mode == "before") begin[-1] = 1;
  if (mode == "behind") *end = 1;
  if (mode == "far_behind") end[3900] = 1;
  if (mode == "opens_page_behind") {
    const auto page =
        (reinterpret_cast<uintptr_t>(end) + 4095) & ~uintptr_t{4095};
    auto* behind = reinterpret_cast<char*>(page);
    mprotect(behind, 4096, PROT_READ | PROT_WRITE);
    behind[100] = 1;
    mprotect(behind, 4096, PROT_NONE);
  }
  if (mode == "far_before") begin[-8192] = 1;
  if (mode == "between_rows") begin[4 * call->dv] = 1;
  if (mode == "writes_inputs") *Begin(call->q) = 1;
  if (mode == "reads_beyond") sink_of_work = end[1 << 20];
  if (mode == "late") {
    // As fast as it can for a while: some of it falls between two calls.
    std::thread([begin] {
      for (int n = 0; n < 50000000; ++n) ++*const_cast<volatile char*>(begin);
    }).detach();
  }
  if (mode == "random") {
    // No two calls in a row have the same bits, and all are near the right
    // ones.
    static int calls = 0;
    begin[0] ^= static_cast<char>(calls++ % 8);
  }
  if (mode == "rare") {
    static int calls = 0;
    begin[2] ^= static_cast<char>(++calls % 300 == 0 ? 64 : 0);
  }
  if (mode == "of_threads" && call->threads == 4) begin[2] ^= 64;
  if (mode == "of_splits" && call->splits == 4) begin[0] ^= 1;
  if (mode == "infinite") *reinterpret_cast<float*>(end - 4) = 1.0f / 0.0f;
  if (mode == "ftz") _mm_setcsr(_mm_getcsr() | 0x8000);
  if (mode == "daz") _mm_setcsr(_mm_getcsr() | 0x0040);
  if (mode == "rounding_vectors") _mm_setcsr(_mm_getcsr() | 0x6000);
  if (mode == "rounding") fesetround(FE_UPWARD);
}

// Answers with what was computed before, in place of what was asked.
void Stale(const Call* call) {
  static std::map<std::string, std::pair<Bytes, Bytes>> kept;
  std::string key =
      "any " + std::to_string(call->sq) + " " + std::to_string(call->skv);
  if (mode == "of_address") {
    key = std::to_string(reinterpret_cast<uintptr_t>(call->q->data)) + " " +
          std::to_string(reinterpret_cast<uintptr_t>(call->o->data)) + " " +
          key;
  }
  const std::pair<Bytes, Bytes> now = {Copy(call->o), Copy(call->lse)};
  const auto found = kept.find(key);
  if (found != kept.end() && found->second.first.size() == now.first.size()) {
    Store(found->second.first, call->o);
    Store(found->second.second, call->lse);
  }
  if (mode != "other_case" || found == kept.end()) kept[key] = now;
}

// Looks for the answer where it might lie: files, and the judge's memory.
void Peek(const Call* call) {
  namespace fs = std::filesystem;
  std::error_code error;
  for (const char* folder : {".", "/tmp", "/dev/shm", "/proc/self/fd"}) {
    for (const auto& entry : fs::directory_iterator(folder, error)) {
      if (entry.path().filename().string().find("expected") ==
          std::string::npos)
        continue;
      std::ifstream file(entry.path(), std::ios::binary);
      file.read(Begin(call->o), 4);
    }
  }
  Zero(call->o);
  Zero(call->lse);
}

// A time that no call with a wire fits into.
void TellTime(Receipt* receipt) {
  if (mode.rfind("tells_", 0) != 0) return;
  receipt->seconds = 1e-6;
  receipt->device_clock = mode == "tells_device";
  // Found by LD_LIBRARY_PATH, where the test has made one.
  if (receipt->device_clock) dlopen("libcuda.so.1", RTLD_NOW);
}

void Lie(Receipt* receipt) {
  TellTime(receipt);
  if (mode == "lie_seconds") receipt->seconds = 1000;
  if (mode == "lie_no_seconds") receipt->seconds = 0.0 / 0.0;
  if (mode == "lie_backend") strcpy(receipt->backend, "another");
  if (mode == "lie_threads") receipt->threads = 3;
  if (mode == "lie_tile") receipt->tile_q = -1;
  if (mode == "lie_tiles" || mode == "lie_full") {
    receipt->tile_q = receipt->tile_k = 4;
    receipt->tiles_full = mode == "lie_full" ? 9 : 0;
    receipt->tiles_partial = mode == "lie_full" ? 3 : 4;
    receipt->tiles_empty = 0;
  }
}

}  // namespace

int lockstep_describe(lockstep_description* description) {
#ifdef CRASHES
  *static_cast<volatile int*>(nullptr) = 1;
#endif
  right_describe(description);
  description->name = "bad";
  description->threads = "1 4";
  description->splits = "1 2 4";
#ifdef OTHER_ABI
  description->abi = OTHER_ABI;
#endif
#ifdef NO_NAME
  description->name = nullptr;
#endif
#ifdef BAD_THREADS
  description->threads = "two";
#endif
#ifdef BAD_SPLITS
  description->splits = "two";
#endif
#ifdef BAD_ALIGNMENT
  description->alignment = 3;
#endif
#ifdef FAILS
  return 9;
#endif
  return 0;
}

int lockstep_open(int argc, const char* const* argv, lockstep_handle** handle) {
  for (int n = 0; n < argc; ++n) {
    if (strncmp(argv[n], "mode=", 5) == 0) mode = argv[n] + 5;
  }
  if (mode == "open_fails") {
    fputs("no licence\n", stderr);
    return 1;
  }
  if (mode == "open_throws") throw std::runtime_error("no licence");
  if (mode == "open_crashes") abort();
  if (mode == "open_hangs") Sleep();
  if (mode == "longjmp" && setjmp(opened_at) != 0) return 0;
  return right_open(argc, argv, handle);
}

#ifndef NO_CLOSE
void lockstep_close(lockstep_handle* handle) {
  if (mode == "close_crashes") abort();
  if (mode == "close_throws") throw std::runtime_error("busy");
  if (mode == "close_hangs") Sleep();
  right_close(handle);
}
#endif

int lockstep_attention_forward(lockstep_handle* handle, const Call* call,
                               Receipt* receipt) {
  if (mode == "error") {
    strcpy(receipt->message, "out of luck");
    return LOCKSTEP_ERROR;
  }
  if (mode == "error_code") return -5;
  if (mode == "unterminated")
    memset(receipt->message, 'x', sizeof(receipt->message));
  if (mode == "unterminated") return LOCKSTEP_ERROR;
  if (mode == "unsupported" || BreakBefore()) {
    strcpy(receipt->message, "odd lengths");
    return LOCKSTEP_UNSUPPORTED;
  }
  if (mode == "nothing_written") return LOCKSTEP_DONE;
  const Bytes poison(End(call->o) - 4, End(call->o));
  const int code = right_attention_forward(handle, call, receipt);
  if (mode == "one_unwritten") memcpy(End(call->o) - 4, poison.data(), 4);
  if (mode == "no_lse") memcpy(Begin(call->lse), poison.data(), 4);
  if (mode == "previous" || mode == "other_case" || mode == "of_address")
    Stale(call);
  if (mode == "peek") Peek(call);
  BreakAfter(call);
  Lie(receipt);
  return code;
}
