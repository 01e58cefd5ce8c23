#include "verify/profile/profile.h"

#include <algorithm>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "verify/base/io/files.h"
#include "verify/base/nearest_name.h"
#include "verify/base/trade_words.h"
#include "verify/profile/fields.h"
#include "verify/profile/scan_keys.h"

namespace lockstep::verify {
namespace {

// Fields that a bounded profile without `base` has to name: their default would
// be a claim that the author did not make.
constexpr const char* kRequired[] = {"name",    "lane",     "acc_qk",
                                     "p",       "l_from",   "acc_pv",
                                     "exp_rel", "tanh_rel", "scale_at"};

constexpr const char* kScanRequired[] = {
    "name",      "lane",       "tanh_rel",   "exp_rel",
    "scan.form", "scan.chunk", "scan.decay", "scan.angle_form"};

size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
    }
  }
  return row[b.size()];
}

std::string NearestKey(std::string_view key) {
  std::string best = "base";
  for (const ProfileField& field : ProfileFields()) {
    if (EditDistance(key, field.key) < EditDistance(key, best)) {
      best = field.key;
    }
  }
  return best;
}

const ProfileField* FindField(std::string_view key) {
  for (const ProfileField& field : ProfileFields()) {
    if (key == field.key) return &field;
  }
  return nullptr;
}

const NumericProfile* FindBuiltin(std::string_view name) {
  for (const NumericProfile& p : BuiltinProfiles()) {
    if (p.name == name) return &p;
  }
  return nullptr;
}

std::string BuiltinNames() {
  std::string names;
  for (const NumericProfile& p : BuiltinProfiles()) names += " " + p.name;
  return names;
}

std::string_view Trim(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

constexpr size_t kMostBytes = (size_t{1} << 16) - 1;  // of a profile's file
constexpr int kMostComplaints = 20;                   // that are worth reading

// A key as messages name it. No other part of a line is ever shown. The file
// may be no profile at all, but one that readers of the log may not see.
std::string KeyName(const std::string& key) {
  constexpr size_t kMost = 40;
  return "'" + (key.size() <= kMost ? key : key.substr(0, kMost - 3) + "...") +
         "'";
}

// The state of reading one profile text.
struct Reader {
  std::string source;
  NumericProfile profile;
  std::string errors;
  std::vector<std::string> seen;  // keys, and
  std::vector<int> lines;         // where they stand
  bool has_base = false;
  bool base_grad = false;  // and it describes gradients
  int complaints = 0;

  void Complain(int line, const std::string& what) {
    if (++complaints > kMostComplaints) return;
    errors += (errors.empty() ? "" : "\n") + source +
              (line > 0 ? ":" + std::to_string(line) : "") + ": " + what;
  }

  bool Seen(std::string_view key) const {
    return std::find(seen.begin(), seen.end(), key) != seen.end();
  }

  void ReadBase(int line, std::string_view value) {
    if (!seen.empty()) {
      return Complain(line, "base must be the first key");
    }
    const NumericProfile* base = FindBuiltin(value);
    if (!base) {
      return Complain(line, "base is not the name of one built in; known:" +
                                BuiltinNames());
    }
    profile = *base;
    base_grad = base->grad.has_value();
    profile.name.clear();
    has_base = true;
  }

  void ReadLine(int line, std::string_view text) {
    text = Trim(text.substr(0, text.find('#')));
    if (text.empty()) return;
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos) {
      return Complain(line, "want key = value");
    }
    const std::string key(Trim(text.substr(0, equals)));
    const std::string_view value = Trim(text.substr(equals + 1));
    if (Seen(key)) {
      return Complain(line, "key " + KeyName(key) + " is given a second time");
    }
    if (key == "base") {
      ReadBase(line, value);
    } else if (const ProfileField* field = FindField(key)) {
      // A whole text of a scan's profile needs no base to say so.
      if (key.starts_with("scan.") && !has_base && !profile.scan) {
        profile.scan.emplace();
        if (!Seen("nan")) profile.nan = NanPolicy::kUnspecified;
      }
      if (key.starts_with("grad.") && !profile.grad) profile.grad.emplace();
      const std::string wanted = field->parse(value, &profile);
      if (!wanted.empty()) {
        Complain(line, key + ": want " + wanted);
      }
    } else {
      return Complain(line, "unknown key " + KeyName(key) + "; nearest is '" +
                                NearestKey(key) + "'");
    }
    seen.push_back(key);
    lines.push_back(line);
  }

  // Keys that a scan's profile would take without effect.
  void RefuseAttention() {
    if (!profile.scan) return;
    for (size_t n = 0; n < seen.size(); ++n) {
      const std::string& key = seen[n];
      const bool known = FindField(key) != nullptr;
      if (!known || IsShared(key) || key.starts_with("scan.")) continue;
      Complain(lines[n],
               KeyName(key) + " is a key of attention" + WhyNotOfScans(key));
    }
  }

  // What no default may claim, of gradients that no base describes.
  void RequireGradients() {
    if (!profile.grad || base_grad || profile.scan) return;
    for (const char* key : {"grad.p", "grad.ds"}) {
      if (!Seen(key)) {
        Complain(0, "missing key '" + std::string(key) +
                        "' beside others of gradients");
      }
    }
  }

  void Finish() {
    RefuseAttention();
    RequireGradients();
    const auto required = profile.scan
                              ? std::span<const char* const>(kScanRequired)
                              : std::span<const char* const>(kRequired);
    for (const char* key : required) {
      if (!Seen(key) && (!has_base || std::string_view(key) == "name")) {
        Complain(0, "missing key '" + std::string(key) + "'" +
                        (has_base ? "" : ", or start from 'base = NAME'"));
      }
    }
    if (complaints > kMostComplaints) {
      errors += "\n" + source + ": and " +
                std::to_string(complaints - kMostComplaints) + " more errors";
    }
    if (!errors.empty()) return;
    std::istringstream lint(LintProfile(profile));
    for (std::string line; std::getline(lint, line);) Complain(0, line);
  }
};

}  // namespace

