// The wire without a process: words of commands, messages, memory, receipts.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "verify/candidate/process/words.h"
#include "verify/candidate/wire/messages.h"
#include "verify/candidate/wire/receipt.h"
#include "verify/report/json_text.h"

namespace lockstep::verify {
namespace {

using Texts = std::vector<std::string>;

TEST(Words, AreSplitByOurOwnQuoting) {
  const std::pair<const char*, Texts> kCases[] = {
      {"a", {"a"}},
      {"  a   b ", {"a", "b"}},
      {"'a b' c", {"a b", "c"}},
      {"\"a b\"c", {"a bc"}},
      {"a\\ b", {"a b"}},
      {"'a\\b'", {"a\\b"}},
      {"\"a\\\"b\"", {"a\"b"}},
      {"''", {""}},
      {"a '' b", {"a", "", "b"}},
      {"$HOME *.py | x; y & `z`",
       {"$HOME", "*.py", "|", "x;", "y", "&", "`z`"}},
  };
  for (const auto& [text, words] : kCases) {
    const auto split = SplitWords(text);
    ASSERT_TRUE(split.ok()) << text << ": " << split.message();
    EXPECT_EQ(split.value(), words) << text;
    const auto again = SplitWords(JoinWords(words));
    ASSERT_TRUE(again.ok()) << text;
    EXPECT_EQ(again.value(), words) << JoinWords(words);
  }
}

TEST(Words, ThatCannotBeAreRefused) {
  for (const char* text : {"", "  ", "'a", "\"a", "a\\", "a\nb", "\"a\\"}) {
    EXPECT_FALSE(SplitWords(text).ok()) << text;
  }
}

TEST(Hello, IsRead) {
  const auto hello = ParseHello(
      R"({"type":"hello","wire":"1.7","name":"k","ops":["a"],"lanes":["f32"],)"
      R"("features":["reset"],"lacks":["lse"],"threads":[1,4],"splits":[2],"alignment":16,)"
      R"("what is this":{}})");
  ASSERT_TRUE(hello.ok()) << hello.message();
  EXPECT_EQ(hello->name, "k");
  EXPECT_TRUE(hello->Has("reset"));
  EXPECT_FALSE(hello->Has("pages"));
  EXPECT_TRUE(hello->Lacks("lse"));
  EXPECT_EQ(hello->threads, (std::vector<int>{1, 4}));
  EXPECT_EQ(hello->splits, std::vector<int>{2});
  EXPECT_EQ(hello->alignment, 16);
  EXPECT_EQ(hello->isolation, "process");
}

TEST(Hello, SaysThatNothingIsolates) {
  const auto hello =
      ParseHello(R"({"type":"hello","wire":"1.0","name":"k","ops":["a"],)"
                 R"("isolation":"none"})");
  ASSERT_TRUE(hello.ok()) << hello.message();
  EXPECT_EQ(hello->isolation, "none");
}

TEST(Hello, ThatIsWrongIsAnError) {
  const std::pair<const char*, const char*> kCases[] = {
      {"", "not a message"},
      {"hello", "not a message"},
      {"[]", "not a message"},
      {R"({"type":"done"})", "answered hello with"},
      {R"({"type":"hello","name":"k","ops":["a"]})", "version ''"},
      {R"({"type":"hello","wire":"2.0","name":"k","ops":["a"]})",
       "version '2.0'"},
      {R"({"type":"hello","wire":"1.0","ops":["a"]})", "no 'name'"},
      {R"({"type":"hello","wire":"1.0","name":"k"})", "no 'ops'"},
      {R"({"type":"hello","wire":"1.0","name":3,"ops":["a"]})",
       "'name' is not text"},
      {R"({"type":"hello","wire":"1.0","name":"k","ops":"a"})",
       "'ops' is not a list"},
      {R"({"type":"hello","wire":"1.0","name":"k","ops":["a"],"threads":[0]})",
       "'threads' holds 0"},
      {R"({"type":"hello","wire":"1.0","name":"k","ops":["a"],"splits":[5000]})",
       "'splits' holds 5000"},
      {R"({"type":"hello","wire":"1.0","name":"k","ops":["a"],"alignment":24})",
       "power of two"},
      {R"({"type":"hello","wire":"1.0","name":"k","ops":["a"],"isolation":"no"})",
       "'isolation' is 'no'"},
      {R"({"type":"hello","wire":"1.0","name":"k","ops":["a"],"isolation":1})",
       "'isolation' is not text"},
  };
  for (const auto& [line, words] : kCases) {
    const auto hello = ParseHello(line);
    ASSERT_FALSE(hello.ok()) << line;
    EXPECT_NE(hello.message().find(words), std::string::npos)
        << line << ": " << hello.message();
  }
}

TEST(Reply, IsRead) {
  const auto reply = ParseReply(
      R"({"type":"done","id":"7","receipt":{"backend":"k","tile":[4,8],)"
      R"("tiles_full":1,"seconds":"0x1p-3","guards":"pages",)"
      R"("fp":{"rounding":"upward","ftz":true},"left":{"threads":2}}})");
  ASSERT_TRUE(reply.ok()) << reply.message();
  EXPECT_EQ(reply->id, 7);
  EXPECT_EQ(reply->receipt.tile, (std::array<int64_t, 2>{4, 8}));
  EXPECT_EQ(reply->receipt.seconds, 0.125);
  EXPECT_EQ(reply->receipt.rounding, "upward");
  EXPECT_TRUE(reply->receipt.ftz);
  EXPECT_EQ(reply->receipt.threads_left, 2);
  EXPECT_EQ(reply->receipt.guards, "pages");
}

TEST(Reply, ThatIsWrongIsAnError) {
  for (const char* line :
       {"", "null", "7", R"({"type":"call","id":1})", R"({"id":1})",
        R"({"type":3,"id":1})", R"({"type":"done","id":1.5})",
        R"({"type":"done","id":"x"})", R"({"type":"done","id":1,"receipt":[]})",
        R"({"type":"done","id":1,"receipt":{"tile":[1]}})",
        R"({"type":"done","id":1,"receipt":{"threads":true}})",
        R"({"type":"done","id":1,"receipt":{"seconds":"fast"}})",
        R"({"type":"done","id":1,"receipt":{"fp":{"ftz":"no"}}})",
        R"({"type":"done","id":18446744073709551615})",
        R"({"type":"error","id":1,"fatal":1})",
        R"({"type":"done","id":1,"tables":{"a":3}})", "{\"type\":\"done\""}) {
    EXPECT_FALSE(ParseReply(line).ok()) << line;
  }
}

const char kUsualReply[] =
    R"({"type":"done","id":17,"receipt":{"guards":"pages","seconds":1.25e-05,)"
    R"("processor_seconds":1.2e-05,"backend":"k","target":"AVX3 \ SPR","fallback_reason":"no","threads":2,)"
    R"("tile":[4,8],"tiles_full":0,"tiles_partial":3,"tiles_empty":10,)"
    R"("fp":{"rounding":"nearest","ftz":false,"daz":true}}})";

constexpr const char* kResetReply =
    R"({"type":"done","id":8,"receipt":{"left":{"threads":2,"children":31}}})";

TEST(QuickReply, ReadsWhatHostsOfSharedObjectsSay) {
  for (const char* line :
       {R"({"type":"done","id":0,"receipt":{"guards":"pages","seconds":0,)"
        R"("fp":{"rounding":"nearest","ftz":false,"daz":false}}})",
        R"({"type":"done","id":7,"receipt":{"guards":"pages","seconds":2.5,)"
        R"("target":"AVX2","threads":1,)"
        R"("fp":{"rounding":"nearest","ftz":true,"daz":false}}})",
        kResetReply}) {
    const auto quick = QuickReply(line);
    ASSERT_TRUE(quick) << line;
    const auto any = ParseAnyReply(line);
    ASSERT_TRUE(any.ok()) << any.message();
    EXPECT_TRUE(*quick == any.value()) << line;
  }
}

// Whatever becomes of a usual answer, one byte changed, put in or left out:
// where it is read at all, the library reads the same. Returns how often it
// was.
int64_t ReadChanged(const std::string& right) {
  int64_t read = 0;
  for (size_t at = 0; at < right.size(); ++at) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string changed = right, longer = right;
      changed[at] = static_cast<char>(byte);
      longer.insert(at, 1, static_cast<char>(byte));
      for (const std::string& line :
           {changed, longer, right.substr(0, at), right.substr(at)}) {
        const auto quick = QuickReply(line);
        if (!quick) continue;
        ++read;
        const auto any = ParseAnyReply(line);
        EXPECT_TRUE(any.ok()) << line << ": " << any.message();
        EXPECT_TRUE(any.ok() && *quick == any.value()) << line;
      }
    }
  }
  return read;
}

