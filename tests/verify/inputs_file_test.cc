// Inputs from files: captured data, pinned digests, dense masks, export.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "reference/mask.h"
#include "verify/base/digest.h"
#include "verify/base/io/safetensors.h"
#include "verify/case/attention_backward.h"
#include "verify/inputs/attention_backward/data.h"
#include "verify/inputs/attention_forward.h"
#include "verify/oracle/attention_forward/visibility.h"
#include "verify/registry/ops.h"
#include "verify/report/export.h"

namespace lockstep::verify {
namespace {

constexpr char kLayer5[] = "data/captured/minilm_layer5_f32.safetensors";

class InputFiles : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "/inputs_file_test";
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Result<AttentionForwardData> Load(const std::string& rest) {
    const auto c = ParseCase("attention_forward " + rest);
    EXPECT_TRUE(c.ok()) << (c.ok() ? "" : c.message());
    MaterialiseOptions options;
    options.search_directories = {".", folder_};
    return Materialise(c.value(), options);
  }

  void ExpectRefusal(const std::string& rest, const std::string& word) {
    const auto data = Load(rest);
    ASSERT_FALSE(data.ok()) << rest;
    EXPECT_NE(data.message().find(word), std::string::npos) << data.message();
    EXPECT_EQ(data.message().find('\n'), std::string::npos);
  }

  // The tensors of one file by name; its digest.
  std::string Write(const std::string& name,
                    const std::vector<SafetensorsTensor>& tensors) {
    EXPECT_TRUE(WriteSafetensors(folder_ + "/" + name, tensors, {}).ok());
    return DigestTensors(tensors);
  }

  std::string folder_;
};

TEST_F(InputFiles, CapturedTensorsKeepTheirBits) {
  const auto file = SafetensorsFile::Read(kLayer5);
  ASSERT_TRUE(file.ok()) << file.message();
  const std::string line =
      "hq=2 sq=430 skv=430 d=32 q_seg=file kv_seg=runs:127,73,30,138,62 "
      "fill=file:" +
      std::string(kLayer5) + "#" + file.value().Digest();
  const auto data = Load(line);
  ASSERT_TRUE(data.ok()) << data.message();
  // The digest of this tensor in data/captured/README.md.
  EXPECT_EQ(DigestTensor(data.value().inputs.q),
            "a79b033359ed2a1f9f5ab6f5cdf0a273");
  EXPECT_EQ(DigestTensor(data.value().inputs.q_seg),
            DigestTensor(data.value().inputs.kv_seg));
  // The bf16 lane gets them rounded; a cap scales no captured data.
  const auto half = Load(line + " lane=bf16 cap=2");
  ASSERT_TRUE(half.ok()) << half.message();
  const float x = data.value().inputs.q.As<float>()(0, 1, 7, 3);
  const float y = ToFloat(half.value().inputs.q.As<Bf16>()(0, 1, 7, 3));
  EXPECT_LE(std::abs(x - y), std::abs(x) / 256);
}

TEST_F(InputFiles, AChangedFileIsRefusedWithBothDigests) {
  const std::string pinned(32, '0');
  const auto file = SafetensorsFile::Read(kLayer5);
  const std::string line =
      "hq=2 sq=430 skv=430 d=32 fill=file:" + std::string(kLayer5) + "#";
  ExpectRefusal(line + pinned, pinned);
  ExpectRefusal(line + pinned, file.value().Digest());
}

TEST_F(InputFiles, ShapesTypesAndNamesAreChecked) {
  std::vector<uint8_t> bytes(64, 0);
  const SafetensorsTensor q{"q", "F32", {1, 1, 2, 8}, bytes};
  SafetensorsTensor k = q, v = q;
  k.name = "k";
  v.name = "v";
  const std::string shape = "sq=2 skv=2 d=8 fill=file:x#";
  EXPECT_TRUE(Load(shape + Write("x", {q, k, v})).ok());
  ExpectRefusal(shape + Write("x", {q, k}), "'v' is not in the file");
  v.type = "I32";
  ExpectRefusal(shape + Write("x", {q, k, v}), "type I32; want F32");
  v.type = "F32";
  v.shape = {1, 1, 4, 4};
  ExpectRefusal(shape + Write("x", {q, k, v}), "[1,1,4,4]; want [1,1,2,8]");
  ExpectRefusal("sq=2 skv=2 d=8 fill=file:none#" + std::string(32, 'a'),
                "none: no such file");
  v.shape = q.shape;
  ExpectRefusal(shape + Write("x", {q, k, v}) + " q_seg=file kv_seg=file",
                "'q_seg' is not in the file");
}

TEST_F(InputFiles, DenseMasksComeInTheirBroadcastShapes) {
  const std::vector<uint8_t> bytes(2 * 3 * 2 * 2, 1);
  const std::string line = "b=2 hq=3 sq=2 skv=2 d=4 mask=dense:m&causal";
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{1, 1, 2, 2},
                                            {2, 1, 2, 2},
                                            {1, 3, 2, 2},
                                            {2, 3, 2, 2}}) {
    size_t size = 1;
    for (const int64_t extent : shape) size *= static_cast<size_t>(extent);
    const std::string digest =
        Write("m", {{"dense_mask", "U8", shape, std::span(bytes).first(size)}});
    const auto data = Load(line);
    ASSERT_TRUE(data.ok()) << data.message();
    EXPECT_EQ(data.value().inputs.dense_masks[0].shape[0], shape[0]);
    const auto pinned = Load("b=2 hq=3 sq=2 skv=2 d=4 mask=dense:m#" + digest);
    EXPECT_TRUE(pinned.ok()) << pinned.message();
  }
  Write("m", {{"dense_mask", "U8", {2, 2}, std::span(bytes).first(4)}});
  EXPECT_TRUE(Load(line).ok());
  Write("m", {{"dense_mask", "U8", {3, 2}, std::span(bytes).first(6)}});
  const std::string wanted = "U8 or BOOL, [2, 2] or [1 or 2, 1 or 3, 2, 2]";
  ExpectRefusal(line, "tensor 'dense_mask' is U8 [3, 2]; want tensor");
  ExpectRefusal(line, wanted);
  ExpectRefusal(line + " align=tl mask.h1=full", wanted);
  Write("m", {{"dense_mask", "U8", {3, 1, 2, 2}, std::span(bytes).first(12)}});
  ExpectRefusal(line, "U8 [3, 1, 2, 2]; want tensor");
  Write("m", {{"dense_mask", "I8", {2, 2}, std::span(bytes).first(4)}});
  ExpectRefusal(line, "is I8 [2, 2]; want tensor");
  const std::vector<uint8_t> two = {0, 1, 2, 0};
  Write("m", {{"dense_mask", "U8", {2, 2}, two}});
  ExpectRefusal(line, "'dense_mask': element 2 is 2; want 0 or 1");
  Write("m", {{"dense_mask", "U8", {1, 1, 2, 2}, std::span(bytes).first(4)}});
  ExpectRefusal("b=2 hq=3 sq=2 skv=2 d=4 mask=dense:m#" + std::string(32, 'a'),
                "the case pins aaaa");
  const SafetensorsTensor one{"a", "U8", {2, 2}, std::span(bytes).first(4)};
  SafetensorsTensor other = one;
  other.name = "b";
  Write("m", {one});
  EXPECT_TRUE(Load(line).ok());
  Write("m", {one, other});
  ExpectRefusal(line, "m: no mask; want tensor 'dense_mask'");
}

