// The C interface of a kernel that Lockstep judges. Build the kernel as a
// shared object that exports the functions at the end of this header, then
//
//   lockstep verify CASE --candidate so:./kernel.so --profile PROFILE
//
// Pure C99, and C++. What the tensors and scalars mean is docs/wire.md, how to
// plug a kernel in is docs/candidates.md.
//
// Every struct begins with its size in bytes and with the version that it has;
// fields are only ever appended. A reader of a struct uses a field only if
// `size` covers it. All memory that a call points to is gone when it returns.
// Calls come one at a time, from one thread.
#ifndef LOCKSTEP_VERIFY_HOST_INCLUDE_LOCKSTEP_CANDIDATE_H_
#define LOCKSTEP_VERIFY_HOST_INCLUDE_LOCKSTEP_CANDIDATE_H_

#include <stddef.h>
#include <stdint.h>

// Names as C has them.
// NOLINTBEGIN(readability-identifier-naming)

#ifdef __cplusplus
#define LOCKSTEP_EXPORT extern "C" __attribute__((visibility("default")))
#else
#define LOCKSTEP_EXPORT __attribute__((visibility("default")))
#endif

// Major version in the upper 16 bits, minor version below. A kernel that was
// built for another major version is refused.
#define LOCKSTEP_ABI 0x00010000u

// What the functions of ops return; `message` of the receipt says why.
enum {
  LOCKSTEP_DONE = 0,
  LOCKSTEP_UNSUPPORTED = 1,  // the case is skipped
  LOCKSTEP_ERROR = 2         // the kernel is broken
};

enum {
  LOCKSTEP_F32 = 1,
  LOCKSTEP_BF16 = 2,  // uint16_t, the upper half of an f32
  LOCKSTEP_U8 = 3,    // 0 or 1
  LOCKSTEP_I32 = 4,
  LOCKSTEP_F16 = 5,  // uint16_t, an IEEE binary16
  // For q, k and v: uint8_t, Open Compute Project formats.
  LOCKSTEP_E4M3 = 6,
  LOCKSTEP_E5M2 = 7
};

#define LOCKSTEP_MAX_RANK 6

// Element [i0, i1, ...] lies at data + i0 * strides[0] + i1 * strides[1] + ...
// bytes. Inputs lie in memory that cannot be written to.
typedef struct lockstep_tensor {
  uint32_t size, abi;
  void* data;
  int32_t dtype;
  int32_t rank;
  int64_t shape[LOCKSTEP_MAX_RANK];
  int64_t strides[LOCKSTEP_MAX_RANK];  // bytes, >= 0; 0 in inputs only
} lockstep_tensor;

typedef struct lockstep_named_tensor {
  uint32_t size, abi;
  const char* name;
  const lockstep_tensor* tensor;
} lockstep_named_tensor;

// With back = (i + offset) - j, key j is visible to query i if:
enum {
  LOCKSTEP_MASK_FULL = 1,     // always
  LOCKSTEP_MASK_CAUSAL = 2,   // back >= 0
  LOCKSTEP_MASK_WINDOW = 3,   // back <= left and -back <= right
  LOCKSTEP_MASK_CHUNKED = 4,  // back >= 0, same chunk of i + offset and j
  LOCKSTEP_MASK_PREFIX = 5,   // back >= 0 or j < prefix[batch row]
  LOCKSTEP_MASK_SINK = 6,   // j is one of the first `tokens` of its run of ids
  LOCKSTEP_MASK_DENSE = 7,  // the element of `dense` is 1
  LOCKSTEP_MASK_AND = 8,    // all terms
  LOCKSTEP_MASK_OR = 9,     // any term
  // The element of `dense` at [.., i / block_q, j / block_k] is 1.
  LOCKSTEP_MASK_BLOCKS = 10,
  // For a kernel that wants "indices": j is in the list of the query
  // and its kv head, `indices`. A key that is there twice counts once.
  LOCKSTEP_MASK_INDEX = 11
};
#define LOCKSTEP_NO_BOUND INT64_MAX

