#include "verify/base/io/zip.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "verify/base/status_macros.h"
#include "verify/base/text.h"

namespace lockstep::verify {
namespace {

using Bytes = std::span<const uint8_t>;

// Records, each with its signature, and bytes of their fixed parts.
constexpr uint32_t kEnd = 0x06054b50, kEnd64 = 0x06064b50,
                   kLocator64 = 0x07064b50, kEntry = 0x02014b50,
                   kLocal = 0x04034b50;
constexpr size_t kEndBytes = 22, kEnd64Bytes = 56, kLocator64Bytes = 20,
                 kEntryBytes = 46, kLocalBytes = 30;
constexpr size_t kMostComment = 65535;
// Where a field of 16 or 32 bits has all of them set, the value is elsewhere.
constexpr uint64_t kElsewhere16 = 0xffff, kElsewhere32 = 0xffffffff;
constexpr uint16_t kExtra64 = 1;
constexpr uint16_t kStored = 0, kDeflated = 8;
constexpr uint16_t kEncrypted = 1;
// Deflate makes at most 1032 bytes of one.
constexpr uint64_t kMostUnfolded = 1032;

// A little-endian number.  Requires: it lies in `bytes`.
uint64_t At(Bytes bytes, size_t offset, size_t size) {
  uint64_t value = 0;
  for (size_t n = size; n-- > 0;) value = value << 8 | bytes[offset + n];
  return value;
}

// `size` bytes from `offset`, or nothing where they do not all lie there.
std::optional<Bytes> Part(Bytes bytes, uint64_t offset, uint64_t size) {
  if (offset > bytes.size() || size > bytes.size() - offset) return {};
  return bytes.subspan(static_cast<size_t>(offset), static_cast<size_t>(size));
}

// A record of that signature, its fixed part.
std::optional<Bytes> Record(Bytes bytes, uint64_t offset, size_t size,
                            uint32_t signature) {
  const auto part = Part(bytes, offset, size);
  if (!part || At(*part, 0, 4) != signature) return {};
  return part;
}

struct Directory {
  uint64_t entries = 0, bytes = 0, offset = 0;
};

// One line of the directory.
struct Entry {
  std::string name;
  uint16_t flags = 0, method = 0;
  uint32_t checksum = 0;
  uint64_t packed = 0, unpacked = 0, offset = 0;
};

Status Torn() { return Status::Error("is truncated or damaged"); }

Status InMember(const std::string& name, const std::string& what) {
  return Status::Error("member " + Quote(name) + ": " + what);
}

// Of the record at the end of the archive, behind which only its comment lies.
Result<Directory> FindDirectory(Bytes archive) {
  if (archive.size() < kEndBytes) {
    return Status::Error("is no zip archive");
  }
  const size_t last = archive.size() - kEndBytes;
  const size_t first = last - std::min(last, kMostComment);
  for (size_t at = last + 1; at-- > first;) {
    const auto end = Record(archive, at, kEndBytes, kEnd);
    if (!end || At(*end, 20, 2) != last - at) continue;
    if (At(*end, 4, 2) != At(*end, 6, 2) || At(*end, 8, 2) != At(*end, 10, 2)) {
      return Status::Error("is one part of an archive in several files");
    }
    const Directory directory = {At(*end, 10, 2), At(*end, 12, 4),
                                 At(*end, 16, 4)};
    if (directory.entries != kElsewhere16 && directory.bytes != kElsewhere32 &&
        directory.offset != kElsewhere32) {
      return directory;
    }
    if (at < kLocator64Bytes) return Torn();
    const auto locator =
        Record(archive, at - kLocator64Bytes, kLocator64Bytes, kLocator64);
    if (!locator) return Torn();
    const auto end64 = Record(archive, At(*locator, 8, 8), kEnd64Bytes, kEnd64);
    if (!end64) return Torn();
    return Directory{At(*end64, 32, 8), At(*end64, 40, 8), At(*end64, 48, 8)};
  }
  return Status::Error("is no zip archive, or is truncated");
}

// What did not fit in 32 bits, in this order.
bool ReadExtra64(Bytes extra, const std::array<uint64_t*, 3>& values) {
  while (extra.size() >= 4) {
    const auto field = Part(extra, 4, At(extra, 2, 2));
    if (!field) return false;
    if (At(extra, 0, 2) == kExtra64) {
      size_t at = 0;
      for (uint64_t* value : values) {
        if (*value != kElsewhere32) continue;
        if (at + 8 > field->size()) return false;
        *value = At(*field, at, 8);
        at += 8;
      }
      return true;
    }
    extra = extra.subspan(4 + field->size());
  }
  return std::none_of(values.begin(), values.end(), [](const uint64_t* value) {
    return *value == kElsewhere32;
  });
}

Status CheckName(const std::string& name) {
  const bool plain = std::none_of(name.begin(), name.end(), [](char c) {
    return c == '/' || c == '\\' || (c >= 0 && c < ' ') || c == '\x7f';
  });
  if (plain && !name.empty()) return {};
  return InMember(name, "want a name without slashes and control characters");
}

Status CheckZipEntry(const Entry& entry) {
  if ((entry.flags & kEncrypted) != 0) {
    return InMember(entry.name, "is encrypted");
  }
  if (entry.method != kStored && entry.method != kDeflated) {
    return InMember(entry.name, "has compression " +
                                    std::to_string(entry.method) +
                                    "; want stored (0) or deflated (8)");
  }
  const bool possible = entry.method == kStored
                            ? entry.packed == entry.unpacked
                            : entry.unpacked / kMostUnfolded <= entry.packed;
  if (!possible) {
    return InMember(entry.name, "its " + std::to_string(entry.packed) +
                                    " bytes cannot be " +
                                    std::to_string(entry.unpacked));
  }
  return CheckName(entry.name);
}

// The entry at `at`, which moves behind it.
Result<Entry> ReadEntry(Bytes directory, size_t* at) {
  const auto fixed = Record(directory, *at, kEntryBytes, kEntry);
  if (!fixed) return Torn();
  const uint64_t name = At(*fixed, 28, 2), extra = At(*fixed, 30, 2),
                 comment = At(*fixed, 32, 2);
  const auto behind =
      Part(directory, *at + kEntryBytes, name + extra + comment);
  if (!behind) return Torn();
  *at += kEntryBytes + behind->size();
  Entry entry;
  entry.name.assign(behind->begin(),
                    behind->begin() + static_cast<int64_t>(name));
  entry.flags = static_cast<uint16_t>(At(*fixed, 8, 2));
  entry.method = static_cast<uint16_t>(At(*fixed, 10, 2));
  entry.checksum = static_cast<uint32_t>(At(*fixed, 16, 4));
  entry.packed = At(*fixed, 20, 4);
  entry.unpacked = At(*fixed, 24, 4);
  entry.offset = At(*fixed, 42, 4);
  if (!ReadExtra64(behind->subspan(static_cast<size_t>(name),
                                   static_cast<size_t>(extra)),
                   {&entry.unpacked, &entry.packed, &entry.offset})) {
    return Torn();
  }
  RETURN_IF_ERROR(CheckZipEntry(entry));
  return entry;
}

// Lists and refuses everything before anything is unpacked.
Result<std::vector<Entry>> ReadDirectory(Bytes archive, uint64_t max_bytes) {
  ASSIGN_OR_RETURN(const Directory found, FindDirectory(archive));
  const auto directory = Part(archive, found.offset, found.bytes);
  if (!directory) return Torn();
  if (found.entries > kMaxZipMembers) {
    return Status::Error("has " + std::to_string(found.entries) +
                         " members; at most " + std::to_string(kMaxZipMembers));
  }
  std::vector<Entry> entries;
  std::set<std::string_view> names;
  entries.reserve(static_cast<size_t>(found.entries));
  uint64_t bytes = 0;
  size_t at = 0;
  for (uint64_t n = 0; n < found.entries; ++n) {
    ASSIGN_OR_RETURN(Entry entry, ReadEntry(*directory, &at));
    entries.push_back(std::move(entry));
    const Entry& last = entries.back();
    if (!names.insert(last.name).second) {
      return InMember(last.name, "is there twice");
    }
    if (last.unpacked > max_bytes - bytes) {
      return Status::Error("unpacks to more than the " +
                           std::to_string(max_bytes) +
                           " bytes that are allowed");
    }
    bytes += last.unpacked;
  }
  if (at != directory->size()) return Torn();
  return entries;
}

// The packed bytes, behind a header that repeats the name. `behind`: of the
// member before in the file; moves behind this one.
Result<Bytes> Packed(Bytes archive, const Entry& entry, uint64_t* behind) {
  const auto fixed = Record(archive, entry.offset, kLocalBytes, kLocal);
  if (!fixed) return InMember(entry.name, "is truncated or damaged");
  const uint64_t name = At(*fixed, 26, 2), extra = At(*fixed, 28, 2);
  const uint64_t begin = entry.offset + kLocalBytes + name + extra;
  const auto packed = Part(archive, begin, entry.packed);
  if (!packed) return InMember(entry.name, "is truncated or damaged");
  const auto own = *Part(archive, entry.offset + kLocalBytes, name);
  if (!std::equal(
          own.begin(), own.end(), entry.name.begin(), entry.name.end(),
          [](uint8_t a, char b) { return a == static_cast<uint8_t>(b); })) {
    return InMember(entry.name, "has another name where its bytes begin");
  }
  if (entry.offset < *behind) {
    return InMember(entry.name, "shares bytes with another member");
  }
  *behind = begin + entry.packed;
  return *packed;
}

// zlib's pieces are of at most 4 GiB, sizes need not be.
uInt Piece(uint64_t bytes) {
  return static_cast<uInt>(std::min<uint64_t>(bytes, uint64_t{1} << 30));
}

// Whether `packed` is exactly what unfolds to the bytes of `out`.
bool Inflate(Bytes packed, std::span<uint8_t> out) {
  z_stream stream = {};
  // Raw: neither zlib's header nor its checksum are in an archive.
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return false;
  // zlib wants somewhere to write even where nothing is to be written.
  uint8_t nowhere = 0;
  stream.next_in = const_cast<uint8_t*>(packed.data());
  stream.next_out = out.empty() ? &nowhere : out.data();
  uint64_t read = 0, written = 0;
  int result = Z_OK;
  while (result == Z_OK) {
    stream.avail_in = Piece(packed.size() - read);
    stream.avail_out = Piece(out.size() - written);
    const uInt in = stream.avail_in, room = stream.avail_out;
    result = inflate(&stream, Z_NO_FLUSH);
    read += in - stream.avail_in;
    written += room - stream.avail_out;
  }
  inflateEnd(&stream);
  return result == Z_STREAM_END && read == packed.size() &&
         written == out.size();
}

Status Unpack(Bytes packed, const Entry& entry, ZipMember* member) {
  member->name = entry.name;
  member->contents.resize(static_cast<size_t>(entry.unpacked));
  bool whole = true;
  if (entry.method == kStored) {
    std::copy(packed.begin(), packed.end(), member->contents.begin());
  } else {
    whole = Inflate(packed, member->contents);
  }
  const uLong checksum =
      crc32_z(0, member->contents.data(), member->contents.size());
  if (whole && checksum == entry.checksum) return {};
  return InMember(entry.name, "is not what its size and checksum say");
}

}  // namespace

Result<std::vector<ZipMember>> ReadZip(Bytes archive, uint64_t max_bytes) {
  ASSIGN_OR_RETURN(const std::vector<Entry> entries,
                   ReadDirectory(archive, max_bytes));
  // In the order of the file, so that one look behind shows what is shared.
  std::vector<size_t> order(entries.size());
  for (size_t n = 0; n < order.size(); ++n) order[n] = n;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return entries[a].offset < entries[b].offset;
  });
  std::vector<Bytes> packed(order.size());
  uint64_t behind = 0;
  for (const size_t n : order) {
    ASSIGN_OR_RETURN(packed[n], Packed(archive, entries[n], &behind));
  }
  std::vector<ZipMember> members(order.size());
  for (size_t n = 0; n < members.size(); ++n) {
    RETURN_IF_ERROR(Unpack(packed[n], entries[n], &members[n]));
  }
  return members;
}

}  // namespace lockstep::verify
