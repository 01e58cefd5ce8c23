// A few kernels of the record, answered anew: what
// tests/mutants/record_mutants.py breaks has to show in them. record.py
// compares all.
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tests/record/answer.h"

namespace lockstep::record {
namespace {

// Every row of the kernel, of which there are at least so many.
void ExpectAsStored(const std::string& op, const std::string& kernel,
                    int least) {
  std::ifstream file("tests/record/" + op + ".rows");
  int rows = 0;
  for (std::string row; std::getline(file, row);) {
    if (!row.starts_with(kernel + '\t')) continue;
    ++rows;
    const size_t line = kernel.size() + 1;
    const size_t answer = row.find('\t', line) + 1;
    EXPECT_EQ(AnswerTo(kernel, row.substr(line, answer - 1 - line)),
              row.substr(answer))
        << row.substr(0, answer);
  }
  EXPECT_GE(rows, least) << kernel;
}

TEST(Record, HasBugs) {
  ExpectAsStored("attention_forward", "mutant:attn.cap_twice", 3);
  ExpectAsStored("attention_forward", "mutant:attn.p_bf16", 1);
  ExpectAsStored("mamba3_scan", "mutant:scan.diag_missing", 1);
}

TEST(Record, HasRightKernels) {
  ExpectAsStored("attention_forward", "variant:flash", 4);
  ExpectAsStored("attention_backward", "variant:grad-flash", 1);
}

TEST(Record, HasBadLines) {
  EXPECT_EQ(AnswerTo("builtin:reference", "attention_forward sq=4 capp=30"),
            "exit=2\tsay=case: column 24: unknown key 'capp' of "
            "attention_forward; nearest is 'cap'");
}

TEST(Record, HasClaims) {
  ExpectAsStored("mamba3_scan", "mutant:claim.scan_step_path --claims", 1);
}

}  // namespace
}  // namespace lockstep::record
