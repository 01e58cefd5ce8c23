#include "verify/candidate/wire/host_caller.h"

#include <algorithm>
#include <array>
#include <utility>

#include "verify/base/digest.h"
#include "verify/base/status_macros.h"
#include "verify/candidate/wire/receipt.h"

namespace lockstep::verify {
namespace {

using Clock = std::chrono::steady_clock;

// Pages that calls begin behind, in turn: addresses stay until others are asked
// for, since pages of a host cost more to open and close than most calls.
constexpr int64_t kSomePage = 1;
constexpr int64_t kOtherPage = 18;

// Of op and shapes: what a kernel may have to be compiled for.
uint64_t ShapeDigest(const KernelInputs& inputs) {
  std::string text = inputs.op;
  for (const NamedTensor& tensor : inputs.tensors) {
    text += ' ';
    text += tensor.name;
    text.append(reinterpret_cast<const char*>(tensor.shape.data()),
                tensor.shape.size() * sizeof(tensor.shape[0]));
  }
  return QuickDigest(text.data(), text.size());
}

// The word of an error as the name of a check, where it can be one.
std::string CheckOf(const std::string& kind) {
  const bool word = !kind.empty() && kind.size() <= 20 && kind != "error" &&
                    std::all_of(kind.begin(), kind.end(), [](char c) {
                      return (c >= 'a' && c <= 'z') || c == '_';
                    });
  return word ? kind : "run";
}

std::string Counted(int64_t count, const char* one, const char* many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

// Why an answer is not the one to message `asked`; empty: it is.
std::string WhyOtherId(int64_t answered, int64_t asked) {
  if (answered == asked) return "";
  const std::string what = "answered call " + std::to_string(answered);
  if (answered < asked) return what + " again, without being asked";
  return what + " when it was asked for call " + std::to_string(asked);
}

}  // namespace

RunOutcome BrokenBy(const HostFailure& failure) {
  return {RunOutcome::State::kError, failure.message, "", failure.check};
}

RunOutcome Unsupported(const std::string& why) {
  return {RunOutcome::State::kUnsupported, why, ""};
}

HostCaller::~HostCaller() {
  // An answer that is not taken would be the next one's.
  if (asked_ && host_ != nullptr) host_->Kill();
  GiveHost(arguments_, std::move(host_));
}

Status HostCaller::Start() {
  if (host_ != nullptr && host_->alive()) return {};
  ASSIGN_OR_RETURN(host_, TakeHost(arguments_));
  // The same kernel in another process.
  host_->AddLacks(hello_.lacks);
  hello_ = host_->hello();
  written_.reset();
  return {};
}

void HostCaller::AddLacks(const std::string& output) {
  if (host_ == nullptr) return;
  host_->AddLacks({output});
  hello_ = host_->hello();
}

RunOutcome HostCaller::Broken(const std::string& check,
                              const std::string& message) {
  host_->Kill();
  return BrokenBy({check, message});
}

void HostCaller::Ask(const HostCall& call) {
  asked_.emplace();
  asked_->answer.outcome = Send(call);
}

HostAnswer HostCaller::Take() {
  RunOutcome& outcome = asked_->answer.outcome;
  if (outcome.state == RunOutcome::State::kRan) outcome = Receive();
  if (outcome.state == RunOutcome::State::kRan) outcome = Judge(asked_->answer);
  HostAnswer answer = std::move(asked_->answer);
  asked_.reset();
  return answer;
}

RunOutcome HostCaller::Send(const HostCall& call) {
  if (const auto failure = GoneOn()) return BrokenBy(*failure);
  if (call.place == Place::kElsewhere) {
    first_page_ = kSomePage + kOtherPage - first_page_;
  }
  at_end_ = at_end_ != (call.place != Place::kSame);
  asked_->id = host_->NextId();
  const Placement placement = {.first_page = first_page_,
                               .shift = call.shift,
                               .alignment = hello_.alignment,
                               .at_end = at_end_};
  Result<PlacedCall> placed = PlacedCall::Place(
      *call.call, placement, *call.poison, host_->in(), host_->out());
  if (!placed.ok()) return Unsupported(placed.message());
  asked_->answer.placed = std::move(placed.value());
  const PlacedCall& laid = *asked_->answer.placed;
  const KernelInputs& inputs = call.call->inputs;
  CallMessage message = {.id = asked_->id,
                         .case_line = call.case_line,
                         .inputs = &inputs,
                         .placed_inputs = laid.inputs(),
                         .placed_outputs = laid.outputs(),
                         .tables = std::nullopt,
                         .threads = call.threads,
                         .splits = call.splits};
  if (call.tables) {
    message.tables = {
        {message.placed_outputs[0].offset, message.placed_outputs[0].shape[0]}};
  }
  const std::string line = CallLine(message);
  if (line.size() > kMostLine) {
    return Unsupported("its message has more than 1 MiB");
  }
  asked_->shape = ShapeDigest(inputs);
  asked_->patience = host_->Patience(asked_->shape);
  called_ = true;
  asked_->start = Clock::now();
  const auto failure = host_->Send(line, asked_->patience, "the call");
  return failure ? BrokenBy(*failure) : RunOutcome{};
}

RunOutcome HostCaller::Receive() {
  HostAnswer& answer = asked_->answer;
  std::string text;
  const auto failure = host_->Receive(asked_->patience, "the call", &text);
  if (failure) return BrokenBy(*failure);
  answer.seconds =
      std::chrono::duration<double>(Clock::now() - asked_->start).count();
  host_->NoteCall(asked_->shape, answer.seconds);
  Result<WireReply> reply = ParseReply(text);
  if (!reply.ok()) return Broken("wire", reply.message());
  answer.reply = std::move(reply.value());
  const std::string other = WhyOtherId(answer.reply.id, asked_->id);
  return other.empty() ? RunOutcome{} : Broken("wire", other);
}

RunOutcome HostCaller::Judge(const HostAnswer& answer) {
  const std::string outside = answer.placed->Outside();
  if (!outside.empty()) {
    return Broken("guard_zones", "wrote outside its outputs: " + outside);
  }
  written_ = Written{answer.placed->written(), 0};
  written_->digest = DigestOf(written_->ranges);
  const WireReply& reply = answer.reply;
  switch (reply.kind) {
    case WireReply::Kind::kUnsupported:
      return Unsupported(reply.message.empty() ? "the kernel says so"
                                               : reply.message);
    case WireReply::Kind::kError: {
      const std::string check = CheckOf(reply.error_kind);
      host_->AddLacks(reply.lacks);
      hello_ = host_->hello();
      if (reply.fatal) host_->Kill();
      return BrokenBy(
          {check, (check == "run" ? "" : check + ": ") + reply.message});
    }
    case WireReply::Kind::kBye:
      return Broken("wire", "said bye instead of answering the call");
    case WireReply::Kind::kDone:
      break;
  }
  const std::string state = WhyBadState(reply.receipt);
  if (!state.empty()) return BrokenBy({"fp", state});
  if (reply.receipt.guards == "pages") guards_ = "pages";
  return {};
}

uint64_t HostCaller::DigestOf(const std::vector<ByteRange>& ranges) const {
  uint64_t digest = 0;
  for (const ByteRange& range : ranges) {
    // The order of the ranges counts.
    digest = digest * 31 + QuickDigest(host_->out().data() + range.begin,
                                       static_cast<size_t>(range.bytes()));
  }
  return digest;
}

std::optional<HostFailure> HostCaller::WrittenLate() {
  if (!written_) return std::nullopt;
  const bool same = DigestOf(written_->ranges) == written_->digest;
  written_.reset();
  if (same) return std::nullopt;
  host_->Kill();
  return HostFailure{"guard_zones",
                     "wrote to outputs after it had said that it was done"};
}

std::optional<HostFailure> HostCaller::GoneOn() {
  if (auto failure = host_->Unasked()) return failure;
  return WrittenLate();
}

RunOutcome HostCaller::Settle(bool last) {
  if (host_ == nullptr || !host_->alive()) return {};
  if (const auto failure = GoneOn()) return BrokenBy(*failure);
  if (const auto failure = host_->LookAround()) return BrokenBy(*failure);
  if (!last || !called_ || !hello_.Has("reset")) return {};
  return Reset();
}

RunOutcome HostCaller::Reset() {
  called_ = false;
  const double patience =
      TheHostLimits().call_seconds.value_or(kFirstCallSeconds);
  std::string text;
  const int64_t id = host_->NextId();
  auto failure = host_->Send(ResetLine(id), patience, "reset");
  if (!failure) failure = host_->Receive(patience, "reset", &text);
  if (failure) return BrokenBy(*failure);
  const Result<WireReply> reply = ParseReply(text);
  if (!reply.ok()) return Broken("wire", reply.message());
  // A kernel that answered too early has one answer more than was asked for.
  const std::string other = WhyOtherId(reply->id, id);
  if (!other.empty()) return Broken("wire", other);
  if (reply->kind == WireReply::Kind::kError) {
    return Broken("run", "reset: " + reply->message);
  }
  const WireReceipt& receipt = reply->receipt;
  if (receipt.children_left > 0) {
    return Broken("children", "left " +
                                  Counted(receipt.children_left,
                                          "child process", "child processes") +
                                  " behind");
  }
  if (receipt.threads_left > 0) {
    return Broken("threads",
                  "left " + Counted(receipt.threads_left, "thread", "threads") +
                      " behind");
  }
  return {};
}

}  // namespace lockstep::verify
