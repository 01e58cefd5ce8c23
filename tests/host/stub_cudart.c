// A libcudart without a GPU: memory of the device is the CPU's, at addresses of
// its own. Work that a kernel launches on a stream of its own waits until the
// device is waited for; an illegal access is an error from then on.
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kIllegalAccess = 700, kMost = 16 };

static int broken;
static struct {
  void (*work)(void*);
  void* with;
} launched[kMost];
static int launches;

// Of the stub alone: what a kernel launches.
void stub_launch(void (*work)(void*), void* with);
void stub_launch(void (*work)(void*), void* with) {
  launched[launches].work = work;
  launched[launches++].with = with;
}
void stub_break(void);
void stub_break(void) { broken = kIllegalAccess; }

int cudaSetDevice(int device);
int cudaSetDevice(int device) { return device < 2 ? broken : 101; }
int cudaMalloc(void** memory, size_t bytes);
int cudaMalloc(void** memory, size_t bytes) {
  *memory = aligned_alloc(256, (bytes + 255) / 256 * 256);
  return broken;
}
int cudaFree(void* memory);
int cudaFree(void* memory) {
  free(memory);
  return broken;
}
int cudaMemcpy(void* to, const void* from, size_t bytes, int way);
int cudaMemcpy(void* to, const void* from, size_t bytes, int way) {
  (void)way;
  if (!broken) memcpy(to, from, bytes);
  return broken;
}
int cudaMemset(void* memory, int byte, size_t bytes);
int cudaMemset(void* memory, int byte, size_t bytes) {
  if (!broken) memset(memory, byte, bytes);
  return broken;
}
int cudaDeviceSynchronize(void);
int cudaDeviceSynchronize(void) {
  const int count = launches;
  launches = 0;
  for (int n = 0; n < count; ++n) launched[n].work(launched[n].with);
  return broken;
}
int cudaEventCreate(void** event);
int cudaEventCreate(void** event) {
  *event = malloc(sizeof(struct timespec));
  return broken;
}
int cudaEventRecord(void* event, void* stream);
int cudaEventRecord(void* event, void* stream) {
  (void)stream;
  clock_gettime(CLOCK_MONOTONIC, event);
  return broken;
}
int cudaEventElapsedTime(float* milliseconds, void* begin, void* end);
int cudaEventElapsedTime(float* milliseconds, void* begin, void* end) {
  const struct timespec *a = begin, *b = end;
  *milliseconds = (float)((double)(b->tv_sec - a->tv_sec) * 1e3 +
                          (double)(b->tv_nsec - a->tv_nsec) * 1e-6);
  return broken;
}
const char* cudaGetErrorString(int error);
const char* cudaGetErrorString(int error) {
  return error == kIllegalAccess ? "an illegal memory access was encountered"
                                 : "invalid device ordinal";
}
