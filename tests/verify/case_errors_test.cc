// Every error of the case grammar and of its meaning: one line that says what,
// where, and what would be right.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "reference/contract/mask.h"
#include "verify/case/case.h"
#include "verify/registry/ops.h"

namespace lockstep::verify {
namespace {

struct BadLine {
  std::string line;
  std::vector<std::string> words;  // all of them stand in the message
};

void ExpectOneLine(const std::string& message) {
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  EXPECT_LE(message.size(), 400u) << message;
}

void ExpectWords(const std::string& message, const BadLine& bad) {
  ExpectOneLine(message);
  for (const std::string& word : bad.words) {
    EXPECT_NE(message.find(word), std::string::npos)
        << "'" << word << "' is not in: " << message;
  }
}

const std::string kGood = "attention_forward sq=4 skv=4 d=8 ";

TEST(CaseErrors, GrammarIsRefusedWithItsColumn) {
  const BadLine lines[] = {
      {"", {"column 1", "expected a case"}},
      {"   ", {"expected a case"}},
      {"atention sq=1", {"column 1", "unknown op", "'attention_forward'"}},
      {"attention_forward sq=4 skv=4", {"missing key 'd'"}},
      {kGood + "caps=3", {"column 34", "'caps'", "nearest is 'cap'"}},
      {kGood + "cpa=3", {"nearest is 'cap'"}},
      {kGood + "maks=full", {"unknown key 'maks'", "nearest is 'mask'"}},
      {kGood + "sq=5", {"column 34", "'sq' is given twice"}},
      {kGood + "mask.h1=full mask.h01=full", {"'mask.h01' is given twice"}},
      {kGood + "mask.hx=full", {"mask.h2"}},
      {kGood + "mask.h-1=full", {"mask.h2"}},
      {kGood + "causal",
       {"expected key=value, found 'causal'", "nearest is 'mask=causal'"}},
      {kGood + "casual", {"found 'casual'", "nearest is 'mask=causal'"}},
      {kGood + "casual=yes", {"key 'casual'", "nearest is 'mask=causal'"}},
      {kGood + "windwo=3,0", {"nearest is 'mask=window'"}},
      {kGood + "layo", {"found 'layo'", "nearest is 'layout=...'"}},
      {kGood + "=3", {"expected key=value"}},
      {kGood + "b=", {"column 36", "expected an integer, found nothing"}},
      {kGood + "b=two", {"expected an integer, found 'two'", "b is"}},
      {kGood + "b=2x", {"column 37", "unexpected 'x' after the value of b"}},
      {kGood + "b=99999999999999999999", {"out of range", "largest"}},
      {kGood + "seed=-1", {"expected an integer"}},
      {kGood + "seed=18446744073709551616", {"out of range"}},
      {kGood + "seed=0x10000000000000000", {"out of range"}},
      {kGood + "seed=0x", {"expected an integer, found '0x'"}},
      {kGood + "b=0x2", {"unexpected 'x2' after the value of b"}},
      {kGood + "cap=abc", {"expected a number, found 'abc'", "cap is"}},
      {kGood + "cap=+3", {"expected a number"}},
      {kGood + "cap=--3", {"expected a number"}},
      {kGood + "cap=1e999", {"out of binary64"}},
      {kGood + "cap=infinity", {"expected a number"}},
      {kGood + "scale=nan(1)", {"unexpected '(1)'"}},
      {kGood + "lane=f8", {"expected 'f32', 'bf16' or 'f16', found 'f8'"}},
      {kGood + "order=blocks",
       {"expected 'chain', 'amx', 'ampere' or 'hopper', found 'blocks'"}},
      {kGood + "order=volta", {"order=volta", "only f16", "'hopper'"}},
      {kGood + "order=turing", {"order=turing", "only f16", "'ampere'"}},
      {kGood + "layout=hbsd", {"'bhsd', 'bshd', 'thd' or 'varlen'"}},
      {kGood + "align=left", {"'tl', 'br' or an offset"}},
      {kGood + "align=9223372036854775808", {"fits 64"}},
      {kGood + "expect=maybe", {"'pass', 'fail', 'vacuous' or 'refuse'"}},
      {kGood + "q_seg=runs:3,x", {"expected an integer, found 'x'"}},
      {kGood + "q_seg=runs:0,4", {"at least one position, found 0"}},
      {kGood + "q_seg=runs:-4", {"at least one position"}},
      {kGood + "q_seg=4", {"expected runs:LEN"}},
      {kGood + "q_seg=[runs:4;runs:4", {"expected ']' for the '[' of column"}},
      {kGood + "q_seg=ids:1:4", {"ids:ID*LENGTH"}},
      {kGood + "q_seg=ids:3000000000*4", {"does not fit 32 bits"}},
      {kGood + "valid_q=1,", {"expected an integer"}},
      {kGood + "strides=x:1/2/3/4", {"expected q:SB/SH/SS/SD"}},
      {kGood + "strides=q:1/2/3", {"expected four strides"}},
      {kGood + "strides=q:1/2/3/-4", {"negative"}},
      {kGood + "strides=q:1/2/3/4,q:1/2/3/4", {"strides twice"}},
      {kGood + "fill=gauss:1", {"unknown fill family", "nearest"}},
      {kGood + "fill=", {"expected a fill family"}},
      {kGood + "fill=normal", {"expected normal:SIGMA"}},
      {kGood + "fill=uniform:1", {"expected uniform:LO,HI"}},
      {kGood + "fill=normal:1+", {"expected a fill family"}},
      {kGood + "fill=qq.normal:1", {"tensor 'q' named twice"}},
      {kGood + "fill=probe:cancle", {"unknown probe 'cancle'", "head-tag"}},
      {kGood + "fill=k.probe:cancel", {"q, k and v", "write probe:cancel"}},
      {kGood + "fill=poison:all", {"expected poison:masked"}},
      {kGood + "fill=file:x.safetensors", {"file:PATH#DIGEST"}},
      {kGood + "fill=file:#" + std::string(32, 'a'), {"file name"}},
      {kGood + "fill=file:x#123", {"32 lower-case hex digits"}},
      {kGood + "sinklogit=onehot", {"a sink logit is"}},
      {kGood + "sinklogit=q.const:1", {"a sink logit is"}},
      {kGood + "expect=pass\x01", {"control character (byte 1)"}},
      {kGood + ";; " + kGood, {"expected one case", "2"}},
      {kGood + ";;", {"expected a case"}},
  };
  for (const BadLine& bad : lines) {
    const auto c = ParseCase(bad.line);
    ASSERT_FALSE(c.ok()) << bad.line;
    ExpectWords(c.message(), bad);
  }
}

TEST(CaseErrors, MasksAreRefusedWithTheirColumn) {
  const std::string line = kGood + "mask=";  // the mask starts at column 39
  const std::string deep(300, '(');
  const BadLine masks[] = {
      {"", {"column 39", "expected a mask term", "'causal'"}},
      {"causal&", {"column 46", "expected a mask term"}},
      {"|causal", {"column 39", "expected a mask term"}},
      {"(causal", {"column 46", "expected ')' for the '(' of column 39"}},
      {"causal)", {"column 45", "unexpected ')'"}},
      {"(causal|(full&causal)", {"')' for the '(' of column 39"}},
      {"()", {"column 40", "expected a mask term"}},
      {"casual", {"column 39", "'casual'", "nearest is 'causal'"}},
      {"window", {"wants ':'"}},
      {"window:3", {"window wants two sides, window:L,R"}},
      {"window:-1,0", {"column 46", "'inf'", "-1"}},
      {"window:3,infinite", {"expected an integer"}},
      {"chunked:x", {"expected an integer"}},
      {"prefix:", {"expected an integer, found nothing"}},
      {"dense:", {"file name"}},
      {"dense:x#12", {"32 lower-case hex digits"}},
      {"random:lots", {"expected a number"}},
      {"blocks:4:0.5", {"blocks:BQxBK:DENSITY"}},
      {"blocks:4x4", {"blocks:BQxBK:DENSITY"}},
      {"causal causal", {"expected key=value"}},
      {deep + "full", {"nested more than"}},
  };
  for (const BadLine& bad : masks) {
    const auto c = ParseCase(line + bad.line);
    ASSERT_FALSE(c.ok()) << bad.line;
    ExpectWords(c.message(), bad);
  }
}

TEST(CaseErrors, MeaninglessCasesAreRefusedByName) {
  const BadLine lines[] = {
      {"attention_forward sq=4 skv=4 d=0", {"d=0"}},
      {"attention_forward sq=0 skv=4 d=8", {"sq=0"}},
      {kGood + "hq=4 hkv=3", {"hq=4", "hkv=3"}},
      {kGood + "hkv=0", {"hkv=0"}},
      {kGood + "cap=0", {"cap=0"}},
      {kGood + "cap=-1", {"cap=-1"}},
      {kGood + "cap=nan", {"cap=nan"}},
      {kGood + "cap=inf", {"cap=inf"}},
      {kGood + "scale=nan", {"scale"}},
      {kGood + "gen=2", {"gen=2", "gen=1"}},
      {kGood + "b=100000000000", {"b=100000000000"}},
      {kGood + "mask=chunked:0", {"chunked:0"}},
      {kGood + "mask=sink:-1", {"sink:-1"}},
      {kGood + "mask=prefix:1,2,3", {"prefix", "3"}},
      {kGood + "mask=random:1.5", {"density 1.5"}},
      {kGood + "mask=random:nan", {"density nan"}},
      {kGood + "mask=blocks:0x2:0.5", {"block size 0"}},
      {kGood + "mask.h1=causal", {"mask.h1", "hq=1"}},
      {kGood + "q_seg=runs:4", {"kv_seg is missing"}},
      {kGood + "kv_seg=runs:4", {"q_seg is missing"}},
      {kGood + "q_seg=runs:2,1 kv_seg=runs:4", {"q_seg", "3", "sq is 4"}},
      {kGood + "q_seg=runs:4 kv_seg=ids:7*5", {"kv_seg", "5", "skv is 4"}},
      {kGood + "q_seg=runs:9223372036854775807,9223372036854775807 "
               "kv_seg=runs:4",
       {"q_seg", "sq is 4"}},
      // Sums to 4 modulo 2^64.
      {kGood + "q_seg=runs:9223372036854775807,9223372036854775807,6 "
               "kv_seg=runs:4",
       {"q_seg", "sq is 4"}},
      {kGood + "q_seg=[runs:4;runs:4] kv_seg=runs:4", {"q_seg has 2 rows"}},
      {kGood + "q_seg=file kv_seg=runs:4", {"one file: term"}},
      {kGood + "valid_q=5", {"valid_q=5"}},
      {kGood + "valid_kv=-1", {"valid_kv=-1"}},
      {kGood + "valid_kv=1,2", {"valid_kv has 2"}},
      {kGood + "align=99999999999999", {"align"}},
      {kGood + "strides=o:0/0/0/1", {"o overlaps"}},
      {kGood + "strides=q:32/32/3/1",
       {"strides: q overlaps itself", "or strides of 0"}},
      {kGood + "strides=q:0/0/4611686018427387904/1", {"q"}},
      {kGood + "strides=q:0/0/140737488355328/1", {"q reaches over"}},
      {kGood + "strides=k:0/0/733007751852/1",
       {"strides: k reaches over more than 8796093022208 bytes"}},
      {kGood + "fill=normal:-1", {"normal:-1"}},
      {kGood + "fill=normal:nan", {"normal:nan"}},
      {kGood + "fill=int:1.5,2", {"int:1.5,2"}},
      {kGood + "fill=uniform:2,1", {"uniform:2,1"}},
      {kGood + "fill=special:1.01", {"special:1.01", "rate"}},
      {kGood + "sinklogit=normal:inf", {"sinklogit", "normal:inf"}},
      {"attention_forward b=65536 hq=65536 sq=67108864 skv=4 d=16384", {"q"}},
      {"attention_forward sq=67108864 skv=67108864 d=1 mask=random:0.5",
       {"dense mask"}},
  };
  for (const BadLine& bad : lines) {
    const auto c = ParseCase(bad.line);
    ASSERT_TRUE(c.ok()) << bad.line << "\n" << c.message();
    const Status status = ValidateCase(c.value());
    ASSERT_FALSE(status.ok()) << bad.line;
    ExpectWords(status.message(), bad);
  }
}

TEST(CaseErrors, ALineTooLongIsRefused) {
  const auto c = ParseCase(kGood + std::string(kMaxCaseLine, ' '));
  ASSERT_FALSE(c.ok());
  ExpectOneLine(c.message());
}

TEST(CaseErrors, TreesTooDeepAreRefused) {
  // Or and And by turns, so that every bracket stays a level.
  std::string mask = "full";
  for (int i = 0; i < kMaxMaskDepth; ++i) {
    mask = (i % 2 == 0 ? "causal&(" : "causal|(") + mask + ")";
    mask = (i % 2 == 0 ? "full|(" : "full&(") + mask + ")";
  }
  const auto c = ParseCase(kGood + "mask=" + mask);
  if (!c.ok()) return ExpectOneLine(c.message());
  EXPECT_FALSE(ValidateCase(c.value()).ok());
}

TEST(CaseErrors, NoPrefixOfALineIsTakenForMore) {
  // Truncation anywhere gives a value or an error, never a crash.
  const std::string line =
      "attention_forward b=2 hq=2 sq=4 skv=4 d=8 cap=0x1.8p+3 "
      "mask=causal&(window:3,0|sink:1)|random:0.5 mask.h1=blocks:2x2:0.5 "
      "q_seg=[runs:2,2;ids:4*4] kv_seg=runs:4 valid_kv=4,3 "
      "strides=q:64/32/8/1 fill=normal:1+kv.special:0.1 sinklogit=const:-inf "
      ";; attention_forward sq=1 skv=1 d=1";
  for (size_t size = 0; size <= line.size(); ++size) {
    const auto sequence = ParseCaseSequence(line.substr(0, size));
    if (!sequence.ok()) ExpectOneLine(sequence.message());
  }
  EXPECT_TRUE(ParseCaseSequence(line).ok());
}

}  // namespace
}  // namespace lockstep::verify
