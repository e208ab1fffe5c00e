#include "tarn/index/records.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "random_records.h"
#include "tarn/base/bytes.h"

namespace tarn::index {
namespace {

// How a record of one kind is made, encoded and decoded: each promise of the codec is checked for all kinds.
template <typename Record>
struct Codec {
  std::function<Record()> make;
  std::function<void(const Record&, std::string*)> encode;
  std::function<Status(std::string_view, Record*)> decode;
};

template <typename Record>
Codec<Record> PlainCodec(std::function<Record()> make) {
  return {std::move(make), [](const Record& record, std::string* out) { Encode(record, out); },
          [](std::string_view bytes, Record* record) { return Decode(bytes, record); }};
}

template <typename Record>
void ExpectRefusedOrTheSameBytes(const Codec<Record>& codec, const std::string& bytes) {
  Record record;
  const Status status = codec.decode(bytes, &record);
  if (!status.ok()) {
    EXPECT_EQ(status.code(), ErrorCode::kCorrupt);
    return;
  }
  std::string again;
  codec.encode(record, &again);
  EXPECT_EQ(ToHex(again), ToHex(bytes));
}

template <typename Record>
void ExpectCodecKeepsItsPromises(const Codec<Record>& codec, int records) {
  Record reused;
  for (int i = 0; i < records; ++i) {
    const Record record = codec.make();
    std::string bytes;
    codec.encode(record, &bytes);
    const Status status = codec.decode(bytes, &reused);
    ASSERT_TRUE(status.ok()) << status.ToString() << ' ' << ToHex(bytes);
    ASSERT_TRUE(reused == record) << ToHex(bytes);

    for (size_t length = 0; length < bytes.size(); ++length) {
      Record cut;
      EXPECT_EQ(codec.decode(std::string_view(bytes).substr(0, length), &cut).code(), ErrorCode::kCorrupt);
    }
    ExpectRefusedOrTheSameBytes(codec, bytes + '\0');
    for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
      std::string flipped = bytes;
      flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
      ExpectRefusedOrTheSameBytes(codec, flipped);
    }
    if (testing::Test::HasFailure()) return;
  }
}

class RecordsTest : public testing::Test {
 protected:
  RandomRecords random_{20260101};
};

TEST_F(RecordsTest, ArchiveFactsHaveOneSpelling) {
  ExpectCodecKeepsItsPromises(PlainCodec<ArchiveFacts>([this] { return random_.Archive(); }), 200);
}

TEST_F(RecordsTest, DentriesHaveOneSpelling) {
  ExpectCodecKeepsItsPromises(PlainCodec<DentryRecord>([this] { return random_.Dentry(); }), 2000);
}

TEST_F(RecordsTest, DirectoriesHaveOneSpelling) {
  ExpectCodecKeepsItsPromises(PlainCodec<DirectoryRecord>([this] { return random_.Directory(); }), 500);
}

TEST_F(RecordsTest, FindingsHaveOneSpelling) {
  ExpectCodecKeepsItsPromises(PlainCodec<tar::Finding>([this] { return random_.Finding(); }), 200);
}

TEST_F(RecordsTest, ManifestRowsHaveOneSpelling) {
  ExpectCodecKeepsItsPromises(PlainCodec<ManifestRow>([this] { return random_.Manifest(); }), 60);
}

TEST_F(RecordsTest, TreeRowsHaveOneSpelling) {
  ExpectCodecKeepsItsPromises(PlainCodec<TreeDentryRecord>([this] { return random_.TreeDentry(); }), 500);
  ExpectCodecKeepsItsPromises(PlainCodec<TreeDirectoryRecord>([this] { return random_.TreeDirectory(); }),
                              500);
  ExpectCodecKeepsItsPromises(PlainCodec<DirectoryRangeRecord>([this] { return random_.DirectoryRange(); }),
                              500);
}

TEST_F(RecordsTest, GenerationFactsHaveOneSpelling) {
  ExpectCodecKeepsItsPromises(PlainCodec<GenerationFacts>([this] { return random_.Generation(); }), 60);
}

TEST_F(RecordsTest, MembersHaveOneSpelling) {
  for (int archive = 0; archive < 15; ++archive) {
    const MemberDefaults defaults = random_.Defaults();
    const Codec<MemberRecord> codec{
        [&] { return random_.Member(defaults); },
        [&](const MemberRecord& member, std::string* out) { Encode(member, defaults, out); },
        [&](std::string_view bytes, MemberRecord* member) { return Decode(bytes, defaults, member); }};
    ExpectCodecKeepsItsPromises(codec, 20);
    if (HasFailure()) return;
  }
}

// What a walk gives for nearly every member of a dataset costs its name, its place and its size, and no more.
TEST_F(RecordsTest, AMemberLikeMostCostsNoMoreThanItsNamePlaceAndSize) {
  const MemberDefaults defaults{.mode = 0644,
                                .uid = 1000,
                                .gid = 1000,
                                .user_name = "data",
                                .group_name = "data",
                                .mtime = 1'700'000'000};
  MemberRecord member;
  member.mode = defaults.mode;
  member.uid = defaults.uid;
  member.gid = defaults.gid;
  member.user_name = defaults.user_name;
  member.group_name = defaults.group_name;
  member.mtime = defaults.mtime;
  member.logical_size = member.stored_size = 110'000;
  member.header_offset = 512 * 1'000'000;
  member.data_offset = member.header_offset + 512;
  member.extents = {{static_cast<int64_t>(member.data_offset), member.logical_size}};
  member.directory = 3;
  member.name = "n01440764_10026.JPEG";
  std::string bytes;
  Encode(member, defaults, &bytes);
  EXPECT_EQ(bytes.size(),
            1 /* flags */ + 3 /* header */ + 1 /* directory */ + 1 + 20 /* name */ + 3 /* size */)
      << ToHex(bytes);
}

TEST_F(RecordsTest, AMillionExtentsThatAreNotThereCostNoMemory) {
  const MemberDefaults defaults;
  MemberRecord member;
  member.directory = 0;
  member.name = "a";
  member.logical_size = 10;
  member.extents = {{tar::Extent::kHole, 10}};
  std::string bytes;
  Encode(member, defaults, &bytes);
  // The count stands before the extent's two bytes.
  ASSERT_EQ(bytes[bytes.size() - 3], 1);
  std::string forged = bytes.substr(0, bytes.size() - 3);
  AppendVarint(&forged, uint64_t{1} << 40);
  forged.append(bytes.substr(bytes.size() - 2));
  EXPECT_EQ(Decode(forged, defaults, &member).code(), ErrorCode::kCorrupt);
}

TEST_F(RecordsTest, NanosecondsBeyondASecondAreRefused) {
  const MemberDefaults defaults;
  MemberRecord member;
  member.mtime_ns = 999'999'999;
  std::string bytes;
  Encode(member, defaults, &bytes);
  std::string nanoseconds;
  AppendVarint(&nanoseconds, 999'999'999);
  const size_t at = bytes.find(nanoseconds);
  ASSERT_NE(at, std::string::npos);
  std::string beyond;
  AppendVarint(&beyond, 1'000'000'000);
  bytes.replace(at, nanoseconds.size(), beyond);
  EXPECT_EQ(Decode(bytes, defaults, &member).code(), ErrorCode::kCorrupt);
}

TEST_F(RecordsTest, ChunkRowsHoldOneToFiveHundredAndTwelveChecksums) {
  std::vector<uint64_t> checksums;
  for (uint64_t i = 0; i < kChunksPerRow; ++i) checksums.push_back(i * 0x0123456789abcdefULL);
  std::string bytes;
  EncodeChunkRow(checksums, &bytes);
  EXPECT_EQ(bytes.size(), 4096U);
  std::vector<uint64_t> decoded;
  ASSERT_TRUE(DecodeChunkRow(bytes, &decoded).ok());
  EXPECT_EQ(decoded, checksums);
  EXPECT_EQ(DecodeChunkRow("", &decoded).code(), ErrorCode::kCorrupt);
  EXPECT_EQ(DecodeChunkRow(bytes.substr(1), &decoded).code(), ErrorCode::kCorrupt);
  EXPECT_EQ(DecodeChunkRow(bytes + bytes.substr(0, 8), &decoded).code(), ErrorCode::kCorrupt);
}

TEST_F(RecordsTest, KeysSortAsArchivesNumbersAndNamesDo) {
  struct Row {
    ArchiveId id;
    RowKind kind;
    uint32_t number;
    std::string name;
    auto operator<=>(const Row&) const = default;
  };
  std::vector<Row> rows;
  const ArchiveId ids[] = {random_.AnyId(), random_.AnyId(), ArchiveId{}};
  for (int i = 0; i < 2000; ++i) {
    rows.push_back({ids[i % 3], RowKind::kDentry, random_.Number32(), random_.Text(6)});
    rows.push_back({ids[i % 3], RowKind::kMember, random_.Number32(), ""});
  }
  std::sort(rows.begin(), rows.end());
  std::string previous;
  for (const Row& row : rows) {
    const std::string key = Key(row.id, row.kind, row.number, row.name);
    EXPECT_LE(previous, key);
    previous = key;
  }
  EXPECT_LT(DirectoryRangeKey(255), DirectoryRangeKey(256));
  EXPECT_LT(DirectoryRangeKey(uint64_t{1} << 33), DirectoryRangeKey((uint64_t{1} << 33) + 1));
}

TEST_F(RecordsTest, KeysHaveTheBytesOfTheFormat) {
  const ArchiveId id{0x1122, Digest{0x0102030405060708, 0x090a0b0c0d0e0f10}};
  const std::string prefix = "00000000000011220102030405060708090a0b0c0d0e0f10";
  EXPECT_EQ(ToHex(Key(id, RowKind::kArchiveFacts)), prefix + "01");
  EXPECT_EQ(ToHex(Key(id, RowKind::kMember, 258)), prefix + "0400000102");
  EXPECT_EQ(ToHex(Key(id, RowKind::kDentry, 1, "a/")), prefix + "0300000001612f");
  EXPECT_EQ(ToHex(DirectoryRangeKey(7)), std::string(48, '0') + "160000000000000007");
}

}  // namespace
}  // namespace tarn::index