// Equal segment ids, i < valid_q and j < valid_kv are required beside the tree.
typedef struct lockstep_mask {
  uint32_t size, abi;
  int32_t kind;
  int32_t term_count;
  const struct lockstep_mask* const* terms;
  int64_t left, right;  // LOCKSTEP_NO_BOUND: none
  int64_t chunk;
  int64_t tokens;
  const int64_t* prefix;  // one for each batch row
  const lockstep_tensor* dense;
  int64_t block_q, block_k;  // of LOCKSTEP_MASK_BLOCKS
  // LOCKSTEP_MASK_INDEX: i32 [b, hkv, sq, K], in any order, -1
  // behind the last entry of a shorter list; for a kernel that wants
  // "indices:ended" -1, then numbers that mean nothing.
  const lockstep_tensor* indices;
} lockstep_mask;

// Tensors that a call does not have are NULL.
typedef struct lockstep_attention_forward_call {
  uint32_t size, abi;
  const char* case_line;  // for logs
  int32_t threads;        // to be used; 0: as you like
  int32_t lane;           // of o, of q where q_lane is 0, of k and v where
                          // kv_lane is 0
  int32_t p;              // of the weights
  int32_t mask_count;     // 1, or one for each query head
  int64_t b, hq, hkv, sq, skv, d, dv;
  double scale;
  double softcap;         // 0: none
  const int64_t* offset;  // of query 0 on the key axis, for each batch row
  const lockstep_mask* const* masks;
  // If v->data == k->data, v is k's first dv channels (alias=), also in pools.
  const lockstep_tensor *q, *k, *v;
  const lockstep_tensor *valid_q, *valid_kv;
  const lockstep_tensor *q_seg, *kv_seg;
  const lockstep_tensor* sink;
  // What was wanted (lockstep_description).
  const lockstep_tensor *mask_dense, *mask_bias;
  const lockstep_tensor* doc_ids;
  const lockstep_tensor *cu_seqlens_q, *cu_seqlens_k;
  int64_t max_seqlen_q, max_seqlen_k;
  int64_t table_count;
  const lockstep_named_tensor* tables;  // "tables.ROW.NAME"
  // Outputs.
  const lockstep_tensor *o, *lse;
  // How many splits to compute by; 0: as you like.
  int32_t splits;
  // For a kernel that wants "pages" and a case with page=; k and v
  // are NULL then. Key j of batch row b, j < kv_len[b], lies in slot j %
  // page_size of page page_table[b][j / page_size]. Other slots and entries of
  // the table may hold anything.
  int32_t page_nhd;   // not 0: pools are [pages, page_size, hkv, d]
  int64_t page_size;  // 0: k and v lie together
  const lockstep_tensor *k_pages, *v_pages;  // [pages, hkv, page_size, d]
  const lockstep_tensor* page_table;         // i32 [b, most pages]
  const lockstep_tensor* kv_len;             // i32 [b]
  // For a kernel that wants "varlen" and a case with layout=varlen:
  // not 0, and q, k, v and o are [tokens, heads, channels], lse is [hq,
  // tokens]. Query i of batch row b is token cu_seqlens_q[b] + i, and key j is
  // token cu_seqlens_k[b] + j; both tables are i32 [b + 1]. Tokens from the
  // last entry on may hold anything, and no kernel may write them.
  int32_t varlen;
  // For a kernel that wants "kvlane" and a case with kvlane=. A
  // value is the element times its scale. Scales are NULL or f32: [1, 1, 1] per
  // tensor, [1, hkv, 1] per head, else [b, hkv, ceil(skv / keys per scale)].
  // Scales of keys that do not exist may hold anything.
  int32_t kv_lane;  // LOCKSTEP_E4M3, LOCKSTEP_E5M2, or 0
  const lockstep_tensor *k_scale, *v_scale;
  int64_t k_scale_keys, v_scale_keys;  // 0: all keys of a head have one scale
  // For a kernel that wants "qlane" and a case with qlane=, which
  // has kvlane=, too. Scales are like those of k, with hq in place of hkv and
  // queries in place of keys.
  int32_t q_lane;  // LOCKSTEP_E4M3, LOCKSTEP_E5M2, or 0
  const lockstep_tensor* q_scale;
  int64_t q_scale_queries;  // 0: all queries of a head have one scale
  // For kernels that claim the contract's bits (docs/numerics.md):
  // the order of its sums ("chain", "amx", "ampere" or "hopper"), and the
  // number of parts that split= cuts the keys into. Gradients: "" and 0.
  const char* order;
  int64_t split;
} lockstep_attention_forward_call;

