#include "bench/cli/cli.h"

namespace lockstep::bench::cli {

int Main(int argc, char** argv) {
  return verify::cli::Guarded([&] {
    Parser program("Times kernels, as fractions of what the machine can do.",
                   "", "lockstep bench");
    AddBench(&program);
    AddGate(&program);
    return program.Run(argc, argv);
  });
}

}  // namespace lockstep::bench::cli
