// The safetensors reader against hostile files, and the writer's round trip.
#include "verify/base/io/safetensors.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "verify/base/io/files.h"

namespace lockstep::verify {
namespace {

std::vector<uint8_t> File(uint64_t length, const std::string& json,
                          size_t data_bytes) {
  std::vector<uint8_t> file;
  for (int i = 0; i < 8; ++i) {
    file.push_back(static_cast<uint8_t>(length >> (8 * i) & 255));
  }
  file.insert(file.end(), json.begin(), json.end());
  file.resize(file.size() + data_bytes, 7);
  return file;
}

std::vector<uint8_t> File(const std::string& json, size_t data_bytes) {
  return File(json.size(), json, data_bytes);
}

std::string Tensor(const std::string& name, const std::string& type,
                   const std::string& shape, const std::string& offsets) {
  return "\"" + name + "\":{\"dtype\":\"" + type + "\",\"shape\":" + shape +
         ",\"data_offsets\":" + offsets + "}";
}

TEST(Safetensors, ReadsWhatItWrites) {
  const std::vector<uint8_t> bytes = {1, 2, 3, 4, 5, 6, 7, 8};
  const std::vector<SafetensorsTensor> tensors = {
      {"small", "U8", {3}, std::span(bytes).first(3)},
      {"q", "F32", {1, 2}, bytes},
      {"none", "I64", {0, 5}, {}},
      {"half", "BF16", {2, 1, 1}, std::span(bytes).subspan(2, 4)},
  };
  const std::map<std::string, std::string> metadata = {
      {"case", "attention_forward sq=1"}, {"quote", "\"\\\n"}};
  const auto text = FormatSafetensors(tensors, metadata);
  ASSERT_TRUE(text.ok()) << text.message();
  const auto file =
      SafetensorsFile::Parse("x", {text.value().begin(), text.value().end()});
  ASSERT_TRUE(file.ok()) << file.message();
  EXPECT_EQ(file.value().metadata(), metadata);
  EXPECT_EQ(file.value().tensors().size(), 4u);
  for (const auto& tensor : tensors) {
    const auto found = file.value().Get(tensor.name, tensor.type, tensor.shape);
    ASSERT_TRUE(found.ok()) << found.message();
    EXPECT_TRUE(std::equal(found.value().bytes.begin(),
                           found.value().bytes.end(), tensor.bytes.begin(),
                           tensor.bytes.end()));
  }
  EXPECT_EQ(file.value().Digest(), DigestTensors(tensors));
  EXPECT_FALSE(file.value().Get("q", "F32", {2, 1}).ok());
  EXPECT_FALSE(file.value().Get("q", "I32", {1, 2}).ok());
  EXPECT_FALSE(file.value().Get("k", "F32", {1, 2}).ok());
  EXPECT_EQ(file.value().Find("k"), nullptr);
}

TEST(Safetensors, TheWriterRefusesWhatTheReaderWould) {
  const std::vector<uint8_t> bytes(8);
  const SafetensorsTensor good{"q", "F32", {2}, bytes};
  SafetensorsTensor bad = good;
  EXPECT_FALSE(FormatSafetensors({good, good}, {}).ok());
  bad.type = "F33";
  EXPECT_FALSE(FormatSafetensors({bad}, {}).ok());
  bad = good;
  bad.shape = {3};
  EXPECT_FALSE(FormatSafetensors({bad}, {}).ok());
  bad = good;
  bad.name = "__metadata__";
  EXPECT_FALSE(FormatSafetensors({bad}, {}).ok());
}

struct Hostile {
  const char* what;
  std::vector<uint8_t> file;
  const char* word;  // stands in the message
};

std::vector<Hostile> HostileFiles() {
  const std::string a = Tensor("a", "U8", "[4]", "[0,4]");
  const std::string open = "{" + a.substr(0, a.size() - 1);
  return {
      {"empty", {}, "truncated"},
      {"seven bytes", std::vector<uint8_t>(7), "truncated"},
      {"length beyond the file", File(1000, "{}", 0), "truncated"},
      {"length that counts itself", File(10, "{}", 0), "truncated"},
      {"length of 2^63", File(uint64_t{1} << 63, "{}", 0), "the most is"},
      {"length of 2^64-1", File(UINT64_MAX, "{}", 0), "the most is"},
      {"length 0", File("", 4), "start with '{'"},
      {"not JSON", File("{nonsense}", 0), "not JSON"},
      {"cut JSON", File("{" + a, 4), "not JSON"},
      {"an array", File("[1]", 0), "start with '{'"},
      {"blank before", File(" {}", 0), "start with '{'"},
      {"bytes after JSON", File("{" + a + "}x", 4), "not JSON"},
      {"not UTF-8", File("{\"\xff\":1}", 0), "not JSON"},
      {"number for a tensor", File("{\"a\":1}", 0), "unexpected a number"},
      {"string for a tensor", File("{\"a\":\"b\"}", 0), "a string"},
      {"array for a tensor", File("{\"a\":[]}", 0), "unexpected an array"},
      {"deep nesting", File("{\"a\":" + std::string(100000, '['), 0), "array"},
      {"deep objects", File("{\"a\":{\"b\":{\"c\":{}}}}", 0),
       "unexpected an object"},
      {"doubled name", File("{" + a + "," + a + "}", 4), "given twice"},
      {"doubled field", File(open + ",\"dtype\":\"U8\"}}", 4), "given twice"},
      {"doubled metadata",
       File("{\"__metadata__\":{\"k\":\"1\",\"k\":\"2\"}}", 0), "given twice"},
      {"metadata not text", File("{\"__metadata__\":{\"k\":1}}", 0),
       "unexpected a number"},
      {"unknown field", File(open + ",\"extra\":\"U8\"}}", 4),
       "unexpected a string"},
      {"no dtype", File("{\"a\":{\"shape\":[4],\"data_offsets\":[0,4]}}", 4),
       "wants dtype"},
      {"unknown dtype", File("{" + Tensor("a", "X8", "[4]", "[0,4]") + "}", 4),
       "unknown dtype"},
      {"negative extent",
       File("{" + Tensor("a", "U8", "[-4]", "[0,4]") + "}", 4), "negative"},
      {"fractional extent",
       File("{" + Tensor("a", "U8", "[4.0]", "[0,4]") + "}", 4), "'4.0'"},
      {"huge extent",
       File("{" + Tensor("a", "U8", "[18446744073709551615]", "[0,4]") + "}",
            4),
       "overflows"},
      {"product overflow",
       File("{" + Tensor("a", "F64", "[4294967296,4294967296]", "[0,4]") + "}",
            4),
       "overflows"},
      {"number too long",
       File("{" + Tensor("a", "U8", "[99999999999999999999999]", "[0,4]") + "}",
            4),
       "unexpected"},
      {"too many axes",
       File("{" + Tensor("a", "U8", "[1,1,1,1,1,1,1,1,4]", "[0,4]") + "}", 4),
       "axes"},
      {"one offset", File("{" + Tensor("a", "U8", "[4]", "[0]") + "}", 4),
       "two numbers"},
      {"three offsets",
       File("{" + Tensor("a", "U8", "[4]", "[0,4,4]") + "}", 4), "two numbers"},
      {"offsets reversed",
       File("{" + Tensor("a", "U8", "[4]", "[4,0]") + "}", 4), "outside"},
      {"offsets outside",
       File("{" + Tensor("a", "U8", "[8]", "[0,8]") + "}", 4), "outside"},
      {"offsets and shape differ",
       File("{" + Tensor("a", "F32", "[4]", "[0,4]") + "}", 4), "16 bytes"},
      {"overlap",
       File("{" + a + "," + Tensor("b", "U8", "[4]", "[2,6]") + "}", 6),
       "overlapping"},
      {"same bytes twice",
       File("{" + a + "," + Tensor("b", "U8", "[4]", "[0,4]") + "}", 4),
       "overlapping"},
      {"gap", File("{" + a + "," + Tensor("b", "U8", "[4]", "[5,9]") + "}", 9),
       "gap"},
      {"trailing data", File("{" + a + "}", 5), "5 bytes of data"},
      {"truncated data", File("{" + a + "}", 3), "outside"},
  };
}

TEST(Safetensors, HostileFilesAreRefusedWithOneLine) {
  const auto files = HostileFiles();
  EXPECT_GE(files.size(), 20u);
  for (const Hostile& hostile : files) {
    const auto file = SafetensorsFile::Parse("evil.safetensors", hostile.file);
    ASSERT_FALSE(file.ok()) << hostile.what;
    const std::string& message = file.message();
    EXPECT_NE(message.find(hostile.word), std::string::npos)
        << hostile.what << ": " << message;
    EXPECT_NE(message.find("evil.safetensors"), std::string::npos);
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    EXPECT_LE(message.size(), 300u) << message;
  }
}

TEST(Safetensors, EveryTruncationAndEveryFlippedBitIsSafe) {
  const std::vector<uint8_t> bytes(12, 9);
  const auto text =
      FormatSafetensors({{"q", "F32", {3}, bytes}}, {{"case", "x"}});
  ASSERT_TRUE(text.ok());
  const std::vector<uint8_t> good(text.value().begin(), text.value().end());
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(
        SafetensorsFile::Parse("x", {good.begin(), good.begin() + size}).ok())
        << size;
  }
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    auto changed = good;
    changed[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    const auto file = SafetensorsFile::Parse("x", changed);
    if (file.ok()) continue;
    EXPECT_LE(file.message().size(), 300u);
  }
}

TEST(Safetensors, FilesAreReadFromDiskAndNothingElseIs) {
  const std::string folder = testing::TempDir() + "/safetensors_test";
  std::filesystem::create_directory(folder);
  const std::string path = folder + "/x.safetensors";
  const std::vector<uint8_t> bytes(4, 1);
  ASSERT_TRUE(WriteSafetensors(path, {{"a", "U8", {4}, bytes}}, {}).ok());
  EXPECT_TRUE(SafetensorsFile::Read(path).ok());
  EXPECT_FALSE(SafetensorsFile::Read(folder).ok());
  EXPECT_FALSE(SafetensorsFile::Read(folder + "/absent").ok());
  // A header that lies about a file of many gigabytes of nothing.
  std::string big("\xff\xff\xff\xff\xff\xff\xff\x7f", 8);
  ASSERT_TRUE(WriteFileAtomically(folder + "/big", big).ok());
  std::filesystem::resize_file(folder + "/big", uintmax_t{1} << 33);
  const auto file = SafetensorsFile::Read(folder + "/big");
  ASSERT_FALSE(file.ok());
  EXPECT_NE(file.message().find("header of"), std::string::npos);
  std::filesystem::remove_all(folder);
}

TEST(Files, WritingLeavesNothingHalfWritten) {
  const std::string folder = testing::TempDir() + "/files_test";
  std::filesystem::create_directory(folder);
  EXPECT_TRUE(WriteFileAtomically(folder + "/a", "one").ok());
  EXPECT_TRUE(WriteFileAtomically(folder + "/a", "two").ok());
  const auto read = ReadWholeFile(folder + "/a", 3);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(std::string(read.value().begin(), read.value().end()), "two");
  EXPECT_FALSE(ReadWholeFile(folder + "/a", 2).ok());
  EXPECT_FALSE(WriteFileAtomically(folder + "/no/a", "one").ok());
  std::filesystem::create_directory(folder + "/taken");
  std::filesystem::create_directory(folder + "/taken/inside");
  EXPECT_FALSE(WriteFileAtomically(folder + "/taken", "one").ok());
  size_t entries = 0;
  for ([[maybe_unused]] const auto& entry :
       std::filesystem::directory_iterator(folder)) {
    ++entries;
  }
  EXPECT_EQ(entries, 2u);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace lockstep::verify