enum {
  LOCKSTEP_RUNS_ROWS = 1,
  LOCKSTEP_RUNS_SEGMENTS = 2,
  LOCKSTEP_RUNS_CU_SEQLENS = 3
};

// Of mamba3_scan, and of mamba3_step, where t is 1.
typedef struct lockstep_mamba3_scan_call {
  uint32_t size, abi;
  const char* case_line;
  int32_t threads;
  int32_t lane;
  int32_t rotated;  // lane that rotated q and k are rounded to
  int32_t mimo;     // 0: siso
  int32_t runs;
  int32_t bias, skip, gate, reduce, carry_in;  // truth values
  int64_t b, t, h, g, r, n, p, s;
  int64_t run_count, output_ranks;
  double norm_epsilon;  // counts where norm_weight is there
  const lockstep_tensor *q, *k, *v;
  const lockstep_tensor *a, *dt, *tau, *vartheta;
  const lockstep_tensor* z;
  const lockstep_tensor *bq, *bk;
  const lockstep_tensor* d;
  const lockstep_tensor *psi, *zeta, *phi;
  const lockstep_tensor* norm_weight;
  const lockstep_tensor *init_theta, *init_h, *init_k, *init_v;
  const lockstep_tensor *segments, *cu_seqlens;
  // Outputs.
  const lockstep_tensor* y;
  const lockstep_tensor *carry_theta, *carry_h, *carry_k, *carry_v;
  int32_t splits;  // as that of attention
} lockstep_mamba3_scan_call;

// The gradients of attention: the call of the forward op whose gradients are
// wanted, and the cotangents. Its o and lse are inputs here.
typedef struct lockstep_attention_backward_call {
  uint32_t size, abi;
  const lockstep_attention_forward_call* forward;
  int32_t grad;  // of dq, dk and dv
  const lockstep_tensor *d_o, *dlse;
  // Outputs. With forward->varlen these and the cotangents are also tokens: dq,
  // d_o and dlse by cu_seqlens_q, dk and dv by cu_seqlens_k.
  const lockstep_tensor *dq, *dk, *dv, *dsink;
  // Where the profile has grad.from = own: the o and lse that the
  // gradients are of, of a forward pass of the kernel's own.
  const lockstep_tensor *own_o, *own_lse;
} lockstep_attention_backward_call;

// The gradients of mamba3_scan: the call of the scan whose gradients are
// wanted, without its outputs, and the cotangents. A gradient is NULL where its
// input is, has its input's shape, and strides of its own.
typedef struct lockstep_mamba3_scan_backward_call {
  uint32_t size, abi;
  const lockstep_mamba3_scan_call* forward;
  int32_t grad;               // of dq, dk, dv, dtau, dvartheta and dz
  int32_t carry_grad;         // truth value: dcarry_... are there
  const lockstep_tensor* dy;  // of y: [b,t,output_ranks,h,p], lane
  // Of the carry that each run leaves, f32; of theta per turn.
  const lockstep_tensor *dcarry_theta, *dcarry_h, *dcarry_k, *dcarry_v;
  // Outputs, first those of `grad`: [b,t,h,p], [b,t,r,g,n] of q and of k,
  // [b,h,t], [b,t,h,s], [b,t,h,p].
  const lockstep_tensor *dv, *dq, *dk, *dtau, *dvartheta, *dz;
  // f32: [b,h,t] of a and of dt, [h,r,n] of the biases, [h], [h,r,p] of psi,
  // zeta and phi, [h,p].
  const lockstep_tensor *da, *ddt, *dbq, *dbk, *dd;
  const lockstep_tensor *dpsi, *dzeta, *dphi, *dnorm_weight;
  // f32, of the carry that each run starts from: [run,h,s], [run,h,p,n],
  // [run,r,h,n], [run,h,p].
  const lockstep_tensor *dinit_theta, *dinit_h, *dinit_k, *dinit_v;
} lockstep_mamba3_scan_backward_call;

