#include "bench/cli/cli.h"

int main(int argc, char** argv) {
  return lockstep::bench::cli::Main(argc, argv);
}
