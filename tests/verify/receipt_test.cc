// The receipt as a document that is written while cases come.
#include "verify/report/receipt.h"

#include <gtest/gtest.h>

#include <string>

#include "verify/base/digest.h"
#include "verify/report/json_text.h"
#include "verify/run/environment.h"

namespace lockstep::verify {
namespace {

CaseResult Passing(int n) {
  CaseResult result;
  result.line = "attention_forward sq=" + std::to_string(n + 1) + " skv=1 d=1";
  result.canonical = result.line;
  result.candidate = "builtin:optimized";
  result.verdict = Verdict::kPass;
  result.evidence.push_back({"key", "key 0 is not read", result.line, true});
  // Newlines and bytes that are no UTF-8 in a string.
  result.reason = "two\nlines \xff";
  return result;
}

std::string Document(int cases) {
  const Environment environment = ReadEnvironment();
  ReceiptRequest request;
  request.arguments = {"verify", "a\nb"};
  request.time = "2020-01-01T00:00:00Z";
  Receipt receipt(environment, request, testing::TempDir());
  Totals totals;
  for (int n = 0; n < cases; ++n) {
    receipt.Add(Passing(n));
    totals.Add(Passing(n));
  }
  std::string text;
  const Status written =
      receipt.Write(totals, {}, 0, [&](std::string_view piece) {
        text += piece;
        return true;
      });
  EXPECT_TRUE(written.ok());
  return text;
}

TEST(Receipt, IsOneDocumentHoweverManyCasesItHas) {
  for (const int cases : {0, 1, 2, 3, 500}) {
    const std::string text = Document(cases);
    const Json whole = ParseJson(text);
    ASSERT_TRUE(whole.is_object()) << text.substr(0, 2000);
    EXPECT_EQ(static_cast<int>(whole["cases"].size()), cases);
    EXPECT_EQ(whole["outcome"]["cases"], cases);
    // As if it had been written in one piece.
    EXPECT_TRUE(text == DumpJson(whole, 2) + "\n") << cases;
  }
}

// What a pass rests on is there for every case, wherever it waited.
TEST(Receipt, EachCaseSaysWhatItRestsOn) {
  const Json whole = ParseJson(Document(3));
  for (const Json& one : whole["cases"]) {
    for (const char* key : {"evidence", "unbounded", "rows_held"}) {
      EXPECT_TRUE(one["checks"].contains(key)) << key;
    }
    EXPECT_TRUE(one["resolution"].contains("targets_not_run"));
    EXPECT_EQ(one["checks"]["evidence"]["faults"].size(), 1u);
  }
}

// receipt_id names the time and everything but the identity itself.
TEST(Receipt, IdentityIsThatOfTheBody) {
  for (const int cases : {0, 1, 3}) {
    Json body = ParseJson(Document(cases));
    const Json identity = body["identity"];
    for (const char* key : {"kind", "schema", "identity"}) body.erase(key);
    EXPECT_EQ(identity["receipt_id"],
              DigestText("2020-01-01T00:00:00Z" + DumpJson(body, -1)));
    body["outcome"]["cases"] = cases + 1;
    EXPECT_NE(identity["receipt_id"],
              DigestText("2020-01-01T00:00:00Z" + DumpJson(body, -1)));
  }
}

}  // namespace
}  // namespace lockstep::verify