// Five queries in blocks of two, seven keys in blocks of three: the last block
// of either is ragged, and rows are not columns.
TEST_F(InputFiles, AMaskOfBlocksSaysOneThingForEachBlock) {
  const std::vector<uint8_t> bits = {1, 0, 1, 0, 1, 0, 0, 0, 1};
  Write("m", {{"block_mask", "U8", {1, 1, 3, 3}, bits}});
  const std::string line = "sq=5 skv=7 d=4 mask=blocks:2x3:file:m";
  const auto data = Load(line);
  ASSERT_TRUE(data.ok()) << data.message();
  const AttentionForwardProblem& p = data->problem;
  EXPECT_EQ(data->dense_masks[0].bytes(), 9);  // not 35
  oracle::Visibility witness(p, data->inputs);
  for (int64_t i = 0; i < 5; ++i) {
    std::string seen, found(7, '.');
    for (int64_t j = 0; j < 7; ++j) {
      const bool sees = reference::IsVisible(p, data->inputs, 0, 0, i, j);
      EXPECT_EQ(sees, bits[static_cast<size_t>(i / 2 * 3 + j / 3)] != 0);
      seen += sees ? '#' : '.';
    }
    for (const oracle::KeyInterval& keys : witness.VisibleKeys(0, 0, i)) {
      for (int64_t j = keys.begin; j < keys.end; ++j) found[j] = '#';
    }
    EXPECT_EQ(found, seen) << i;
    EXPECT_EQ(seen, i < 2 ? "###...#" : i < 4 ? "...###." : "......#");
  }
  ExpectRefusal("sq=5 skv=7 d=4 mask=blocks:3x2:file:m",
                "is U8 [1, 1, 3, 3]; want tensor 'block_mask' (or one tensor "
                "alone), U8 or BOOL, [2, 4] or [1, 1, 2, 4]");
  ExpectRefusal("sq=5 skv=7 d=4 mask=blocks:0x3:file:m", "block size 0 is out");
  ExpectRefusal(line + "#" + std::string(32, 'a'), "the case pins aaaa");
}

