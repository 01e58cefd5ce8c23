// lockstep plan: how a masked case falls into tiles.
#include <charconv>
#include <iostream>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "verify/cli/cli.h"
#include "verify/plan_report.h"

namespace lockstep::verify::cli {
namespace {

struct Arguments {
  CaseArguments cases;
  std::string tile = "256x256";
  std::string json;
  std::string svg;
  PlanRequest request;
  PlanView view;
  bool padded = false;
  // Options that say what a block_plan case says itself.
  std::vector<Option> of_tables;
};

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

Result<PlanReport> Report(const Arguments& a) {
  const Result<std::vector<Job>> jobs = ReadJobs(a.cases);
  if (!jobs.ok()) return jobs.status();
  if (jobs->size() != 1 || jobs.value()[0].sequence.size() != 1) {
    return Status::Error("plan takes one case");
  }
  if (std::holds_alternative<BlockPlanCase>(jobs.value()[0].sequence[0].op)) {
    for (const Option& option : a.of_tables) {
      if (!option.given()) continue;
      return Status::Error(option.name() +
                           ": a block_plan case says bq, bk, blocks, padded, "
                           "width and width_t itself");
    }
  }
  PlanRequest request = a.request;
  const Status tile = ParseTile(a.tile, &request.tiles);
  if (!tile.ok()) return tile;
  if (a.padded) request.tiles.boundary = optimized::Boundary::kPadded;
  const Job& job = jobs.value()[0];
  MaterialiseOptions options;
  options.max_bytes = DefaultMemoryBudget();
  options.search_directories = job.search_directories;
  return ReportPlan(job.sequence[0], options, request);
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

int RunVerb(const Arguments& a) {
  for (const std::string& path : {a.json, a.svg}) {
    const Status status = path.empty() ? Status() : CheckDeliverable(path);
    if (!status.ok()) return Fail(status.message());
  }
  const Result<PlanReport> report = Report(a);
  if (!report.ok()) return Fail(report.message());
  Status status = CheckView(report.value(), a.view);
  if (status.ok() && !a.svg.empty()) {
    status = Deliver(a.svg, PlanSvg(report.value(), a.view));
  }
  if (status.ok() && !a.json.empty()) {
    status = Deliver(a.json, PlanJson(report.value()));
  }
  if (!status.ok()) return Fail(status.message());
  if (a.json != "-" && a.svg != "-") {
    std::cout << PlanText(report.value(), a.view);
  }
  return kExitPass;
}

}  // namespace

void AddPlan(Parser* program) {
  Verb* verb = program->Add(
      "plan", "Tiles, worklists, bytes and key of a masked case",
      "Example:\n  lockstep plan 'attention_forward sq=4096 skv=4096 d=128 "
      "mask=causal&window:1024,0' --svg plan.svg\n  lockstep plan 'block_plan "
      "sq=64 skv=64 bq=8 bk=8 mask=causal&window:20,0'");
  auto a = std::make_shared<Arguments>();
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
  a->request.tiles.blocks = false;
  verb->run = [a] { return RunVerb(*a); };
}

}  // namespace lockstep::verify::cli