TEST(QuickReply, NeverReadsMoreThanTheLibrary) {
  const std::string right =
      std::string(kUsualReply)
          .replace(std::string(kUsualReply).find('\\'), 1, "-");
  ASSERT_FALSE(QuickReply(kUsualReply));  // an escape is the library's
  ASSERT_TRUE(QuickReply(right));
  EXPECT_GT(ReadChanged(right), 1000);
  EXPECT_GT(ReadChanged(kResetReply), 50);
}

// The writer's text is what the JSON library would have written.
TEST(Call, IsWrittenAsTheLibraryWrites) {
  KernelInputs inputs;
  inputs.op = "attention_forward";
  inputs.scalars = {{"a \"b\\", std::string("\xc3\xa9\n\x01")},
                    {"list", std::vector<int64_t>{1, -2, int64_t{1} << 60}},
                    {"truth", true},
                    {"none", std::monostate()},
                    {"scale", -0.1}};
  for (int kind = 0; kind <= static_cast<int>(MaskExpr::Kind::kOr); ++kind) {
    MaskExpr mask;
    mask.kind = static_cast<MaskExpr::Kind>(kind);
    mask.prefix = {3, 4};
    mask.children = inputs.masks;
    inputs.masks.push_back(mask);
  }
  CallMessage call;
  call.id = 3;
  call.case_line = "a 'file name \" \x7f' b";
  call.inputs = &inputs;
  const std::vector<PlacedTensor> placed_inputs = {
      {"q", ElementType::kBf16, 4096, {1, 2}, {4, 2}, 0, 0},
      {"k", ElementType::kF32, 0, {}, {}, 0, 0}};
  const std::vector<PlacedTensor> placed_outputs = {
      {"o", ElementType::kF32, 8, {3}, {4}, 4096, 4096}};
  call.placed_inputs = placed_inputs;
  call.placed_outputs = placed_outputs;
  const std::string line = CallLine(call);
  EXPECT_EQ(DumpJson(ParseJson(line), -1) + "\n", line);
  EXPECT_EQ(ParseJson(line)["scalars"]["a \"b\\"], "\xc3\xa9\n\x01");
  call.tables = {4096, 8192};
  const std::string tables = CallLine(call);
  EXPECT_EQ(DumpJson(ParseJson(tables), -1) + "\n", tables);
  EXPECT_EQ(ParseJson(tables)["tables"]["bytes"], 8192);
}

