// lockstep plan: how a masked case falls into tiles.
#include <charconv>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "verify/base/status_macros.h"
#include "verify/case/attention_forward/case.h"
#include "verify/case/block_plan.h"
#include "verify/cli/cli.h"
#include "verify/report/block_plan.h"
#include "verify/report/page/block_plan.h"

namespace lockstep::verify::cli {
namespace {

struct PlanArguments {
  CaseArguments cases;
  std::string tile = "256x256";
  std::string json;
  std::string svg;
  std::string html;
  PlanRequest request;
  PlanView view;
  bool padded = false;
  // Options that say what a block_plan case says itself.
  std::vector<Option> of_tables;
};

// Of attention, and of block_plan, which has its keys.
bool HasTiles(const Case& c) { return c.Has<AttentionForwardCase>(); }

// "256x128": rows x keys.
Status ParseTile(const std::string& text, optimized::TileOptions* tiles) {
  const char* end = text.data() + text.size();
  const auto [x, q_error] = std::from_chars(text.data(), end, tiles->tile_q);
  if (q_error == std::errc{} && x != end && *x == 'x') {
    const auto [stop, k_error] = std::from_chars(x + 1, end, tiles->tile_k);
    if (k_error == std::errc{} && stop == end) return Status();
  }
  return Status::Error("--tile '" + text +
                       "': want queries x keys, such as 256x256");
}

// One case to plan, and where it was asked for.
struct Asked {
  Case request;
  SharedDirectories search_directories;
};

// The calls that have tiles. Errors: there is none.
Result<std::vector<Asked>> Gather(const CaseArguments& cases) {
  ASSIGN_OR_RETURN(const std::vector<Job> jobs, ReadJobs(cases));
  std::vector<Asked> asked;
  int64_t aside = 0;
  std::string last_op;
  for (const Job& job : jobs) {
    for (const Case& c : job.sequence) {
      if (c.expect == Expect::kRefuse || !HasTiles(c)) {
        ++aside;
        last_op = OpName(c);
        continue;
      }
      asked.push_back({c, job.search_directories});
    }
  }
  if (asked.empty()) {
    return Status::Error("plan: " + last_op +
                         " has no tiles to plan; want attention_forward or "
                         "block_plan");
  }
  if (aside > 0) {
    Note(
        std::to_string(aside) + (aside == 1 ? " case is" : " cases are") +
        " left out: scans, and lines that expect to be refused, have no tiles");
  }
  return asked;
}

Result<PlanReport> Report(const PlanArguments& a, const Asked& asked) {
  if (asked.request.Has<BlockPlanCase>()) {
    for (const Option& option : a.of_tables) {
      if (!option.given()) continue;
      return Status::Error(option.name() +
                           ": a block_plan case has its own bq, bk, blocks, "
                           "padded, width and width_t");
    }
  }
  PlanRequest request = a.request;
  RETURN_IF_ERROR(ParseTile(a.tile, &request.tiles));
  if (a.padded) request.tiles.boundary = optimized::Boundary::kPadded;
  MaterialiseOptions options;
  options.max_bytes = DefaultMemoryBudget();
  options.search_directories = *asked.search_directories;
  return ReportPlan(asked.request, options, request);
}

Status CheckView(const PlanReport& report, const PlanView& view) {
  const AttentionForwardProblem& p = report.payload.problem;
  if (view.batch < 0 || view.batch >= p.batch) {
    return Status::Error("--row " + std::to_string(view.batch) +
                         ": the case has rows 0.." +
                         std::to_string(p.batch - 1));
  }
  if (view.head < 0 || view.head >= p.q_heads) {
    return Status::Error("--head " + std::to_string(view.head) +
                         ": the case has query heads 0.." +
                         std::to_string(p.q_heads - 1));
  }
  return Status();
}

// What is printed and written for all cases.
struct Pages {
  std::string text;
  std::vector<std::string> json;
  std::string svg;
  std::string html;
};

Status Describe(const PlanArguments& a, const Asked& asked, bool only,
                Pages* pages) {
  const Result<PlanReport> report = Report(a, asked);
  const std::string which = only ? "" : MinimalLine(asked.request) + ": ";
  if (!report.ok()) return Status::Error(which + report.message());
  const Status status = CheckView(report.value(), a.view);
  if (!status.ok()) return Status::Error(which + status.message());
  if (!only) {
    pages->text += (pages->text.empty() ? "case      " : "\ncase      ") +
                   report->line + "\n";
  }
  pages->text += PlanText(report.value(), a.view);
  pages->json.push_back(PlanJson(report.value()));
  if (!a.svg.empty()) pages->svg = PlanSvg(report.value(), a.view);
  if (!a.html.empty()) pages->html = PlanPage(report.value(), a.view);
  return {};
}

// One object for one case, as it always was; a list of them for several.
std::string JsonOf(const Pages& pages) {
  if (pages.json.size() == 1) return pages.json[0];
  std::string list = "[\n";
  for (const std::string& one : pages.json) {
    list += one.substr(0, one.size() - 1) +
            (&one == &pages.json.back() ? "\n" : ",\n");
  }
  return list + "]\n";
}

int RunPlan(const PlanArguments& a) {
  const Status files = CheckDeliverables(
      {{"--json", a.json}, {"--svg", a.svg}, {"--html", a.html}},
      a.cases.files);
  if (!files.ok()) return Fail(files.message());
  const Result<std::vector<Asked>> asked = Gather(a.cases);
  if (!asked.ok()) return Fail(asked.message());
  const bool only = asked->size() == 1;
  if (!only && !(a.svg + a.html).empty()) {
    return Fail(std::string(a.svg.empty() ? "--html" : "--svg") +
                " draws one case; these are " + std::to_string(asked->size()));
  }
  Pages pages;
  Status status;
  for (const Asked& one : asked.value()) {
    if (status.ok()) status = Describe(a, one, only, &pages);
  }
  if (status.ok() && !a.svg.empty()) status = Deliver(a.svg, pages.svg);
  if (status.ok() && !a.html.empty()) status = Deliver(a.html, pages.html);
  if (status.ok() && !a.json.empty()) status = Deliver(a.json, JsonOf(pages));
  if (!status.ok()) return Fail(status.message());
  if (a.json != "-" && a.svg != "-" && a.html != "-") std::cout << pages.text;
  return kExitPass;
}

}  // namespace

void AddPlan(Parser* program) {
  Verb* verb = program->Add(
      "plan", "Tiles, worklists, bytes and key of a masked case",
      "Example:\n  lockstep plan 'attention_forward sq=4096 skv=4096 d=128 "
      "mask=causal&window:1024,0' --svg plan.svg\n  lockstep plan 'block_plan "
      "sq=64 skv=64 bq=8 bk=8 mask=causal&window:20,0'");
  auto a = std::make_shared<PlanArguments>();
  AddCaseArguments(verb, &a->cases);
  a->of_tables = {
      verb->Value("--tile", &a->tile, "Queries x keys of a tile").Type("QxK"),
      verb->Flag("--blocks", &a->request.tiles.blocks,
                 "Store the element masks of partial tiles"),
      verb->Flag("--padded", &a->padded, "Ragged tiles are never full"),
      verb->Value("--width", &a->request.width,
                  "Steps the forward tables have room for"),
      verb->Value("--width-t", &a->request.width_t,
                  "Steps the transposed tables have room for")};
  verb->Value("--row", &a->view.batch, "Batch row of the map");
  verb->Value("--head", &a->view.head, "Query head of the map");
  verb->Value("--json", &a->json, "Numbers as JSON").Type("FILE|-");
  verb->Value("--svg", &a->svg, "The map as a picture").Type("FILE|-");
  verb->Value("--html", &a->html, "Numbers and map as a page, with zoom")
      .Type("FILE|-");
  a->request.tiles.blocks = false;
  verb->run = [a] { return RunPlan(*a); };
}

}  // namespace lockstep::verify::cli