typedef struct lockstep_ssd_scan_call {
  uint32_t size, abi;
  const char* case_line;
  int32_t threads;
  int32_t lane;
  int32_t runs;
  int32_t skip, gate, carry_in;  // truth values
  int64_t b, t, h, g, n, p;
  int64_t run_count;
  const lockstep_tensor *q, *k, *v;
  const lockstep_tensor *a, *dt;
  const lockstep_tensor* z;
  const lockstep_tensor* d;
  const lockstep_tensor* init_h;
  const lockstep_tensor *segments, *cu_seqlens;
  // Outputs.
  const lockstep_tensor *y, *carry_h;
  int32_t splits;  // as that of attention
} lockstep_ssd_scan_call;

// Attention over parts of the keys, to be put together by their lse.
typedef struct lockstep_attention_merge_call {
  uint32_t size, abi;
  const char* case_line;
  int32_t threads;  // as that of attention
  int32_t lane;     // of o_parts
  int32_t out;      // of o
  int32_t base;     // of the logarithm that every lse is: 2, or 0 for e
  int64_t s, h, n, dv;
  const lockstep_tensor* o_parts;    // [s,h,n,dv]
  const lockstep_tensor* lse_parts;  // [s,h,n], f32; -inf: the part saw no key
                                     // of the row, and its o may be anything
  // Outputs.
  const lockstep_tensor* o;    // [h,n,dv]
  const lockstep_tensor* lse;  // [h,n], f32, in the same base
} lockstep_attention_merge_call;

// A table that a planner has written into the room of the call, dense and
// row-major.
typedef struct lockstep_table {
  uint32_t size, abi;
  const char* name;   // that of docs/plans.md; may be gone after the next call
  const char* dtype;  // "i8", "u8", "i16", "i32", "i64"
  int64_t offset;     // from the beginning of the room, in bytes
  int32_t rank;
  int64_t shape[LOCKSTEP_MAX_RANK];
} lockstep_table;

typedef struct lockstep_block_plan_call {
  uint32_t size, abi;
  const char* case_line;
  const char* dialect;
  int32_t blocks, padded, segments;  // truth values
  int32_t mask_count;
  int64_t hq, sq, skv, bq, bk;
  int64_t width, width_t;  // 0: as needed
  int64_t q_shards, kv_shards, slack;
  const int64_t* offset;
  const lockstep_mask* const* masks;
  const lockstep_tensor* mask;  // u8 [hq,sq,skv], the answer pair by pair
  const lockstep_tensor *valid_q, *valid_kv;
  const lockstep_tensor *q_seg, *kv_seg;
  void* room;
  int64_t room_bytes;
  // Filled by the kernel.
  lockstep_table* tables;
  int64_t most_tables;
  int64_t* table_count;
} lockstep_block_plan_call;

