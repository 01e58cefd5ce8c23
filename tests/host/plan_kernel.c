// The lists of a block-sparse kernel (dialect block_mask), made from the mask
// pair by pair: a planner behind the C interface.
#include <stdint.h>
#include <stdio.h>

#include "lockstep/candidate.h"

typedef struct {
  const lockstep_block_plan_call* call;
  int64_t used;  // bytes of the room
} plan;

static int visible(const lockstep_tensor* mask, int64_t h, int64_t i,
                   int64_t j) {
  const char* data = (const char*)mask->data;
  return data[h * mask->strides[0] + i * mask->strides[1] +
              j * mask->strides[2]] != 0;
}

// 0: nothing of the tile is visible, 2: all of it, 1: something.
static int state_of(const lockstep_block_plan_call* call, int64_t h,
                    int64_t row, int64_t col) {
  int64_t seen = 0;
  for (int64_t i = row * call->bq; i < (row + 1) * call->bq && i < call->sq;
       ++i) {
    for (int64_t j = col * call->bk; j < (col + 1) * call->bk && j < call->skv;
         ++j) {
      seen += visible(call->mask, h, i, j);
    }
  }
  return seen == 0 ? 0 : seen == call->bq * call->bk ? 2 : 1;
}

// Null: the room or the list of tables is full.
static int32_t* new_table(plan* p, const char* name, int32_t rank,
                          const int64_t* shape) {
  int64_t bytes = 4;
  for (int32_t axis = 0; axis < rank; ++axis) bytes *= shape[axis];
  if (*p->call->table_count == p->call->most_tables) return NULL;
  if (p->call->room_bytes - p->used < bytes) return NULL;
  lockstep_table* table = &p->call->tables[(*p->call->table_count)++];
  table->size = sizeof(*table);
  table->abi = LOCKSTEP_ABI;
  table->name = name;
  table->dtype = "i32";
  table->offset = p->used;
  table->rank = rank;
  for (int32_t axis = 0; axis < rank; ++axis) table->shape[axis] = shape[axis];
  p->used += bytes;
  return (int32_t*)((char*)p->call->room + table->offset);
}

// Tiles of one state, row by row; `turned`: column by column.
static int add_lists(plan* p, const char* num_name, const char* indices_name,
                     int state, int turned) {
  const lockstep_block_plan_call* call = p->call;
  const int64_t q_tiles = (call->sq + call->bq - 1) / call->bq;
  const int64_t kv_tiles = (call->skv + call->bk - 1) / call->bk;
  const int64_t rows = turned ? kv_tiles : q_tiles;
  const int64_t cols = turned ? q_tiles : kv_tiles;
  const int64_t shape[3] = {call->hq, rows, cols};
  int32_t* num = new_table(p, num_name, 2, shape);
  int32_t* indices = new_table(p, indices_name, 3, shape);
  if (num == NULL || indices == NULL) return 0;
  for (int64_t h = 0; h < call->hq; ++h) {
    for (int64_t row = 0; row < rows; ++row) {
      int32_t* list = indices + (h * rows + row) * cols;
      int32_t count = 0;
      for (int64_t col = 0; col < cols; ++col) {
        list[col] = 0;
        const int found =
            turned ? state_of(call, h, col, row) : state_of(call, h, row, col);
        if (found == state) list[count++] = (int32_t)col;
      }
      num[h * rows + row] = count;
    }
  }
  return 1;
}

int lockstep_describe(lockstep_description* description) {
  description->abi = LOCKSTEP_ABI;
  description->name = "lists";
  description->version = "0.3";
  return 0;
}

int lockstep_block_plan(lockstep_handle* handle,
                        const lockstep_block_plan_call* call,
                        lockstep_receipt* receipt) {
  (void)handle;
  plan p = {call, 0};
  *call->table_count = 0;
  const char* dialect = call->dialect;
  if (dialect[0] != 'b') {
    snprintf(receipt->message, sizeof(receipt->message), "no dialect %s",
             dialect);
    return LOCKSTEP_UNSUPPORTED;
  }
  const int done =
      add_lists(&p, "kv_num_blocks", "kv_indices", 1, 0) &&
      add_lists(&p, "full_kv_num_blocks", "full_kv_indices", 2, 0) &&
      add_lists(&p, "q_num_blocks", "q_indices", 1, 1) &&
      add_lists(&p, "full_q_num_blocks", "full_q_indices", 2, 1);
  return done ? LOCKSTEP_DONE : LOCKSTEP_ERROR;
}
