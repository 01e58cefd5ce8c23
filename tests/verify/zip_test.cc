// The reader of archives against hostile ones; what it reads is what Python's
// zipfile and zlib have written.
#include "verify/base/io/zip.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <functional>
#include <string>
#include <vector>

#include "verify/base/io/npy.h"

namespace lockstep::verify {
namespace {

using Bytes = std::vector<uint8_t>;

void Put(Bytes* bytes, uint64_t value, int size) {
  for (int n = 0; n < size; ++n) {
    bytes->push_back(static_cast<uint8_t>(value >> (8 * n)));
  }
}

void Put(Bytes* bytes, const std::string& text) {
  bytes->insert(bytes->end(), text.begin(), text.end());
}

Bytes Deflated(const std::string& text) {
  z_stream stream = {};
  deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  Bytes packed(deflateBound(&stream, text.size()));
  stream.next_in =
      const_cast<uint8_t*>(reinterpret_cast<const uint8_t*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = packed.data();
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

// A member as the archive tells of it, which need not be true.
struct Member {
  std::string name, own_name;
  Bytes packed;
  uint64_t unpacked = 0, told = 0, offset = 0;
  uint32_t checksum = 0;
  int method = 0, flags = 0;
  bool zip64 = false;

  Member(const std::string& called, const std::string& text,
         bool deflated = false)
      : name(called),
        own_name(called),
        packed(deflated ? Deflated(text) : Bytes(text.begin(), text.end())),
        unpacked(text.size()),
        told(packed.size()),
        checksum(static_cast<uint32_t>(
            crc32(0, reinterpret_cast<const uint8_t*>(text.data()),
                  static_cast<uInt>(text.size())))),
        method(deflated ? 8 : 0) {}
};

// What may be wrong with the whole.
struct Lies {
  int disk = 0;
  int64_t entries = -1;  // told instead of what there are
  bool zip64 = false;
  bool locator = true;
  std::string comment{};
};

void PutLocal(Member* member, Bytes* file) {
  member->offset += file->size();
  Put(file, 0x04034b50, 4);
  Put(file, 20, 2);
  Put(file, static_cast<uint64_t>(member->flags), 2);
  Put(file, static_cast<uint64_t>(member->method), 2);
  Put(file, 0, 4);  // time and date
  Put(file, member->checksum, 4);
  Put(file, member->told, 4);
  Put(file, member->unpacked, 4);
  Put(file, member->own_name.size(), 2);
  Put(file, 0, 2);
  Put(file, member->own_name);
  file->insert(file->end(), member->packed.begin(), member->packed.end());
}

void PutEntry(const Member& member, Bytes* file) {
  const auto narrow = [&](uint64_t value) {
    return member.zip64 ? 0xffffffff : value;
  };
  Put(file, 0x02014b50, 4);
  Put(file, 20, 2);
  Put(file, 20, 2);
  Put(file, static_cast<uint64_t>(member.flags), 2);
  Put(file, static_cast<uint64_t>(member.method), 2);
  Put(file, 0, 4);
  Put(file, member.checksum, 4);
  Put(file, narrow(member.told), 4);
  Put(file, narrow(member.unpacked), 4);
  Put(file, member.name.size(), 2);
  Put(file, member.zip64 ? 4 + 6 + 28 : 0, 2);
  Put(file, 0, 2);  // comment
  Put(file, 0, 2);
  Put(file, 0, 2);
  Put(file, 0, 4);
  Put(file, narrow(member.offset), 4);
  Put(file, member.name);
  if (!member.zip64) return;
  Put(file, 0x7075, 2);  // somebody else's field first
  Put(file, 6, 2);
  Put(file, 0, 6);
  Put(file, 1, 2);
  Put(file, 24, 2);
  Put(file, member.unpacked, 8);
  Put(file, member.told, 8);
  Put(file, member.offset, 8);
}

Bytes Archive(std::vector<Member> members, const Lies& lies = {}) {
  Bytes file;
  for (Member& member : members) PutLocal(&member, &file);
  const uint64_t begin = file.size();
  for (const Member& member : members) PutEntry(member, &file);
  const uint64_t bytes = file.size() - begin;
  const auto entries =
      lies.entries < 0 ? members.size() : static_cast<uint64_t>(lies.entries);
  const uint64_t end64 = file.size();
  if (lies.zip64) {
    Put(&file, 0x06064b50, 4);
    Put(&file, 44, 8);
    Put(&file, 45, 2);
    Put(&file, 45, 2);
    Put(&file, 0, 8);
    Put(&file, entries, 8);
    Put(&file, entries, 8);
    Put(&file, bytes, 8);
    Put(&file, begin, 8);
    Put(&file, lies.locator ? 0x07064b50 : 0, 4);
    Put(&file, 0, 4);
    Put(&file, end64, 8);
    Put(&file, 1, 4);
  }
  Put(&file, 0x06054b50, 4);
  Put(&file, static_cast<uint64_t>(lies.disk), 2);
  Put(&file, 0, 2);
  Put(&file, lies.zip64 ? 0xffff : entries, 2);
  Put(&file, lies.zip64 ? 0xffff : entries, 2);
  Put(&file, lies.zip64 ? 0xffffffff : bytes, 4);
  Put(&file, lies.zip64 ? 0xffffffff : begin, 4);
  Put(&file, lies.comment.size(), 2);
  Put(&file, lies.comment);
  return file;
}

std::string Text(const ZipMember& member) {
  return {member.contents.begin(), member.contents.end()};
}

// The message, one line; empty: it was read.
std::string WhyNot(const Bytes& archive, uint64_t allowed = 1 << 20) {
  const auto members = ReadZip(archive, allowed);
  if (members.ok()) return "";
  EXPECT_EQ(members.message().find('\n'), std::string::npos);
  EXPECT_FALSE(members.message().empty());
  return members.message();
}

void ExpectRefusal(const Bytes& archive, const std::string& words,
                   uint64_t allowed = 1 << 20) {
  const std::string why = WhyNot(archive, allowed);
  EXPECT_NE(why.find(words), std::string::npos) << "'" << why << "'";
}

Member Changed(Member member, const std::function<void(Member*)>& change) {
  change(&member);
  return member;
}

TEST(Zip, ReadsStoredAndDeflated) {
  const std::string often(5000, 'x');
  for (const bool zip64 : {false, true}) {
    std::vector<Member> members = {
        {"a.npy", "abc"}, {"b", often, true}, {"none", ""}, {"no", "", true}};
    for (Member& member : members) member.zip64 = zip64;
    const Bytes file =
        Archive(members, {.zip64 = zip64, .comment = "PK\5\6 said somebody"});
    const auto read = ReadZip(file, often.size() + 3);
    ASSERT_TRUE(read.ok()) << read.message();
    ASSERT_EQ(read->size(), 4u);
    EXPECT_EQ(read.value()[0].name, "a.npy");
    EXPECT_EQ(Text(read.value()[0]), "abc");
    EXPECT_EQ(Text(read.value()[1]), often);
    EXPECT_EQ(Text(read.value()[2]) + Text(read.value()[3]), "");
    ExpectRefusal(file, "unpacks to more than the 5002 bytes",
                  often.size() + 2);
  }
  EXPECT_EQ(WhyNot(Archive({})), "");
}

TEST(Zip, MembersThatAreNotWhatIsTold) {
  const Member a("a", "abcdef"), d("d", std::string(900, 'x'), true);
  const auto refused = [](const Member& of, const std::string& words,
                          const std::function<void(Member*)>& change) {
    ExpectRefusal(Archive({Changed(of, change)}), words);
  };
  refused(a, "checksum", [](Member* m) { ++m->checksum; });
  refused(d, "checksum", [](Member* m) { m->packed[0] ^= 0xff; });
  refused(a, "cannot be", [](Member* m) { ++m->unpacked; });
  refused(d, "checksum", [](Member* m) { ++m->unpacked; });
  refused(d, "checksum", [](Member* m) { --m->unpacked; });
  refused(d, "checksum", [](Member* m) { --m->told; });
  refused(d, "checksum", [](Member* m) {
    m->packed.push_back(0);
    ++m->told;
  });
  refused(a, "encrypted", [](Member* m) { m->flags = 1; });
  refused(a, "compression 14", [](Member* m) { m->method = 14; });
  refused(a, "another name", [](Member* m) { m->own_name = "b"; });
  refused(a, "truncated", [](Member* m) { m->told = m->unpacked = 600; });
  refused(a, "truncated", [](Member* m) { m->offset = 1; });
}

TEST(Zip, BombsAreNotUnpacked) {
  // Nothing of the gigabytes is allocated: some are more than there can be.
  for (const uint64_t told : {uint64_t{1} << 31, uint64_t{1} << 60}) {
    Member bomb("a", std::string(4000, 'x'), true);
    bomb.unpacked = told;
    bomb.zip64 = true;
    ExpectRefusal(Archive({bomb}), "cannot be", UINT64_MAX);
    ExpectRefusal(Archive({bomb}), "cannot be");
  }
  // A megabyte in a kilobyte, again and again.
  const Member full("a", std::string(1 << 20, 'x'), true);
  EXPECT_EQ(WhyNot(Archive({full})), "");
  Member second = full;
  second.name = second.own_name = "b";
  ExpectRefusal(Archive({full, second}), "unpacks to more than");
  // The same bytes under two names.
  Member again("a", "abcdef"), other = again;
  Bytes file = Archive({again});
  other.name = "b";
  std::vector<Member> both = {again, other};
  both[1].packed.clear();
  both[1].own_name = "a";
  // Its header lies where the first one's does.
  both[1].offset -= 30 + 1 + 6;
  ExpectRefusal(Archive(both), "another name");
  both[1].name = "a";
  ExpectRefusal(Archive(both), "is there twice");
}

TEST(Zip, BytesAreNotShared) {
  // The second member's header and bytes lie in the first one's.
  Bytes inner;
  Member hidden("b", "xy");
  PutLocal(&hidden, &inner);
  const Member outer("a", std::string(inner.begin(), inner.end()));
  hidden.packed.clear();
  Bytes whole = Archive({outer, hidden});
  // The header that Archive() has put is left there, unused.
  hidden.offset = 31;
  Bytes entry, moved;
  PutEntry(hidden, &moved);
  hidden.offset = 30 + 1 + inner.size();
  PutEntry(hidden, &entry);
  const auto at =
      std::search(whole.begin(), whole.end(), entry.begin(), entry.end());
  ASSERT_NE(at, whole.end());
  std::copy(moved.begin(), moved.end(), at);
  ExpectRefusal(whole, "shares bytes with another member");
}

TEST(Zip, NamesThatAreNone) {
  for (const char* name :
       {"", "../a", "a/b", "/etc/passwd", "a\\b", "a\nb", "\x1b[2J"}) {
    ExpectRefusal(Archive({Member(name, "abc")}), "want a name without");
  }
  ExpectRefusal(Archive({Member("a", "abc"), Member("b", ""), Member("a", "")}),
                "'a': is there twice");
}

TEST(Zip, ArchivesThatAreNone) {
  for (const bool zip64 : {false, true}) {
    const Bytes whole = Archive(
        {{"a", "abc"}, {"b", std::string(90, 'x'), true}}, {.zip64 = zip64});
    ASSERT_EQ(WhyNot(whole), "");
    for (size_t size = 0; size < whole.size(); ++size) {
      EXPECT_NE(WhyNot(Bytes(whole.begin(),
                             whole.begin() + static_cast<int64_t>(size))),
                "")
          << size;
    }
    // Any byte: an error or the same members, never a crash.
    for (size_t at = 0; at < whole.size(); ++at) {
      for (const int flip : {1, 0x80, 0xff}) {
        Bytes changed = whole;
        changed[at] = static_cast<uint8_t>(changed[at] ^ flip);
        (void)WhyNot(changed);
      }
    }
    for (const int64_t entries : {0, 1, 3, 60000}) {
      EXPECT_NE(WhyNot(Archive({{"a", "abc"}, {"b", ""}},
                               {.entries = entries, .zip64 = zip64})),
                "")
          << entries;
    }
  }
  ExpectRefusal(Archive({{"a", "abc"}}, {.disk = 1}), "several files");
  ExpectRefusal(Archive({}, {.entries = 1 << 20, .zip64 = true}),
                "1048576 members");
  ExpectRefusal(Archive({{"a", "abc"}}, {.zip64 = true, .locator = false}),
                "damaged");
  ExpectRefusal(Bytes(100, 'x'), "is no zip archive");
}

// A .npy of two bytes.
std::string Npy(const std::string& shape = "(2,)") {
  std::string header =
      "{'descr': '|u1', 'fortran_order': False, 'shape': " + shape + ", }\n";
  return std::string("\x93NUMPY\x01\x00", 8) +
         std::string(1, static_cast<char>(header.size())) +
         std::string(1, '\0') + header + "\7\10";
}

TEST(Npz, MembersAreTensors) {
  const auto file = ParseNpz(
      "x.npz", Archive({{"o.npy", Npy()}, {"lse.npy", Npy("(1, 2)"), true}}));
  ASSERT_TRUE(file.ok()) << file.message();
  EXPECT_TRUE(file->Get("o", "U8", {2}).ok());
  const auto lse = file->Get("lse", "U8", {1, 2});
  ASSERT_TRUE(lse.ok());
  EXPECT_EQ(lse->bytes[1], 8);
  for (const auto& [member, words] :
       {std::pair{Member("o.npy", Npy("(3,)")), "x.npz: 'o.npy': has 2 bytes"},
        {Member("o.npy", Npy("(4000000000, 4000000000, 4000000000)")),
         "take -1"},
        {Member("o.npy", "no array"), "x.npz: 'o.npy': is no array of NumPy"},
        {Member("o.txt", Npy()), "x.npz: 'o.txt' is no NAME.npy"},
        {Member(".npy", Npy()), "is no NAME.npy"},
        {Member("a/o.npy", Npy()), "x.npz: member 'a/o.npy'"}}) {
    const auto bad = ParseNpz("x.npz", Archive({member}));
    ASSERT_FALSE(bad.ok());
    EXPECT_NE(bad.message().find(words), std::string::npos) << bad.message();
  }
}

}  // namespace
}  // namespace lockstep::verify