bool HasOutput(const NumericProfile& profile, std::string_view name) {
  if (name == "lse") return HasLse(profile);
  for (size_t i = 0; profile.scan && i < kScanCarries.size(); ++i) {
    if (name == kScanCarries[i]) return !profile.scan->lacks[i];
  }
  return true;
}

Result<NumericProfile> ParseProfile(std::string_view text,
                                    std::string_view source) {
  Reader reader;
  reader.source = source;
  for (int line = 1; !text.empty(); ++line) {
    const size_t end = std::min(text.find('\n'), text.size());
    reader.ReadLine(line, text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  reader.Finish();
  if (!reader.errors.empty()) return Status::Error(reader.errors);
  return reader.profile;
}

Result<NumericProfile> LoadProfile(const std::string& name_or_path) {
  if (const NumericProfile* builtin = FindBuiltin(name_or_path)) {
    return *builtin;
  }
  const auto bytes = ReadWholeFile(name_or_path, kMostBytes);
  // No file: the text of one, with ';' for the ends of its lines.
  if (!bytes.ok() && name_or_path.find('=') != name_or_path.npos) {
    std::string lines = name_or_path;
    std::replace(lines.begin(), lines.end(), ';', '\n');
    return ParseProfile(lines, "profile");
  }
  if (!bytes.ok()) {
    const auto name = [](const auto& profile) { return profile.name; };
    return Status::Error(
        "profile '" + name_or_path + "' is neither built in nor a file (" +
        bytes.message() + "); " +
        InTradeOr(WordFor::kProfile, name_or_path,
                  NearestIs(name_or_path, BuiltinProfiles(), name)) +
        "; known:" + BuiltinNames());
  }
  const auto* text = reinterpret_cast<const char*>(bytes.value().data());
  return ParseProfile({text, bytes.value().size()}, name_or_path);
}

bool HasKey(const NumericProfile& profile, std::string_view key) {
  return IsShared(key) || key.starts_with("scan.") == profile.scan.has_value();
}

std::string ProfileText(const NumericProfile& profile) {
  std::string text;
  for (const ProfileField& field : ProfileFields()) {
    if (!HasKey(profile, field.key)) continue;
    // Nothing to say is no line: an empty text is none that Parse takes.
    const std::string value = field.print(profile);
    if (!value.empty()) text += std::string(field.key) + " = " + value + "\n";
  }
  return text;
}

}  // namespace lockstep::verify
