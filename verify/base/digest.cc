#include "verify/base/digest.h"

#include <xxhash.h>

#include <algorithm>
#include <bit>

namespace lockstep::verify {

// Memory is hashed as it lies, so it must lie in the canonical order.
static_assert(std::endian::native == std::endian::little);

struct Digester::State {
  XXH3_state_t* hash = XXH3_createState();
  ~State() { XXH3_freeState(hash); }
};

Digester::Digester() : state_(std::make_unique<State>()) {
  XXH3_128bits_reset(state_->hash);
}

Digester::~Digester() = default;
Digester::Digester(Digester&&) noexcept = default;
Digester& Digester::operator=(Digester&&) noexcept = default;

void Digester::Update(const void* data, size_t bytes) {
  if (bytes > 0) XXH3_128bits_update(state_->hash, data, bytes);
}

void Digester::UpdateU64(uint64_t value) { Update(&value, sizeof(value)); }

std::string Digester::Hex() const {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(state_->hash));
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (const unsigned char byte : canonical.digest) {
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

uint64_t QuickDigest(const void* data, size_t bytes) {
  return XXH3_64bits(data, bytes);
}

std::string DigestBytes(const void* data, size_t bytes) {
  Digester digester;
  digester.Update(data, bytes);
  return digester.Hex();
}

std::string DigestText(std::string_view text) {
  return DigestBytes(text.data(), text.size());
}

namespace {

// Rows along the last axis; a row that is not contiguous is gathered first.
template <typename T>
std::string DigestView(const TensorView<const T, 4>& view) {
  Digester digester;
  const auto& shape = view.shape;
  std::vector<T> row(static_cast<size_t>(shape[3]));
  for (int64_t a = 0; a < shape[0]; ++a) {
    for (int64_t b = 0; b < shape[1]; ++b) {
      for (int64_t c = 0; c < shape[2]; ++c) {
        const T* source = view.data + view.Offset(a, b, c, 0);
        if (view.strides[3] != 1) {
          for (size_t i = 0; i < row.size(); ++i) {
            row[i] = source[static_cast<int64_t>(i) * view.strides[3]];
          }
          source = row.data();
        }
        digester.Update(source, row.size() * sizeof(T));
      }
    }
  }
  return digester.Hex();
}

template <typename T, size_t kRank>
TensorView<const T, 4> WithRank4(const TensorView<const T, kRank>& view) {
  TensorView<const T, 4> wide{view.data, {1, 1, 1, 1}, {0, 0, 0, 0}};
  for (size_t r = 0; r < kRank; ++r) {
    wide.shape[4 - kRank + r] = view.shape[r];
    wide.strides[4 - kRank + r] = view.strides[r];
  }
  return wide;
}

}  // namespace

std::string DigestTensor(const LaneView& view) {
  return WithAnyInputLane(view.lane, [&](auto element) {
    return DigestView(view.As<decltype(element)>());
  });
}

std::string DigestTensor(const TensorView<const float, 3>& view) {
  return DigestView(WithRank4(view));
}

std::string DigestTensor(const TensorView<const float, 1>& view) {
  return DigestView(WithRank4(view));
}

std::string DigestTensor(const TensorView<const int32_t, 2>& view) {
  return DigestView(WithRank4(view));
}

std::string DigestTensor(const TensorView<const uint8_t, 4>& view) {
  return DigestView(view);
}

std::string DigestTensors(std::vector<NamedBytes> tensors) {
  std::sort(
      tensors.begin(), tensors.end(),
      [](const NamedBytes& a, const NamedBytes& b) { return a.name < b.name; });
  Digester digester;
  for (const NamedBytes& tensor : tensors) {
    // The zero byte ends the text: names cannot run into types.
    digester.Update(tensor.name.c_str(), tensor.name.size() + 1);
    digester.Update(tensor.type.c_str(), tensor.type.size() + 1);
    digester.UpdateU64(tensor.shape.size());
    for (const int64_t extent : tensor.shape) {
      digester.UpdateU64(static_cast<uint64_t>(extent));
    }
    digester.Update(tensor.bytes.data(), tensor.bytes.size());
  }
  return digester.Hex();
}

bool IsDigest(std::string_view text) {
  return text.size() == 32 &&
         text.find_first_not_of("0123456789abcdef") == text.npos;
}

}  // namespace lockstep::verify
