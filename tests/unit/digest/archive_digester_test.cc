// Our sums against the `xxh128sum` program: what an administrator checks an archive with.
#include "tarn/digest/archive_digester.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <memory>

#include "tests/support/pseudo_random.h"
#include "tests/support/scratch.h"

namespace tarn::digest {
namespace {

std::span<const std::byte> Bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

ArchiveDigester::Sum SumOf(std::string_view bytes, size_t piece = SIZE_MAX) {
  ArchiveDigester digester;
  for (size_t offset = 0; offset < bytes.size(); offset += std::min(piece, bytes.size() - offset)) {
    digester.Update(Bytes(bytes.substr(offset, piece)));
  }
  return digester.Finish();
}

// The first word that `command` prints.
std::string FirstWord(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), ::pclose);
  std::array<char, 256> line{};
  if (!pipe || std::fgets(line.data(), line.size(), pipe.get()) == nullptr) return "";
  const std::string text(line.data());
  return text.substr(0, text.find_first_of(" \n"));
}

// Lengths around everything that has a boundary: XXH3's own (16, 128, 240, 1024), and the chunk's.
const std::vector<size_t> kLengths = {0,
                                      1,
                                      3,
                                      16,
                                      17,
                                      128,
                                      129,
                                      240,
                                      241,
                                      512,
                                      1023,
                                      1024,
                                      1025,
                                      kChunkBytes - 1,
                                      kChunkBytes,
                                      kChunkBytes + 1,
                                      2 * kChunkBytes,
                                      5 * kChunkBytes + 777};

TEST(ArchiveDigesterTest, EqualsXxh128sum) {
  if (FirstWord("command -v xxh128sum").empty())
    GTEST_SKIP() << "xxh128sum (package xxhash) is not installed";
  const support::Scratch scratch;
  for (const size_t length : kLengths) {
    const std::string bytes = support::PseudoRandom(length).Bytes(length);
    const std::string path = scratch.Write("archive", bytes);
    const ArchiveDigester::Sum sum = SumOf(bytes);
    EXPECT_EQ(sum.id.digest.ToHex(), FirstWord("xxh128sum -q '" + path + "' 2>/dev/null")) << length;
    EXPECT_EQ(sum.id.size, length);
    EXPECT_EQ(DigestOf(bytes), sum.id.digest) << length;
  }
}

TEST(ArchiveDigesterTest, KnownSums) {
  // From the xxHash 0.8 program: the sums of other machines and later builds must be these.
  EXPECT_EQ(DigestOf("").ToHex(), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(ChunkChecksum({}), 0x2d06800538d394c2ULL);
}

TEST(ArchiveDigesterTest, HowTheBytesArriveDoesNotMatter) {
  for (const size_t length : kLengths) {
    const std::string bytes = support::PseudoRandom(length).Bytes(length);
    const ArchiveDigester::Sum whole = SumOf(bytes);
    for (const size_t piece : {size_t{7}, size_t{512}, size_t{65'536}, kChunkBytes, kChunkBytes + 1,
                               kChunkBytes - 1, size_t{1} << 20}) {
      if (piece == 7 && length > 2 * kChunkBytes) continue;  // slow, and covered by the smaller ones
      const ArchiveDigester::Sum pieces = SumOf(bytes, piece);
      ASSERT_EQ(pieces.id, whole.id) << length << " in pieces of " << piece;
      ASSERT_EQ(pieces.chunks, whole.chunks) << length << " in pieces of " << piece;
    }
  }
}

TEST(ArchiveDigesterTest, RandomPiecesGiveTheSameSums) {
  support::PseudoRandom random(11);
  const std::string bytes = random.Bytes(3 * kChunkBytes + 12'345);
  const ArchiveDigester::Sum whole = SumOf(bytes);
  for (int round = 0; round < 20; ++round) {
    ArchiveDigester digester;
    for (size_t offset = 0; offset < bytes.size();) {
      const size_t piece = std::min<size_t>(random.Below(2 * kChunkBytes), bytes.size() - offset);
      digester.Update(Bytes(std::string_view(bytes).substr(offset, piece)));
      offset += piece;
    }
    const ArchiveDigester::Sum sum = digester.Finish();
    EXPECT_EQ(sum.id, whole.id);
    EXPECT_EQ(sum.chunks, whole.chunks);
  }
}

TEST(ArchiveDigesterTest, EachChunkHasItsChecksumAndTheLastMayBeShort) {
  for (const size_t length : kLengths) {
    const std::string bytes = support::PseudoRandom(length).Bytes(length);
    const ArchiveDigester::Sum sum = SumOf(bytes, 1000);
    ASSERT_EQ(sum.chunks.size(), (length + kChunkBytes - 1) / kChunkBytes);
    for (size_t chunk = 0; chunk < sum.chunks.size(); ++chunk) {
      EXPECT_EQ(sum.chunks[chunk],
                ChunkChecksum(Bytes(std::string_view(bytes).substr(chunk * kChunkBytes, kChunkBytes))));
    }
  }
}

TEST(ArchiveDigesterTest, OneFlippedBitChangesTheDigestAndOneChunk) {
  std::string bytes = support::PseudoRandom(12).Bytes(4 * kChunkBytes);
  const ArchiveDigester::Sum before = SumOf(bytes);
  bytes[2 * kChunkBytes + 5] = static_cast<char>(bytes[2 * kChunkBytes + 5] ^ 0x10);
  const ArchiveDigester::Sum after = SumOf(bytes);
  EXPECT_NE(before.id.digest, after.id.digest);
  for (size_t chunk = 0; chunk < 4; ++chunk)
    EXPECT_EQ(before.chunks[chunk] == after.chunks[chunk], chunk != 2);
}

TEST(ArchiveDigesterTest, AMovedDigesterGoesOn) {
  ArchiveDigester first;
  first.Update(Bytes("abc"));
  ArchiveDigester second = std::move(first);
  second.Update(Bytes("def"));
  EXPECT_EQ(second.Finish().id.digest, DigestOf("abcdef"));
}

}  // namespace
}  // namespace tarn::digest
