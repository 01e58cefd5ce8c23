#include "verify/inputs/varlen/token_rows.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "verify/base/elements.h"

namespace lockstep::verify {
namespace {

// Element (head, token, channel) of an output of NameTokens.
uint8_t* TokenElement(const NamedOutput& tokens, int64_t head, int64_t token,
                      int64_t channel) {
  const bool wide = tokens.shape.size() == 3;
  const auto& strides = tokens.strides;
  const int64_t at =
      wide ? token * strides[0] + head * strides[1] + channel * strides[2]
           : head * strides[0] + token * strides[1];
  return static_cast<uint8_t*>(tokens.data) + at * ElementBytes(tokens.type);
}

int64_t HeadsOf(const NamedOutput& tokens) {
  return tokens.shape[tokens.shape.size() == 3 ? 1 : 0];
}
int64_t ChannelsOf(const NamedOutput& tokens) {
  return tokens.shape.size() == 3 ? tokens.shape[2] : 1;
}

// Calls visit(elements of `own`, elements of `tokens`, count). `tokens` is null
// if the batch row has no such token. The `count` elements are contiguous.
template <class Visit>
void ForRows(const TokenRows& rows, const NamedOutput& own,
             const NamedOutput& tokens, const Visit& visit) {
  const int64_t width = ElementBytes(own.type);
  const int64_t channels = ChannelsOf(tokens);
  const int64_t next = own.shape.size() == 4 ? own.strides[3] : 0;
  const bool dense = channels == 1 || (next == 1 && tokens.strides[2] == 1);
  const int64_t many = dense ? channels : 1;
  for (size_t b = 0; b + 1 < rows.starts.size(); ++b) {
    const int64_t length = rows.starts[b + 1] - rows.starts[b];
    for (int64_t h = 0; h < HeadsOf(tokens); ++h) {
      for (int64_t i = 0; i < own.shape[2]; ++i) {
        for (int64_t c = 0; c < channels; c += many) {
          const int64_t at = static_cast<int64_t>(b) * own.strides[0] +
                             h * own.strides[1] + i * own.strides[2] + c * next;
          uint8_t* const token =
              i < length ? TokenElement(tokens, h, rows.starts[b] + i, c)
                         : nullptr;
          visit(static_cast<uint8_t*>(own.data) + at * width, token, many);
        }
      }
    }
  }
}

}  // namespace

Result<LaneTensor> AllocateTokens(Lane lane, int64_t heads, int64_t channels,
                                  int64_t tokens, int64_t shift) {
  const std::array<int64_t, 4> shape = {1, heads, tokens, channels};
  const int64_t token = heads * channels;
  const std::array<int64_t, 4> strides =
      channels == 1
          ? DenseStrides(shape)
          : std::array<int64_t, 4>{tokens * token, channels, token, 1};
  return AllocateLaneTensor(lane, shape, strides, shift);
}

NamedOutput NameTokens(const LaneTensor& tokens, const NamedOutput& own) {
  const auto& [b, h, t, c] = tokens.view.shape;
  const auto& s = tokens.view.strides;
  NamedOutput named{own.name,
                    TypeOf(tokens.view.lane),
                    {h, t},
                    {s[1], s[2]},
                    tokens.view.data};
  if (own.shape.size() == 4) {
    named.shape = {t, h, c};
    named.strides = {s[2], s[1], s[3]};
  }
  return named;
}

void SpreadTokens(const TokenRows& rows, const NamedOutput& tokens,
                  const NamedOutput& own) {
  const auto width = static_cast<size_t>(ElementBytes(own.type));
  const uint32_t absent = BitsOf(LaneOf(own.type), rows.absent);
  ForRows(rows, own, tokens,
          [&](uint8_t* there, const uint8_t* token, int64_t many) {
            const size_t bytes = static_cast<size_t>(many) * width;
            if (token != nullptr) {
              std::memcpy(there, token, bytes);
              return;
            }
            for (size_t at = 0; at < bytes; at += width) {
              std::memcpy(there + at, &absent, width);
            }
          });
}

void GatherTokens(const TokenRows& rows, const NamedOutput& own,
                  const NamedOutput& tokens) {
  const auto width = static_cast<size_t>(ElementBytes(own.type));
  ForRows(rows, own, tokens,
          [&](const uint8_t* there, uint8_t* token, int64_t many) {
            if (token == nullptr) return;
            std::memcpy(token, there, static_cast<size_t>(many) * width);
          });
}

std::string WrittenBehind(const TokenRows& rows, const NamedOutput& tokens,
                          uint32_t bits) {
  const auto width = static_cast<size_t>(ElementBytes(tokens.type));
  for (int64_t token = rows.starts.back(); token < rows.tokens(); ++token) {
    for (int64_t h = 0; h < HeadsOf(tokens); ++h) {
      for (int64_t c = 0; c < ChannelsOf(tokens); ++c) {
        if (std::memcmp(TokenElement(tokens, h, token, c), &bits, width) == 0)
          continue;
        return "token " + std::to_string(token) + " of " + tokens.name +
               ", whose rows end at " + std::to_string(rows.starts.back());
      }
    }
  }
  return "";
}

}  // namespace lockstep::verify