TEST(Call, SaysEverything) {
  KernelInputs inputs;
  inputs.op = "attention_forward";
  inputs.scalars = {{"b", int64_t{1}},
                    {"scale", 0.1},
                    {"cap", std::numeric_limits<double>::infinity()},
                    {"none", std::monostate()},
                    {"large", int64_t{1} << 60}};
  MaskExpr window;
  window.kind = MaskExpr::Kind::kWindow;
  window.left = 3;
  MaskExpr dense;
  dense.kind = MaskExpr::Kind::kDense;
  dense.dense = 2;
  MaskExpr both;
  both.kind = MaskExpr::Kind::kOr;
  both.children = {window, dense};
  inputs.masks = {both};
  CallMessage call;
  call.id = 3;
  call.inputs = &inputs;
  call.threads = 4;
  call.splits = 8;
  const std::string line = CallLine(call);
  EXPECT_EQ(line.back(), '\n');
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const Json json = ParseJson(line);
  EXPECT_EQ(json["scalars"]["scale"], "0x1.999999999999ap-4");
  EXPECT_EQ(json["scalars"]["cap"], "inf");
  EXPECT_TRUE(json["scalars"]["none"].is_null());
  EXPECT_EQ(json["scalars"]["large"], "1152921504606846976");
  EXPECT_EQ(json["variation"]["threads"], 4);
  EXPECT_EQ(json["variation"]["splits"], 8);
  const Json& terms = json["masks"][0]["terms"];
  EXPECT_EQ(terms[0]["left"], 3);
  EXPECT_TRUE(terms[0]["right"].is_null());
  EXPECT_EQ(terms[1]["tensor"], "dense_mask_2");
}

