// lockstep check: from a kernel alone to a verdict, step by step.
#ifndef LOCKSTEP_FUZZ_CHECK_CHECK_H_
#define LOCKSTEP_FUZZ_CHECK_CHECK_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fuzz/check/drawn.h"
#include "fuzz/check/judging.h"
#include "fuzz/check/look.h"
#include "fuzz/check/screen.h"
#include "verify/run/run.h"

namespace lockstep::fuzz::check {

// Seconds that are left for a further lane, or gradients, to begin.
inline constexpr double kDrawing = 30;

struct Request {
  std::string kernel;     // FILE.py:FUNCTION, KERNEL.so, or a candidate's spec
  std::string is;         // what it is stated to compute; empty: nothing is
  verify::Budget budget;  // seconds of all steps, or cases that are drawn
  bool require_stated = false;  // exit 5 without `is`
  bool keeps = false;           // its files are written: nobody has to be told
  const std::atomic<bool>* stop = nullptr;
};

// The result of a check, which programs are told, too.
struct Outcome {
  int exit_code = 0;
  std::string verdict;  // "pass", "fail", "consistent", "thin", "refused"
  std::string cause;    // of a fail, one sentence
  std::string reading;  // as --is takes it
  std::string computes, spec, profile;
  std::string line, replay;        // of a fail
  std::vector<std::string> lines;  // that were judged
};

class Check {
 public:
  Check(const Request& request, Screen* screen)
      : request_(request), screen_(*screen) {}

  // Errors: usage, one line.
  Result<Outcome> Run();

 private:
  using Clock = std::chrono::steady_clock;

  double Spent() const;
  // Seconds that are left of the budget; many where it is one of cases.
  double Left() const;
  // At most so many seconds of a step; none where the budget is one of cases,
  // so that a screen does not depend on time.
  std::optional<double> AtMost(double seconds) const;
  Judging How(bool thorough) const;
  // Each step returns whether to go on; otherwise the outcome is set.
  bool Read();
  void SayReading();
  // Judges the lines with each arithmetic of the lane, from `from` on, until
  // one fits: first those that tell readings apart, then all shapes.
  bool Judge(const std::vector<std::string>& reading,
             const std::vector<std::string>& shapes, size_t from = 0);
  bool JudgeShapes();
  void SayShapes(const Answers& answers, size_t shapes);
  bool JudgeOtherLanes();
  bool JudgeGradients();
  bool Draw();
  // Says whether another arithmetic of the lane fits a drawn case that is
  // wrong, and all shapes.
  bool Widen(const std::string& line);
  void SayDrawn();
  bool TimeOne();
  void CompareBits();
  void SayUnseen();
  void Conclude();
  // The first wrong case: judged once more, with all that tells why.
  bool Fail(const verify::CaseResult& first);
  bool Refuse(const Status& why);
  void Miss(const std::string& what) { missing_.push_back(what); }

  const Request& request_;
  Screen& screen_;
  const Clock::time_point start_ = Clock::now();
  Looked looked_;
  std::string lane_, profile_;
  size_t arithmetic_ = 0;  // of the lane's list
  Answers shapes_;         // judged by it
  Outcome outcome_;
  Status refused_;
  std::vector<std::string> missing_;  // what PASS needs and was not done
  std::vector<std::string> unseen_;   // what was not looked at
  bool shapes_whole_ = false;         // all shapes passed
  std::vector<std::string> lines_;    // the shapes
  std::vector<std::string> judged_lanes_;
  std::string unjudged_;  // why a lane proves nothing; empty: it does
  Drawn drawn_;
};

}  // namespace lockstep::fuzz::check

#endif  // LOCKSTEP_FUZZ_CHECK_CHECK_H_
