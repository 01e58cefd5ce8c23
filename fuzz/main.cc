#include "fuzz/cli/cli.h"

int main(int argc, char** argv) {
  return lockstep::fuzz::cli::Main(argc, argv);
}