// A cotangent has a file of its own, whatever the inputs come from.
TEST_F(InputFiles, ACotangentComesFromAFile) {
  std::vector<float> values(2 * 3 * 4);
  for (size_t i = 0; i < values.size(); ++i) values[i] = 0.5f + float(i);
  const auto* bytes = reinterpret_cast<const uint8_t*>(values.data());
  const SafetensorsTensor tensor = {
      "do", "F32", {1, 2, 3, 4}, {bytes, values.size() * sizeof(float)}};
  const std::string pin = Write("do.safetensors", {tensor});
  const auto load = [&](const std::string& rest) {
    const auto c = ParseCase("attention_backward hq=2 skv=5 " + rest +
                             " do=file:do.safetensors#" + pin);
    EXPECT_TRUE(c.ok() && NamesFiles(c.value()));
    return MaterialiseAttentionBackward(c.value(),
                                        {.search_directories = {".", folder_}});
  };
  const auto data = load("sq=3 d=4 layout=bshd");
  ASSERT_TRUE(data.ok()) << data.message();
  EXPECT_EQ(DigestTensor(data->inputs.d_o),
            DigestBytes(bytes, values.size() * sizeof(float)));
  EXPECT_EQ(data->inputs.d_o.As<float>()(0, 1, 2, 3), 23.5f);

  const auto shape = load("sq=2 d=4");
  ASSERT_FALSE(shape.ok());
  EXPECT_NE(shape.message().find("do"), std::string::npos) << shape.message();
  EXPECT_EQ(shape.message().find('\n'), std::string::npos);
}

TEST_F(InputFiles, ACotangentHasOneFile) {
  const std::string term = "file:x#" + std::string(32, '0');
  const auto c =
      ParseCase("attention_backward sq=2 skv=2 d=4 do=" + term + "+" + term);
  ASSERT_TRUE(c.ok()) << c.message();
  const Status status = ValidateCase(c.value());
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.message(), "do: at most one file: term");
}

TEST_F(InputFiles, HostileFilesAreRefused) {
  std::filesystem::create_directory(folder_ + "/x");
  ExpectRefusal("sq=2 skv=2 d=8 mask=dense:x", "no .npy file there");
}

TEST_F(InputFiles, ExportHasTheDocumentedTensors) {
  const auto c = ParseCase(
      "attention_forward b=2 hq=2 hkv=1 sq=3 skv=4 d=5 dv=6 lane=bf16 "
      "layout=bshd mask=random:0.5|blocks:2x2:0.5 q_seg=runs:3 kv_seg=runs:4 "
      "valid_kv=4,2 sinklogit=normal:1 cap=3");
  ASSERT_TRUE(c.ok());
  const std::string out = folder_ + "/out";
  const Status status = ExportCase(c.value(), out, true, {});
  ASSERT_TRUE(status.ok()) << status.message();
  const auto in = SafetensorsFile::Read(out + "/inputs.safetensors");
  ASSERT_TRUE(in.ok()) << in.message();
  EXPECT_EQ(in.value().metadata().at("case"), CanonicalLine(c.value()));
  EXPECT_EQ(in.value().tensors().size(), 10u);
  const struct {
    const char* name;
    const char* type;
    std::vector<int64_t> shape;
  } tensors[] = {{"q", "BF16", {2, 2, 3, 5}},
                 {"k", "BF16", {2, 1, 4, 5}},
                 {"v", "BF16", {2, 1, 4, 6}},
                 {"q_seg", "I32", {2, 3}},
                 {"kv_seg", "I32", {2, 4}},
                 {"valid_q", "I32", {2}},
                 {"valid_kv", "I32", {2}},
                 {"sink", "F32", {2}},
                 {"dense_mask_0", "U8", {2, 2, 3, 4}},
                 {"dense_mask_1", "U8", {1, 1, 3, 4}}};
  for (const auto& [name, type, shape] : tensors) {
    EXPECT_TRUE(in.value().Get(name, type, shape).ok()) << name;
  }
  // Dense whatever the layout: the digest of the logical tensor.
  const auto data = Materialise(c.value(), {});
  const auto* q = in.value().Find("q");
  EXPECT_EQ(DigestBytes(q->bytes.data(), q->bytes.size()),
            DigestTensor(data.value().inputs.q));
  const auto expected = SafetensorsFile::Read(out + "/expected.safetensors");
  ASSERT_TRUE(expected.ok()) << expected.message();
  EXPECT_TRUE(expected.value().Get("o", "BF16", {2, 2, 3, 6}).ok());
  EXPECT_TRUE(expected.value().Get("lse", "F32", {2, 2, 3}).ok());
}

TEST_F(InputFiles, ExportWritesNothingForABadCase) {
  const auto c = ParseCase("attention_forward sq=1 skv=1 d=0");
  ASSERT_TRUE(c.ok());
  EXPECT_FALSE(ExportCase(c.value(), folder_ + "/out", true, {}).ok());
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/out"));
  const auto good = ParseCase("attention_forward sq=1 skv=1 d=1");
  const Status status = ExportCase(good.value(), folder_ + "/no/out", true, {});
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.message().find("cannot be made"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::verify
