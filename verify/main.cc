#include "verify/cli/cli.h"

int main(int argc, char** argv) {
  return lockstep::verify::cli::Main(argc, argv);
}
