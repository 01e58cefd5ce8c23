// The example of attention on a device of stub_cudart.c, right or wrong in one
// way: so:device_kernel.so,MODE. Its tensors are memory of the device.
#define lockstep_describe describe_of_example
#define lockstep_open open_of_example
#define lockstep_attention_forward attend_of_example
#include "examples/attention.c"
#undef lockstep_describe
#undef lockstep_open
#undef lockstep_attention_forward

#include <string.h>

void stub_launch(void (*work)(void*), void* with);
void stub_break(void);
int cudaDeviceSynchronize(void);

static const char* mode = "right";

#ifndef DEVICE
#define DEVICE "cuda"
#endif

int lockstep_describe(lockstep_description* description) {
  const int code = describe_of_example(description);
  description->abi = LOCKSTEP_ABI;
  description->device = DEVICE;
  return code;
}

int lockstep_open(int argc, const char* const* argv, lockstep_handle** handle) {
  if (argc > 0) mode = strchr(argv[0], '=') + 1;
  return open_of_example(argc, argv, handle);
}

static void write_late(void* with) { *(float*)with += 1.0f; }

struct later {
  lockstep_handle* handle;
  const lockstep_attention_forward_call* call;
  lockstep_receipt* receipt;
};
static void attend_late(void* with) {
  const struct later* later = with;
  attend_of_example(later->handle, later->call, later->receipt);
}

int lockstep_attention_forward(lockstep_handle* handle,
                               const lockstep_attention_forward_call* call,
                               lockstep_receipt* receipt) {
  static const lockstep_tensor* kept;
  static lockstep_tensor first;
  lockstep_attention_forward_call own = *call;
  if (strcmp(mode, "keeps") == 0) {
    if (!kept) first = *call->k;
    kept = &first;
    own.k = kept;
  }
  if (strcmp(mode, "joined") == 0) {
    struct later later = {handle, call, receipt};
    stub_launch(&attend_late, &later);
    cudaDeviceSynchronize();
    return LOCKSTEP_DONE;
  }
  if (strcmp(mode, "aligned") == 0 && (uintptr_t)call->k->data % 256 != 0) {
    return LOCKSTEP_ERROR;
  }
  if (strcmp(mode, "looks") == 0) {
    // Right, but where k of the call before is still what it was.
    static const unsigned char* before;
    const unsigned char* here = call->k->data;
    if (before == here || (before && before[0] != 0xff)) return LOCKSTEP_ERROR;
    before = here;
  }
  const int code = attend_of_example(handle, &own, receipt);
  char* o = call->o->data;
  if (strcmp(mode, "inputs") == 0) *(float*)call->v->data = 0.0f;
  if (strcmp(mode, "late") == 0) stub_launch(&write_late, o);
  if (strcmp(mode, "before") == 0) o[-1] = 0;
  if (strcmp(mode, "breaks_at_seven") == 0 && call->sq == 7) stub_break();
  return code;
}
