#include "verify/host/faults.h"

#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace lockstep::verify::host {
namespace {

constexpr size_t kMostAreas = 64;
constexpr size_t kStackBytes = size_t{64} << 10;

// All that the handler reads; it may take no memory and no locks.
struct Watched {
  int answers = -1;
  int64_t id = 0;
  Area inputs{};
  Area outputs{};
  std::array<Area, kMostAreas> areas{};
  size_t count = 0;
};
Watched watched;

// A line that is put together without taking memory.
class Line {
 public:
  void Add(const char* text) {
    const size_t length = strlen(text);
    if (length > sizeof(text_) - size_) return;
    memcpy(text_ + size_, text, length);
    size_ += length;
  }
  void Add(uint64_t number) {
    char digits[24];
    size_t at = sizeof(digits);
    digits[--at] = '\0';
    do {
      digits[--at] = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number > 0);
    Add(digits + at);
  }
  void Write(int descriptor) const {
    // If this fails, no report is possible: the judge sees the process end.
    if (write(descriptor, text_, size_) < 0) return;
  }

 private:
  char text_[512];
  size_t size_ = 0;
};

bool Holds(const Area& area, const uint8_t* at) {
  return area.begin <= at && at < area.end;
}

uint64_t DistanceTo(const Area& area, const uint8_t* at) {
  if (at < area.begin) return static_cast<uint64_t>(area.begin - at);
  return at < area.end ? 0 : static_cast<uint64_t>(at - area.end);
}

// The one that lies nearest, among those in `in` alone.
const Area* Nearest(const uint8_t* at, const Area& in) {
  const Area* nearest = nullptr;
  for (size_t n = 0; n < watched.count; ++n) {
    const Area& area = watched.areas[n];
    if (!Holds(in, area.begin)) continue;
    if (nearest == nullptr || DistanceTo(area, at) < DistanceTo(*nearest, at)) {
      nearest = &area;
    }
  }
  return nearest;
}

const char* HowItTouches(const void* context) {
#if defined(__x86_64__)
  // Bit 1 of the page fault's error code: a write.
  const auto* user = static_cast<const ucontext_t*>(context);
  return (user->uc_mcontext.gregs[REG_ERR] & 2) != 0 ? "writing " : "reading ";
#else
  (void)context;
  return "touching ";
#endif
}

void OnFault(int number, siginfo_t* info, void* context) {
  const auto* at = static_cast<const uint8_t*>(info->si_addr);
  const bool in = Holds(watched.inputs, at);
  const Area* near = in || Holds(watched.outputs, at)
                         ? Nearest(at, in ? watched.inputs : watched.outputs)
                         : nullptr;
  if (near == nullptr) {
    // Not ours: it comes again when this returns, and ends the process.
    signal(number, SIG_DFL);
    return;
  }
  Line line;
  line.Add(R"({"type": "error", "id": )");
  line.Add(static_cast<uint64_t>(watched.id));
  line.Add(R"(, "kind": "signal", "fatal": true, "message": ")");
  line.Add(number == SIGBUS ? "SIGBUS " : "SIGSEGV ");
  line.Add(HowItTouches(context));
  if (Holds(*near, at)) {
    line.Add(in ? "the input " : "");
  } else {
    // The first byte of either side is 1 away.
    const bool before = at < near->begin;
    const uint64_t distance = DistanceTo(*near, at) + (before ? 0 : 1);
    line.Add(distance);
    line.Add(distance == 1 ? " byte" : " bytes");
    line.Add(before ? " before " : " behind ");
  }
  line.Add(near->name);
  line.Add("\"}\n");
  line.Write(watched.answers);
  _exit(EXIT_FAILURE);
}

}  // namespace

void WatchFaults(int answers, const Area& inputs, const Area& outputs) {
  watched.answers = answers;
  watched.inputs = inputs;
  watched.outputs = outputs;
  // A stack of its own: the kernel's may be what has overflowed.
  static std::array<uint8_t, kStackBytes> memory;
  stack_t stack = {};
  stack.ss_sp = memory.data();
  stack.ss_size = memory.size();
  sigaltstack(&stack, nullptr);
  struct sigaction action = {};
  action.sa_sigaction = OnFault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (const int number : {SIGSEGV, SIGBUS}) {
    sigaction(number, &action, nullptr);
  }
}

void EndAreas() { watched.count = 0; }

void BeginAreas(int64_t id, const std::vector<Area>& areas) {
  watched.id = id;
  watched.count = 0;
  for (const Area& area : areas) {
    if (watched.count == kMostAreas) return;
    watched.areas[watched.count++] = area;
  }
}

}  // namespace lockstep::verify::host
