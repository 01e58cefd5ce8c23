// lockstep ids: what the judge makes of a file of document ids.
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "verify/base/io/npy.h"
#include "verify/base/printable.h"
#include "verify/cli/cli.h"
#include "verify/report/ids/attention_forward.h"

namespace lockstep::verify::cli {
namespace {

// As many ids of 64 bits as a case may have tokens (docs/cases.md, Limits).
constexpr int64_t kMaxIdsFile = int64_t{8} << 26;

struct IdsArguments {
  std::string file;
  std::string pad;
  std::string out;
  bool packed = false;
};

Result<std::optional<int32_t>> PadOf(const std::string& text) {
  if (text.empty()) return std::optional<int32_t>();
  size_t read = 0;
  long long id = 0;
  try {
    id = std::stoll(text, &read);
  } catch (const std::exception&) {
    read = 0;
  }
  if (read != text.size() || id < INT32_MIN || id > INT32_MAX) {
    return Status::Error("--pad '" + text +
                         "': want an id of 32 bits, such as -1");
  }
  return std::optional(static_cast<int32_t>(id));
}

// A case with these ids, to go on from.
std::string Keys(const IdRows& ids, const std::string& path) {
  const std::string tokens = std::to_string(ids.tokens);
  const std::string rows = std::to_string(ids.batch);
  return "case   attention_forward " + (rows == "1" ? "" : "b=" + rows + " ") +
         "sq=" + tokens + " skv=" + tokens +
         " d=64 mask=causal q_seg=file:" + Printable(path) +
         " kv_seg=file:" + Printable(path) + "\n";
}

int RunIds(const IdsArguments& a) {
  const auto pad = PadOf(a.pad);
  if (!pad.ok()) return Fail(pad.message());
  if (!a.out.empty()) {
    const Status writable = CheckDeliverables({{"--out", a.out}}, {a.file});
    if (!writable.ok()) return Fail(writable.message());
  }
  const Result<SafetensorsFile> file = ReadTensors(a.file, kMaxIdsFile);
  if (!file.ok()) return Fail(file.message());
  const Result<IdRows> ids = ReadIdRows(file.value(), pad.value());
  if (!ids.ok()) return Fail(ids.message());
  if (a.packed) {
    const Status packed = CheckPackedRows(file.value(), ids.value());
    if (!packed.ok()) return Fail(packed.message());
  }
  std::cout << IdsText(ids.value());
  if (!a.out.empty()) {
    const Status written = WriteIds(a.out, ids.value());
    if (!written.ok()) return Fail(written.message());
    std::cout << Keys(ids.value(), a.out);
  } else if (pad.value()) {
    std::cout << "with --out FILE.safetensors padding gets ids that match "
                 "nothing\n";
  } else {
    std::cout << Keys(ids.value(), a.file);
  }
  return kExitPass;
}

}  // namespace

void AddIds(Parser* program) {
  Verb* verb = program->Add(
      "ids", "Show the documents and the padding in your own ids",
      "Example:\n  lockstep ids ids.npy --pad -1 --out ids.safetensors\n\n"
      "The file: safetensors or .npy, I32 or I64, an id a token, [s] or\n"
      "[b, s] (docs/cases.md). Tokens with equal ids see each other.\n"
      "--packed also reads valid and num_docs [b] and loss_mask [b, s], where\n"
      "the file has them.");
  auto a = std::make_shared<IdsArguments>();
  verb->Value("FILE", &a->file, "File of ids, one per token").Required();
  verb->Value("--pad", &a->pad,
              "The id of padding, which sees nothing and is not seen")
      .Type("ID");
  verb->Flag("--packed", &a->packed,
             "Refuse rows that are not whole documents, then padding");
  verb->Value("--out", &a->out,
              "Write q_seg and kv_seg, in which padding matches nothing")
      .Type("FILE");
  verb->run = [a] { return RunIds(*a); };
}

}  // namespace lockstep::verify::cli
