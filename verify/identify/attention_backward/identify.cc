#include "verify/identify/attention_backward/identify.h"

#include <cmath>
#include <string>
#include <vector>

#include "verify/base/format.h"
#include "verify/base/status_macros.h"
#include "verify/identify/attention_backward/kernel.h"
#include "verify/identify/attention_forward/operands.h"

namespace lockstep::verify {
namespace {

// In what a kernel hands gradients over.
struct Door {
  Lane grads = Lane::kF32;
  OwnForward own;
};

// A key of score 0 beside its mirror; what is given may be wrong on purpose.
GradQuestion FromQuestion(float o, float lse) {
  GradQuestion question;
  question.forward =
      Mirrored({std::vector<float>(8, 0.0f)}, std::vector<float>(8, 1.0f));
  question.forward.k[0][0] = 1;
  question.d_o = {{1, 0, 0, 0, 0, 0, 0, 0}};
  question.o = {std::vector<float>(8, o)};
  question.lse = {lse};
  return question;
}

// Whether dS and P follow the o and lse that are given, and by how much.
struct Follows {
  bool o = false, lse = false;          // as they should
  bool not_o = false, not_lse = false;  // not at all
  double dq = 0, dv = 0;
};
Result<Follows> FollowsOf(GradKernel* kernel) {
  ASSIGN_OR_RETURN(const auto plain, kernel->AskGrad(FromQuestion(0, 0)));
  ASSIGN_OR_RETURN(const auto other_o, kernel->AskGrad(FromQuestion(2, 0)));
  ASSIGN_OR_RETURN(const auto other_lse, kernel->AskGrad(FromQuestion(0, 1)));
  const auto near = [](double x, double wanted) {
    return std::fabs(x - wanted) <= 0x1p-6;
  };
  Follows follows;
  const double dq = plain.dq[0][0], dv = plain.dv[0][0];
  follows.dq = other_o.dq[0][0];
  follows.dv = other_lse.dv[0][0];
  // D of 2: dS of 1 becomes -1. An lse of 1: a weight of 1 becomes 1 / e.
  follows.o = near(dq, 1) && near(follows.dq, -1);
  follows.lse = near(dv, 1) && near(follows.dv, 0.36788);
  follows.not_o = near(dq, 0.5) && near(follows.dq, 0.5);
  follows.not_lse = near(dv, 0.5) && near(follows.dv, 0.5);
  return follows;
}

// Whether what is handed back is the o and lse of two equal scores.
bool HandsBack(GradKernel* kernel, const OwnForward& own) {
  GradQuestion question = FromQuestion(0, 0);
  question.forward.v[1] = std::vector<float>(8, 3.0f);
  const auto answer = kernel->AskGrad(question);
  if (!answer.ok() || !(std::fabs(answer->own_o[0][0] - 2) <= 0x1p-6)) {
    return false;
  }
  return !own.lse || std::fabs(answer->own_lse[0] - 0.6931472) <= 0x1p-6;
}

void Prefer(bool has_lse, std::vector<OwnForward>* ways) {
  if (has_lse) ways->push_back({.o = true, .lse = true});
  ways->push_back({.o = true, .lse = false});
}

// The first way in which there is an answer. Errors: there is none.
Result<Door> Enter(const IdentifyRequest& request, Candidate& candidate) {
  std::vector<OwnForward> ways = {{}};
  Prefer(!SaysNone(candidate, "lse"), &ways);
  std::vector<Lane> lanes = {Lane::kF32};
  if (request.lane != Lane::kF32) lanes.push_back(request.lane);
  // The reason why there is no profile, if all tensors are in the lane asked
  // for.
  Status why;
  for (const OwnForward& own : ways) {
    for (const Lane grads : lanes) {
      GradKernel kernel(candidate, request.lane, grads, own);
      const auto answer = kernel.AskGrad(FromQuestion(0, 0));
      if (answer.ok()) return Door{grads, own};
      if (grads == request.lane && why.ok()) why = answer.status();
    }
  }
  return why;
}

// A kernel whose gradients are of an o and lse of its own hands them back.
struct From {
  Door door;
  Word word = Word::kSeen;
  std::string evidence;
};
Result<From> FromOf(const IdentifyRequest& request, Candidate& candidate) {
  ASSIGN_OR_RETURN(const Door door, Enter(request, candidate));
  From from;
  from.door = door;
  GradKernel kernel(candidate, request.lane, door.grads, door.own);
  ASSIGN_OR_RETURN(const auto follows, FollowsOf(&kernel));
  if (follows.o && follows.lse) {
    from.door.own = {};
    from.evidence = "D followed the o, and P the lse, that were given";
    return from;
  }
  const std::string came =
      Format("with another o a dS was %.6g, with another lse a P was %.6g",
             follows.dq, follows.dv);
  if (!follows.not_o || !follows.not_lse) {
    from.door.own = {};
    from.word = Word::kCannotTell;
    from.evidence =
        came +
        ": those neither of what is given nor of a forward pass of its "
        "own";
    return from;
  }
  std::vector<OwnForward> ways;
  Prefer(!SaysNone(candidate, "lse"), &ways);
  for (const OwnForward& own : ways) {
    GradKernel asked(candidate, request.lane, door.grads, own);
    if (!HandsBack(&asked, own)) continue;
    from.door.own = own;
    from.evidence =
        "the o and lse that are given changed nothing, and the "
        "kernel hands back its own";
    return from;
  }
  from.door.own = {};
  from.word = Word::kCannotTell;
  from.evidence =
      "the o and lse that are given changed nothing, and the "
      "kernel hands back no own_o";
  return from;
}

// All probes; behind the inputs of each stand so many light keys and queries.
Result<Identified> AskAll(const IdentifyRequest& request, const From& from,
                          int64_t light, Candidate& candidate) {
  const OwnForward own = from.door.own;
  GradKernel kernel(candidate, request.lane, from.door.grads, own);
  kernel.light_keys = light;
  NumericProfile& p = kernel.profile;
  if (from.word == Word::kSeen) {
    p.grad->from = own.o ? GradFrom::kOwn : GradFrom::kGiven;
  }
  kernel.Say("grad.from", from.word, from.evidence);
  if (from.word != Word::kSeen) return kernel.Take();
  if (own.o) {
    // What it hands back is a kernel of attention.
    if (!own.lse) p.lse = LseLane::kNone;
    RETURN_IF_ERROR(AskEach(AttentionProbes(), request.stop, &kernel));
  }
  RETURN_IF_ERROR(AskEach(GradProbes(), request.stop, &kernel));
  SettleOperands(own.o ? p.p : p.grad->p, &kernel);
  return kernel.Take();
}

}  // namespace

Result<Identified> IdentifyGradients(const IdentifyRequest& request,
                                     Candidate& candidate) {
  ASSIGN_OR_RETURN(const From from, FromOf(request, candidate));
  return AskTwice(request, [&](int64_t light) {
    return AskAll(request, from, light, candidate);
  });
}

}  // namespace lockstep::verify
