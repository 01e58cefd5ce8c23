#include "fuzz/cli/cli.h"

#include "verify/cli/process.h"

namespace lockstep::fuzz::cli {

int Main(int argc, char** argv) {
  return verify::cli::Guarded([&] {
    verify::cli::LetThreadsSleep();
    Parser program("Looks for cases on which a kernel is wrong.", "",
                   "lockstep fuzz");
    AddCheck(&program);
    AddFuzz(&program);
    AddShrink(&program);
    AddExplain(&program);
    AddCampaign(&program);
    AddSelftest(&program);
    return program.Run(argc, argv);
  });
}

}  // namespace lockstep::fuzz::cli
