#include "verify/candidate/wire/plan.h"

#include <algorithm>
#include <string>
#include <utility>

#include "verify/base/io/safetensors.h"
#include "verify/base/printable.h"
#include "verify/case/block_plan.h"
#include "verify/tables/files.h"

namespace lockstep::verify {
namespace {

// Room that any dialect's tables fit in: element masks of every tile in both
// directions, as far as there are not gigabytes of them, and some words a tile,
// head and shard.
int64_t RoomFor(const BlockPlanCase& c) {
  const int64_t rows = (c.q_len + c.tile_q - 1) / c.tile_q + 1;
  const int64_t cols = (c.kv_len + c.tile_k - 1) / c.tile_k + 1;
  const int64_t tiles = rows * cols * c.q_heads;
  const int64_t words = 64 * (c.q_shards + c.kv_shards);
  const int64_t most_blocks = (int64_t{1} << 31) / (2 * c.tile_q * c.tile_k);
  return (int64_t{1} << 16) + tiles * words +
         std::min(tiles, most_blocks + 1) * 2 * c.tile_q * c.tile_k;
}

// The spelling of a type in safetensors; empty where it is no integer.
std::string FileType(const std::string& type) {
  static constexpr std::pair<const char*, const char*> kTypes[] = {
      {"i8", "I8"},   {"u8", "U8"},   {"i16", "I16"},
      {"i32", "I32"}, {"i64", "I64"},
  };
  for (const auto& [wire, file] : kTypes) {
    if (type == wire) return file;
  }
  return "";
}

// Bytes of a table; -1 for one that is too large or of no type.
int64_t BytesOf(const WireTable& table, int64_t most) {
  int64_t bytes = SafetensorsTypeBytes(FileType(table.type));
  if (bytes == 0) return -1;
  for (const int64_t extent : table.shape) {
    if (extent < 0 || (extent > 0 && bytes > most / extent)) return -1;
    bytes *= extent;
  }
  return bytes;
}

RunOutcome Mismatch(const std::string& message) {
  return {RunOutcome::State::kMismatch, message, "tables"};
}

}  // namespace

PlanCall::PlanCall(const BlockPlanScene& scene) : scene_(scene) {
  const BlockPlanCase& c = scene.asked;
  KernelInputs& inputs = call_.inputs;
  inputs = NameInputs(scene.data.problem, scene.data.inputs);
  for (const char* name : {"q", "k", "v", "sink"}) inputs.Drop(name);
  std::erase_if(inputs.scalars, [](const auto& scalar) {
    return scalar.first != "offset" && scalar.first != "hq" &&
           scalar.first != "sq" && scalar.first != "skv";
  });
  inputs.op = "block_plan";
  const std::pair<std::string, ScalarValue> more[] = {
      {"bq", c.tile_q},
      {"bk", c.tile_k},
      {"dialect", std::string(DialectName(c.dialect))},
      {"blocks", c.blocks},
      {"padded", c.padded},
      {"segments", c.segments},
      {"width", c.width},
      {"width_t", c.width_t},
      {"q_shards", c.q_shards},
      {"kv_shards", c.kv_shards},
      {"slack", c.slack}};
  inputs.scalars.insert(inputs.scalars.end(), std::begin(more), std::end(more));
  AddMaskTensor(scene, &inputs);
  call_.outputs.push_back(
      {"tables", ElementType::kU8, {RoomFor(c)}, {1}, nullptr});
}

RunOutcome PlanCall::Read(const std::vector<WireTable>& tables,
                          const PlacedTensor& room, const SharedMemory& out,
                          PlanTrace* trace) const {
  const int64_t end = room.offset + room.shape[0];
  std::vector<SafetensorsTensor> found;
  for (const WireTable& table : tables) {
    const std::string name = "'" + Printable(table.name) + "'";
    const int64_t bytes = BytesOf(table, room.shape[0]);
    if (bytes < 0) {
      return Mismatch("table " + name +
                      " has a type other than i8, u8, i16, i32, i64, or no "
                      "shape that fits");
    }
    if (table.offset < room.offset || bytes > end - table.offset) {
      return Mismatch("table " + name + " lies outside the room for tables");
    }
    found.push_back({table.name,
                     FileType(table.type),
                     table.shape,
                     {out.data() + table.offset, static_cast<size_t>(bytes)}});
  }
  const Result<std::string> text = FormatSafetensors(found, {});
  if (!text.ok()) return Mismatch(text.message());
  const Result<SafetensorsFile> file = SafetensorsFile::Parse(
      "the answer", {text.value().begin(), text.value().end()});
  if (!file.ok()) return Mismatch(file.message());
  Result<PlanTrace> read = ReadTables(scene_.asked, file.value());
  if (!read.ok()) return Mismatch(read.message());
  *trace = std::move(read.value());
  return {};
}

}  // namespace lockstep::verify