TEST(Receipt, ThatCannotBeTrueIsTold) {
  // Two queries, four keys, causal at the end; tiles of 1 x 2: two are full,
  // one is partial, one is empty.
  const uint8_t bits[] = {1, 1, 0, 0, 1, 1, 1, 0};
  const NamedTensor mask = {
      "mask.dense", ElementType::kU8, {1, 1, 2, 4}, {8, 8, 4, 1}, bits};
  const CallFacts facts = {"cmd", "k", 2, 1.0, 1};
  WireReceipt sound;
  sound.backend = "k";
  sound.threads = 2;
  sound.seconds = 0.5;
  sound.tile = {1, 2};
  sound.tiles_full = 2;
  sound.tiles_partial = 1;
  sound.tiles_empty = 1;
  EXPECT_EQ(WhyUntrue(sound, facts, &mask), "");
  EXPECT_EQ(WhyUntrue({}, facts, &mask), "");
  const auto lie = [&](auto&& change) {
    WireReceipt receipt = sound;
    change(receipt);
    return WhyUntrue(receipt, facts, &mask);
  };
  EXPECT_NE(lie([](auto& r) { r.backend = "x"; }), "");
  EXPECT_EQ(lie([](auto& r) { r.backend = "x", r.fallback_reason = "y"; }), "");
  EXPECT_NE(lie([](auto& r) { r.threads = 1; }), "");
  EXPECT_NE(lie([](auto& r) { r.threads = 0; }), "");
  EXPECT_NE(lie([](auto& r) { r.seconds = 1.5; }), "");
  EXPECT_NE(lie([](auto& r) { r.seconds = -1; }), "");
  EXPECT_NE(lie([](auto& r) {
              r.seconds = std::numeric_limits<double>::quiet_NaN();
            }),
            "");
  EXPECT_NE(lie([](auto& r) { r.tile = {0, 2}; }), "");
  EXPECT_NE(lie([](auto& r) { r.tiles_empty = -1; }), "");
  EXPECT_NE(lie([](auto& r) { r.tiles_empty = 2; }), "");
  EXPECT_NE(lie([](auto& r) { r.tiles_full = 3, r.tiles_empty = 0; }), "");
  EXPECT_NE(lie([](auto& r) { r.tiles_partial = 0, r.tiles_empty = 2; }), "");
}

TEST(Receipt, StateThatIsLeftIsTold) {
  WireReceipt receipt;
  EXPECT_EQ(WhyBadState(receipt), "");
  receipt.rounding = "nearest";
  EXPECT_EQ(WhyBadState(receipt), "");
  receipt.ftz = true;
  EXPECT_NE(WhyBadState(receipt).find("FTZ"), std::string::npos);
  receipt.ftz = false;
  receipt.rounding = "upward";
  EXPECT_NE(WhyBadState(receipt).find("upward"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::verify
