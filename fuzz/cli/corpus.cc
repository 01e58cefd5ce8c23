// lockstep corpus min
#include <unistd.h>

#include <iostream>
#include <memory>

#include "fuzz/cli/cli.h"
#include "fuzz/corpus.h"
#include "verify/base/status_macros.h"
#include "verify/registry/ops.h"

namespace lockstep::fuzz::cli {
namespace {

using verify::cli::Fail;

constexpr const char* kCorpusFooter =
    "Example:\n"
    "  lockstep corpus min data/corpus --draw 2000 --out smaller.cases";

struct CorpusArguments {
  std::string action;
  std::vector<std::string> paths;
  std::string op = "attention_forward";
  int64_t draw = 0;
  std::string seed = "0";
  std::string out = "-";
};

Status Gather(const CorpusArguments& a, const verify::Domain& domain,
              Corpus* all) {
  for (const std::string& path : a.paths) {
    ASSIGN_OR_RETURN(Corpus corpus, ReadCorpus(path, domain.op));
    all->Add(std::move(corpus));
  }
  ASSIGN_OR_RETURN(const uint64_t seed, verify::cli::ParseSeed(a.seed));
  for (int64_t n = 0; n < a.draw; ++n) {
    all->sequences.push_back(
        verify::DrawCase(domain, {}, seed, static_cast<uint64_t>(n)));
  }
  if (all->sequences.empty()) {
    return Status::Error("no cases of " + std::string(domain.op) +
                         ": give case files, folders of them, or --draw");
  }
  return {};
}

int RunCorpus(const CorpusArguments& a) {
  const Result<const verify::Domain*> domain = verify::FindDomain(a.op);
  if (!domain.ok()) return Fail(domain.message());
  Corpus corpus;
  const Status status = Gather(a, *domain.value(), &corpus);
  if (!status.ok()) return Fail(status.message());
  const Status writable = verify::cli::CheckDeliverable(a.out);
  if (!writable.ok()) return Fail(writable.message());
  const bool terminal = isatty(STDERR_FILENO) != 0;
  std::cerr << "corpus    " << corpus.Text() << "\n";
  const Minimum minimum = MinimiseCorpus(
      *domain.value(), std::move(corpus.sequences),
      verify::cli::WatchInterrupt(), [&](int64_t done, int64_t all) {
        if (!terminal) return;
        std::cerr << "\r\x1b[K" << done << " of " << all << " lines"
                  << std::flush;
      });
  if (terminal) std::cerr << "\r\x1b[K";
  if (minimum.interrupted) {
    return Fail("interrupted; nothing written", verify::kExitInterrupted);
  }
  const std::string kept = std::to_string(minimum.lines.size()) + " of " +
                           std::to_string(minimum.offered) + " lines keep " +
                           std::to_string(minimum.features) + " features of " +
                           std::to_string(domain.value()->features().size()) +
                           " and " + std::to_string(minimum.kills) +
                           " kills of " + std::to_string(minimum.mutants) +
                           " mutants";
  std::string text = "# " + kept + "\n";
  for (const std::string& line : minimum.lines) text += line + "\n";
  const Status delivered = verify::cli::Deliver(a.out, text);
  if (!delivered.ok()) return Fail(delivered.message());
  if (a.out != "-") std::cout << kept << "\n";
  return verify::kExitPass;
}

}  // namespace

void AddCorpus(Parser* program) {
  Verb* verb = program->Add(
      "corpus", "Find a small set of cases with the same features and kills",
      kCorpusFooter);
  auto a = std::make_shared<CorpusArguments>();
  verb->Value("ACTION", &a->action, "min").Required().OneOf({"min"});
  verb->Value("PATH", &a->paths, "Case files, or folders of *.cases");
  verb->Value("--op", &a->op, "Op of the cases (default attention_forward)")
      .Type("OP");
  verb->Value("--draw", &a->draw, "Also offer so many drawn cases")
      .NonNegative();
  verb->Value("--seed", &a->seed, "Of those drawn").Type("N");
  verb->Value("--out", &a->out, "File for the lines (default -)")
      .Type("FILE|-");
  verb->run = [a] { return RunCorpus(*a); };
}

}  // namespace lockstep::fuzz::cli
