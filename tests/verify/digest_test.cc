// Digests: known answers, logical order, nothing but the contents.
#include "verify/base/digest.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace lockstep::verify {
namespace {

TEST(Digest, GivesXxh3sPublishedAnswers) {
  EXPECT_EQ(DigestText(""), "99aa06d3014798d86001c324468d497f");
}

TEST(Digest, PiecesDoNotMatter) {
  Digester digester;
  digester.UpdateText("lock");
  digester.UpdateText("");
  digester.UpdateText("step");
  EXPECT_EQ(digester.Hex(), DigestText("lockstep"));
}

TEST(Digest, LayoutDoesNotMatterButOrderDoes) {
  // The same logical [1, 2, 2, 3] tensor, dense and with other strides.
  std::vector<float> dense(12);
  for (size_t i = 0; i < dense.size(); ++i) dense[i] = static_cast<float>(i);
  const std::array<int64_t, 4> shape{1, 2, 2, 3};
  const std::array<int64_t, 4> strides{0, 7, 14, 2};
  std::vector<float> wide(40, -1.0f);
  const TensorView<float, 4> scattered{wide.data(), shape, strides};
  size_t next = 0;
  for (int h = 0; h < 2; ++h) {
    for (int s = 0; s < 2; ++s) {
      for (int d = 0; d < 3; ++d) scattered(0, h, s, d) = dense[next++];
    }
  }
  const std::string digest = DigestTensor(
      LaneView{dense.data(), Lane::kF32, shape, DenseStrides(shape)});
  EXPECT_EQ(digest, DigestBytes(dense.data(), 12 * sizeof(float)));
  EXPECT_EQ(digest,
            DigestTensor(LaneView{wide.data(), Lane::kF32, shape, strides}));
  std::swap(dense[3], dense[4]);
  EXPECT_NE(digest, DigestTensor(LaneView{dense.data(), Lane::kF32, shape,
                                          DenseStrides(shape)}));
}

TEST(Digest, SetsSeeNamesTypesShapesAndBytes) {
  const std::vector<uint8_t> bytes = {1, 2, 3, 4};
  const NamedBytes a{"a", "U8", {4}, bytes};
  const NamedBytes b{"b", "U8", {2, 2}, bytes};
  const std::string digest = DigestTensors({a, b});
  EXPECT_EQ(digest, DigestTensors({b, a}));  // order of the file
  NamedBytes changed = b;
  changed.shape = {4, 1};
  EXPECT_NE(digest, DigestTensors({a, changed}));
  changed = b;
  changed.type = "I8";
  EXPECT_NE(digest, DigestTensors({a, changed}));
  changed = b;
  changed.name = "c";
  EXPECT_NE(digest, DigestTensors({a, changed}));
  changed = b;
  changed.bytes = changed.bytes.first(3);
  EXPECT_NE(digest, DigestTensors({a, changed}));
}

TEST(Digest, IsThirtyTwoLowerCaseHexDigits) {
  EXPECT_TRUE(IsDigest(DigestText("x")));
  EXPECT_FALSE(IsDigest("99AA06D3014798D86001C324468D497F"));
  EXPECT_FALSE(IsDigest("99aa"));
}

}  // namespace
}  // namespace lockstep::verify
