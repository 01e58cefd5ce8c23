// Where an emulated kernel finds the elements of q, K and V. Faults make it
// look elsewhere: at wrong heads, rows, channels, strides, swizzles, fragments,
// pages and buffers.
#ifndef LOCKSTEP_VERIFY_EMULATOR_ATTENTION_FORWARD_ADDRESSES_H_
#define LOCKSTEP_VERIFY_EMULATOR_ATTENTION_FORWARD_ADDRESSES_H_

#include <cstdint>

#include "reference/contract/attention_forward.h"
#include "verify/emulator/attention_forward/faults.h"
#include "verify/emulator/attention_forward/variant.h"

namespace lockstep::verify {

// An element of q, K or V. A row at or after the tensor's length, or one below
// 0, is padding: zeros.
struct Element {
  int64_t b = 0;
  int64_t h = 0;
  int64_t row = 0;
  int64_t channel = 0;
  float factor = 1;  // what its product is multiplied with: 0, 1 or 2
};

// The same inputs with dense q, k and v, read where these lie: as a kernel does
// that looks at no strides. A tensor too small for that is read as it is.
AttentionForwardInputs AsIfDense(AttentionForwardInputs inputs);

class Addresses {
 public:
  // Keeps references.
  Addresses(const AttentionForwardProblem& problem,
            const AttentionVariant& variant, const FaultDial& dial)
      : p_(problem), variant_(variant), dial_(dial) {}

  // Whether K and V are read where they are.
  bool Plain() const;
  // Whether all channels of a row of K, or of V, are read where one row has
  // them.
  bool KeysByRow() const;
  bool ValuesByRow() const;
  // What is read for `at`, whose head is the query head, of K or V too.
  Element Query(Element at) const;
  Element Key(Element at) const;
  Element Value(Element at) const;
  // The head whose sink logit head h takes.
  int64_t SinkHead(int64_t h) const;

 private:
  int64_t KvHead(int64_t h) const;
  Element KvElement(const Element& at) const;
  int64_t Page(int64_t j) const;
  // With one bug: `e` is what is read for `at` but for it.
  Element BrokenQuery(Fault fault, const Element& at, Element e) const;
  Element BrokenKey(Fault fault, const Element& at, Element e) const;
  Element BrokenValue(Fault fault, const Element& at, Element e) const;
  Element InVector(Element at, int64_t channels, int64_t flip) const;

  const AttentionForwardProblem& p_;
  const AttentionVariant& variant_;
  const FaultDial& dial_;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_EMULATOR_ATTENTION_FORWARD_ADDRESSES_H_
