#include "fuzz/corpus.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>

#include "verify/base/io/files.h"
#include "verify/base/status_macros.h"
#include "verify/registry/ops.h"
#include "verify/run/case_file.h"

namespace lockstep::fuzz {
void Corpus::Add(Corpus more) {
  std::move(more.sequences.begin(), more.sequences.end(),
            std::back_inserter(sequences));
  other_ops += more.other_ops;
  other_ends += more.other_ends;
}

std::string Corpus::Text() const {
  const auto n = static_cast<int64_t>(sequences.size());
  std::string text = std::to_string(n) + (n == 1 ? " line" : " lines");
  if (other_ops + other_ends == 0) return text;
  text += "; left aside: ";
  if (other_ops > 0) text += std::to_string(other_ops) + " of other ops";
  if (other_ops > 0 && other_ends > 0) text += ", ";
  if (other_ends > 0) {
    text +=
        std::to_string(other_ends) +
        (other_ends == 1 ? " that expects no pass" : " that expect no pass");
  }
  return text;
}

Result<Corpus> ReadCorpus(const std::string& path, std::string_view op) {
  std::error_code error;
  std::vector<std::string> files;
  if (std::filesystem::is_directory(path, error)) {
    ASSIGN_OR_RETURN(const std::vector<std::string> below,
                     verify::FilesBelow(path));
    for (const std::string& file : below) {
      if (file.ends_with(".cases")) files.push_back(file);
    }
    std::sort(files.begin(), files.end());
    if (files.empty()) {
      return Status::Error("corpus " + path + ": no file *.cases below it");
    }
  } else {
    files.push_back(path);
  }
  Corpus corpus;
  for (const std::string& file : files) {
    ASSIGN_OR_RETURN(verify::CaseFile read,
                     verify::ReadCaseFile(file, verify::Ops()));
    for (verify::CaseFileEntry& entry : read.entries) {
      const auto all = [&](auto&& is) {
        return std::all_of(entry.sequence.begin(), entry.sequence.end(), is);
      };
      if (!all(
              [&](const verify::Case& c) { return verify::OpName(c) == op; })) {
        ++corpus.other_ops;
      } else if (!all([](const verify::Case& c) {
                   return c.expect == verify::Expect::kPass;
                 })) {
        ++corpus.other_ends;
      } else {
        corpus.sequences.push_back(std::move(entry.sequence));
      }
    }
  }
  return corpus;
}

}  // namespace lockstep::fuzz
