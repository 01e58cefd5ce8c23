// Answers questions of the record: lines of stdin, "KERNEL<tab>LINE" and
// whatever follows, come back with the answer in place of what follows.
#include <iostream>
#include <string>

#include "tests/record/answer.h"

int main() {
  for (std::string row; std::getline(std::cin, row);) {
    const size_t kernel = row.find('\t');
    const size_t line = row.find('\t', kernel + 1);
    if (kernel == std::string::npos) {
      std::cerr << "record: no tab in '" << row << "'\n";
      return 2;
    }
    const std::string spec = row.substr(0, kernel);
    const std::string text = row.substr(kernel + 1, line - kernel - 1);
    std::cout << spec << '\t' << text << '\t'
              << lockstep::record::AnswerTo(spec, text) << std::endl;
  }
  return 0;
}
