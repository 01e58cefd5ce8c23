// Inputs by name against what the contract's views hold.
#include "verify/inputs/named_tensor.h"
#include "tests/verify/trials.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "verify/base/compare.h"
#include "verify/case/case.h"
#include "verify/ops/attention_forward/trial.h"
#include "verify/ops/mamba3_scan/trial.h"
#include "verify/ops/op.h"
#include "verify/ops/wants.h"
#include "verify/registry/ops.h"

namespace lockstep::verify {
namespace {

std::string Names(const KernelInputs& inputs) {
  std::string names;
  for (const NamedTensor& tensor : inputs.tensors) {
    names += (names.empty() ? "" : " ") + tensor.name;
  }
  return names;
}

const ScalarValue& Scalar(const KernelInputs& inputs, const std::string& name) {
  for (const auto& [scalar, value] : inputs.scalars) {
    if (scalar == name) return value;
  }
  ADD_FAILURE() << "no scalar " << name;
  static const ScalarValue kNone;
  return kNone;
}

TEST(NamedTensor, AttentionHasAllOfIt) {
  const auto trial = Open(
      "attention_forward b=2 hq=4 hkv=2 sq=3 skv=5 d=4 dv=6 lane=bf16 cap=8 "
      "mask=prefix:2&random:0.5 align=br valid_kv=5,4 layout=bshd "
      "q_seg=runs:3 kv_seg=runs:5 sinklogit=normal:1");
  const KernelInputs inputs = trial->Inputs();
  EXPECT_EQ(inputs.op, "attention_forward");
  EXPECT_EQ(Names(inputs),
            "q k v q_seg kv_seg valid_q valid_kv sink dense_mask_0");
  EXPECT_EQ(std::get<int64_t>(Scalar(inputs, "dv")), 6);
  EXPECT_EQ(std::get<double>(Scalar(inputs, "softcap")), 8.0);
  EXPECT_EQ(std::get<std::string>(Scalar(inputs, "lane")), "bf16");
  EXPECT_EQ(std::get<std::vector<int64_t>>(Scalar(inputs, "offset")),
            (std::vector<int64_t>{2, 1}));
  ASSERT_EQ(inputs.masks.size(), 1u);
  EXPECT_EQ(inputs.masks[0].children[0].prefix, (std::vector<int64_t>{2, 2}));
  const NamedTensor* k = inputs.Find("k");
  EXPECT_EQ(k->type, ElementType::kBf16);
  EXPECT_EQ(k->shape, (std::vector<int64_t>{2, 2, 5, 4}));
  EXPECT_EQ(k->strides, (std::vector<int64_t>{40, 4, 8, 1}));
  const auto* valid =
      static_cast<const int32_t*>(inputs.Find("valid_kv")->data);
  EXPECT_EQ(valid[0], 5);
  EXPECT_EQ(valid[1], 4);
}

TEST(NamedTensor, AttentionWithoutAnythingHasLittle) {
  const auto trial = Open("attention_forward sq=3 skv=5 d=4");
  const KernelInputs inputs = trial->Inputs();
  EXPECT_EQ(Names(inputs), "q k v valid_q valid_kv");
  EXPECT_TRUE(
      std::holds_alternative<std::monostate>(Scalar(inputs, "softcap")));
}

TEST(NamedTensor, ScansHaveTheContractsAxes) {
  const auto trial = Open(
      "mamba3_scan b=2 t=3 h=4 g=2 n=8 p=5 r=2 s=3 variant=mimo carry=yes "
      "gate=yes lane=bf16");
  const KernelInputs inputs = trial->Inputs();
  EXPECT_EQ(inputs.Find("q")->shape, (std::vector<int64_t>{2, 3, 2, 2, 8}));
  EXPECT_EQ(inputs.Find("tau")->type, ElementType::kBf16);
  EXPECT_EQ(inputs.Find("a")->shape, (std::vector<int64_t>{2, 4, 3}));
  EXPECT_EQ(inputs.Find("init_theta")->shape, (std::vector<int64_t>{2, 4, 3}));
  EXPECT_EQ(inputs.Find("cu_seqlens"), nullptr);
  EXPECT_EQ(std::get<int64_t>(Scalar(inputs, "run_count")), 2);
  const Result<OutputSet> outputs = trial->Allocate(0);
  const KernelCall call = trial->Call(0, outputs.value());
  ASSERT_EQ(call.outputs.size(), 5u);
  EXPECT_EQ(call.outputs[0].name, "y");
  EXPECT_EQ(call.outputs[0].shape, (std::vector<int64_t>{2, 3, 2, 4, 5}));
  EXPECT_EQ(call.outputs[3].shape, (std::vector<int64_t>{2, 2, 4, 8}));
}

// A step call takes the carry that the call before has left, and writes one
// token of y.
TEST(NamedTensor, StepsAreCalls) {
  const auto trial = Open("mamba3_step t=3 h=2 n=4 p=2 s=1 seed=5");
  ASSERT_EQ(trial->Calls(), 3);
  const Result<OutputSet> outputs = trial->Allocate(0);
  const KernelCall first = trial->Call(0, outputs.value());
  EXPECT_EQ(first.inputs.op, "mamba3_step");
  EXPECT_EQ(std::get<int64_t>(Scalar(first.inputs, "t")), 1);
  EXPECT_TRUE(std::get<bool>(Scalar(first.inputs, "carry_in")));
  EXPECT_EQ(first.inputs.Find("q")->shape[1], 1);
  const NamedTensor* zero = first.inputs.Find("init_h");
  EXPECT_EQ(*static_cast<const float*>(zero->data), 0.0f);
  EXPECT_EQ(zero->strides, (std::vector<int64_t>{0, 0, 0, 0}));
  const KernelCall second = trial->Call(1, outputs.value());
  EXPECT_EQ(second.inputs.Find("init_h")->data, second.outputs[2].data);
  EXPECT_EQ(static_cast<const float*>(second.inputs.Find("dt")->data) -
                static_cast<const float*>(first.inputs.Find("dt")->data),
            second.inputs.Find("dt")->strides[2]);
  EXPECT_EQ(static_cast<const float*>(second.outputs[0].data) -
                static_cast<const float*>(first.outputs[0].data),
            second.outputs[0].strides[1]);
}

std::string Wanted(const std::string& line, const std::string& want,
                   KernelInputs* inputs) {
  static std::vector<std::unique_ptr<Trial>>& kept =
      *new std::vector<std::unique_ptr<Trial>>();
  kept.push_back(Open(line));
  *inputs = kept.back()->Inputs();
  return kept.back()->wants().AddWanted(want, inputs);
}

std::vector<int32_t> Integers(const KernelInputs& inputs, const char* name) {
  const NamedTensor* tensor = inputs.Find(name);
  if (tensor == nullptr) return {-99};
  const auto* data = static_cast<const int32_t*>(tensor->data);
  return {data, data + ElementCount(tensor->shape)};
}

TEST(Wants, MasksAreWhatIsVisible) {
  KernelInputs inputs;
  const std::string line =
      "attention_forward sq=2 skv=3 d=4 mask=causal valid_kv=2";
  EXPECT_EQ(Wanted(line, "mask.dense", &inputs), "");
  const auto* bits =
      static_cast<const uint8_t*>(inputs.Find("mask.dense")->data);
  EXPECT_EQ(std::vector<uint8_t>(bits, bits + 6),
            (std::vector<uint8_t>{1, 0, 0, 1, 1, 0}));
  EXPECT_EQ(Wanted(line, "mask.bias", &inputs), "");
  const auto* bias = static_cast<const float*>(inputs.Find("mask.bias")->data);
  EXPECT_EQ(bias[0], 0.0f);
  EXPECT_EQ(bias[1], -std::numeric_limits<float>::infinity());
  EXPECT_EQ(Wanted(line + " lane=bf16", "mask.bias", &inputs), "");
  const auto* words =
      static_cast<const uint16_t*>(inputs.Find("mask.bias")->data);
  EXPECT_EQ(words[0], 0);
  EXPECT_EQ(words[1], 0xff80);
}

TEST(Wants, Ids) {
  KernelInputs inputs;
  EXPECT_EQ(Wanted("attention_forward sq=3 skv=4 d=4 q_seg=ids:7*3 "
                   "kv_seg=ids:9*2,7*2 valid_q=2",
                   "segments", &inputs),
            "");
  EXPECT_EQ(Integers(inputs, "q_seg"), (std::vector<int32_t>{0, 0, -1}));
  EXPECT_EQ(Integers(inputs, "kv_seg"), (std::vector<int32_t>{1, 1, 0, 0}));
  const std::string packed =
      "attention_forward b=2 sq=5 skv=5 d=4 q_seg=runs:2,3 kv_seg=runs:2,3";
  EXPECT_EQ(Wanted(packed, "doc_ids", &inputs), "");
  EXPECT_EQ(Integers(inputs, "doc_ids"),
            (std::vector<int32_t>{0, 0, 1, 1, 1, 0, 0, 1, 1, 1}));
  EXPECT_EQ(Wanted(packed, "cu_seqlens", &inputs), "");
  EXPECT_EQ(Integers(inputs, "cu_seqlens_q"),
            (std::vector<int32_t>{0, 2, 5, 7, 10}));
  EXPECT_EQ(std::get<int64_t>(Scalar(inputs, "max_seqlen_k")), 3);
}

TEST(Wants, WhatCannotBeSaidIsRefused) {
  const std::pair<const char*, const char*> kCases[] = {
      {"sq=3 skv=4 d=4", "doc_ids"},
      {"sq=3 skv=3 d=4 q_seg=ids:0*1,1*1,0*1 kv_seg=ids:0*1,1*1,0*1",
       "doc_ids"},
      {"sq=3 skv=3 d=4 q_seg=ids:0*1,1*1,0*1 kv_seg=ids:0*1,1*1,0*1",
       "cu_seqlens"},
      {"sq=3 skv=3 d=4 valid_kv=2", "cu_seqlens"},
      {"sq=3 skv=3 d=4 valid_kv=2", "doc_ids"},
      {"sq=3 skv=3 d=4 q_seg=runs:3 kv_seg=runs:1,2", "cu_seqlens"},
      {"sq=3 skv=3 d=4", "tables:nothing:8x8"},
      {"sq=3 skv=3 d=4", "tables:shrunk"},
      {"sq=3 skv=3 d=4", "a pony"},
  };
  for (const auto& [keys, want] : kCases) {
    KernelInputs inputs;
    const std::string line = std::string("attention_forward ") + keys;
    EXPECT_NE(Wanted(line, want, &inputs), "") << line << ": " << want;
  }
}

TEST(Wants, TablesAndRuns) {
  KernelInputs inputs;
  EXPECT_EQ(Wanted("attention_forward sq=8 skv=8 d=4 mask=causal",
                   "tables:shrunk:4x4", &inputs),
            "");
  EXPECT_NE(inputs.Find("tables.0.data_next"), nullptr) << Names(inputs);
  EXPECT_EQ(
      Wanted("mamba3_scan b=2 t=5 n=4 p=2 seg=runs:2,3", "segments", &inputs),
      "");
  EXPECT_EQ(Integers(inputs, "segments"),
            (std::vector<int32_t>{0, 0, 1, 1, 1, 2, 2, 3, 3, 3}));
  EXPECT_EQ(
      Wanted("mamba3_scan b=2 t=5 n=4 p=2 seg=runs:2,3", "cu_seqlens", &inputs),
      "");
  EXPECT_EQ(Integers(inputs, "cu_seqlens"),
            (std::vector<int32_t>{0, 2, 5, 7, 10}));
}

}  // namespace
}  // namespace lockstep::verify