// What a kernel reports about a call. All of it may be left as it is; what is
// said must be true. Texts end with 0.
typedef struct lockstep_receipt {
  uint32_t size, abi;
  char message[256];          // why it is unsupported, or what is wrong
  char backend[64];           // what ran, if not the kernel of that name
  char target[64];            // instruction set
  char fallback_reason[256];  // why another backend ran
  double seconds;             // the kernel's own time; < 0: not told
  int32_t threads;            // that were used; 0: not told
  int64_t tile_q, tile_k;     // 0: not told
  // Of all rows and query heads; < 0: not told.
  int64_t tiles_full, tiles_partial, tiles_empty;
  // Not 0: `seconds` are by the clock of a device, which the host then waits
  // for.
  int32_t device_clock;
} lockstep_receipt;

// What a kernel says about itself. Lists are words between blanks; NULL is
// none.
typedef struct lockstep_description {
  uint32_t size, abi;
  const char* name;
  const char* version;
  const char* commit;
  const char* lanes;    // "f32 bf16 f16"; none: f32 and bf16
  const char* wants;    // "mask.dense contiguous", see docs/wire.md
  const char* lacks;    // outputs that it does not have: "lse"
  const char* threads;  // numbers that it can be told to use: "1 4"
  const char* profile;  // a name, or the text of a profile file
  int64_t alignment;   // of tensors, a power of two up to 4096; 0: an element's
  const char* splits;  // numbers that it can be told: "1 2 8"
  // "cuda" or "cuda:1", where `data` of tensors is memory of that
  // device. Masks, offsets and the room of a planner stay the CPU's. NULL: all
  // is memory of the CPU.
  const char* device;
} lockstep_description;

// All that one open kernel keeps from call to call.
typedef struct lockstep_handle lockstep_handle;

// The functions of a kernel: lockstep_describe and at least one op.

// Fills in the description, which comes zeroed, and its `abi` with
// LOCKSTEP_ABI. 0 is success.
LOCKSTEP_EXPORT int lockstep_describe(lockstep_description* description);

// Optional, both or none. `argv` holds the arguments of so:PATH,ARG=VALUE... as
// "ARG=VALUE". 0 is success; otherwise what was printed last is shown. A kernel
// is closed and opened again after each line of a case file.
LOCKSTEP_EXPORT int lockstep_open(int argc, const char* const* argv,
                                  lockstep_handle** handle);
LOCKSTEP_EXPORT void lockstep_close(lockstep_handle* handle);

// The ops that it computes. `handle` is NULL where there is no lockstep_open.
LOCKSTEP_EXPORT int lockstep_attention_forward(
    lockstep_handle* handle, const lockstep_attention_forward_call* call,
    lockstep_receipt* receipt);
LOCKSTEP_EXPORT int lockstep_attention_backward(
    lockstep_handle* handle, const lockstep_attention_backward_call* call,
    lockstep_receipt* receipt);
LOCKSTEP_EXPORT int lockstep_attention_merge(
    lockstep_handle* handle, const lockstep_attention_merge_call* call,
    lockstep_receipt* receipt);
LOCKSTEP_EXPORT int lockstep_mamba3_scan(lockstep_handle* handle,
                                         const lockstep_mamba3_scan_call* call,
                                         lockstep_receipt* receipt);
LOCKSTEP_EXPORT int lockstep_mamba3_scan_backward(
    lockstep_handle* handle, const lockstep_mamba3_scan_backward_call* call,
    lockstep_receipt* receipt);
LOCKSTEP_EXPORT int lockstep_mamba3_step(lockstep_handle* handle,
                                         const lockstep_mamba3_scan_call* call,
                                         lockstep_receipt* receipt);
LOCKSTEP_EXPORT int lockstep_ssd_scan(lockstep_handle* handle,
                                      const lockstep_ssd_scan_call* call,
                                      lockstep_receipt* receipt);
LOCKSTEP_EXPORT int lockstep_block_plan(lockstep_handle* handle,
                                        const lockstep_block_plan_call* call,
                                        lockstep_receipt* receipt);

// NOLINTEND(readability-identifier-naming)

#endif  // LOCKSTEP_VERIFY_HOST_INCLUDE_LOCKSTEP_CANDIDATE_H_
