// Sparse members in every spelling: the same file each time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/tar_writer.h"
#include "tests/support/walked.h"

namespace tarn::tar {
namespace {

using support::ContentOf;
using support::TarDialect;
using support::TarHeader;
using support::TarWriter;
using support::WalkBytes;
using support::Walked;
using testing::ElementsAre;
using testing::IsEmpty;

using Segments = std::vector<std::pair<uint64_t, uint64_t>>;

std::string Record(std::string_view keyword, std::string_view value) {
  return TarWriter::PaxRecord(keyword, value);
}

constexpr uint64_t kRealSize = 5000;
const Segments kSegments{{0, 100}, {1000, 50}, {2000, 1}, {2001, 3}, {3000, 512}, {4999, 1}};

std::string StoredOf(const Segments& segments) {
  std::string data;
  for (size_t i = 0; i < segments.size(); ++i) data.append(segments[i].second, static_cast<char>('a' + i));
  return data;
}
std::string FileOf(const Segments& segments, uint64_t real_size) {
  std::string file(real_size, '\0');
  for (size_t i = 0; i < segments.size(); ++i) {
    file.replace(segments[i].first, segments[i].second,
                 std::string(segments[i].second, static_cast<char>('a' + i)));
  }
  return file;
}

void ExpectTheFile(TarWriter* writer, const std::string& name = "sparse") {
  writer->AddFile("next", "n");
  const Walked walked = WalkBytes(writer->Finish());
  EXPECT_THAT(walked.Codes(), IsEmpty());
  ASSERT_THAT(walked.Names(), ElementsAre(name, "next"));
  EXPECT_EQ(walked.members[0].type, MemberType::kRegular);
  EXPECT_EQ(walked.members[0].logical_size, kRealSize);
  EXPECT_EQ(walked.members[0].stored_size, StoredOf(kSegments).size());
  EXPECT_EQ(ContentOf(writer->bytes(), walked.members[0]), FileOf(kSegments, kRealSize));
}

TarHeader OldGnuHeader(const Segments& segments, uint64_t real_size, size_t in_header) {
  TarHeader header = TarWriter::Named("sparse");
  header.dialect = TarDialect::kGnu;
  header.type = 'S';
  header.size = StoredOf(segments).size();
  std::string map;
  for (size_t i = 0; i < segments.size() && i < in_header; ++i) {
    map += TarWriter::Segment(segments[i].first, segments[i].second);
  }
  header.patches = {{386, map}, {483, TarWriter::Number12(real_size)}};
  if (segments.size() > in_header) header.patches.emplace_back(482, "\x01");
  return header;
}

TEST(Sparse, OldGnuWithExtensionBlocks) {
  TarWriter writer;
  writer.Add(OldGnuHeader(kSegments, kRealSize, 4));
  writer.AddData(TarWriter::Segment(3000, 512) + TarWriter::Segment(4999, 1));
  writer.AddData(StoredOf(kSegments));
  ExpectTheFile(&writer);
}

TEST(Sparse, OldGnuWithManyExtensionBlocks) {
  Segments segments;
  for (uint64_t i = 0; i < 60; ++i) segments.emplace_back(i * 100, 1);
  TarWriter writer;
  writer.Add(OldGnuHeader(segments, 6000, 4));
  for (size_t first = 4; first < segments.size(); first += 21) {
    std::string block;
    for (size_t i = first; i < segments.size() && i < first + 21; ++i) {
      block += TarWriter::Segment(segments[i].first, segments[i].second);
    }
    block.resize(504);
    block.push_back(first + 21 < segments.size() ? '\1' : '\0');
    writer.AddData(block);
  }
  const std::string data = StoredOf(segments);
  writer.AddData(data);
  writer.AddFile("next", "n");
  const Walked walked = WalkBytes(writer.Finish());
  EXPECT_THAT(walked.Codes(), IsEmpty());
  ASSERT_THAT(walked.Names(), ElementsAre("sparse", "next"));
  EXPECT_EQ(ContentOf(writer.bytes(), walked.members[0]), FileOf(segments, 6000));
}

TEST(Sparse, StarInTheHeaderAndInBlocks) {
  for (const bool in_header : {true, false}) {
    TarWriter writer;
    TarHeader header = TarWriter::Named("sparse");
    header.type = 'S';
    header.size = StoredOf(kSegments).size();
    std::string map;
    std::string blocks;
    for (size_t i = 0; i < kSegments.size(); ++i) {
      (in_header && i < 4 ? map : blocks) += TarWriter::Segment(kSegments[i].first, kSegments[i].second);
    }
    header.patches = {{475, std::string(1, '\0')},
                      {476, "14524600000 "},
                      {488, "14524600000 "},
                      {452, TarWriter::Number12(kRealSize)},
                      {508, std::string("tar\0", 4)}};
    if (in_header) {
      header.patches.emplace_back(356, map);
      header.patches.emplace_back(355, "\x01");
    } else {
      header.prefix = "dir";
    }
    writer.Add(header);
    writer.AddData(blocks);
    writer.AddData(StoredOf(kSegments));
    ExpectTheFile(&writer, in_header ? "sparse" : "dir/sparse");
  }
}

TEST(Sparse, Pax00) {
  TarWriter writer;
  std::string records = Record("GNU.sparse.size", "5000") + Record("GNU.sparse.numblocks", "6");
  for (const auto& [offset, length] : kSegments) {
    records += Record("GNU.sparse.offset", std::to_string(offset)) +
               Record("GNU.sparse.numbytes", std::to_string(length));
  }
  writer.AddPax(records);
  writer.AddFile("sparse", StoredOf(kSegments));
  ExpectTheFile(&writer);
}

TEST(Sparse, Pax01) {
  TarWriter writer;
  std::string map;
  for (const auto& [offset, length] : kSegments) {
    map += (map.empty() ? "" : ",") + std::to_string(offset) + "," + std::to_string(length);
  }
  writer.AddPax(Record("GNU.sparse.size", "5000") + Record("GNU.sparse.numblocks", "6") +
                Record("GNU.sparse.map", map) + Record("GNU.sparse.name", "sparse") +
                Record("path", "GNUSparseFile.1/sparse"));
  writer.AddFile("GNUSparseFile.1/sparse", StoredOf(kSegments));
  ExpectTheFile(&writer);
}

std::string Pax10Map(const Segments& segments) {
  std::string map = std::to_string(segments.size()) + "\n";
  for (const auto& [offset, length] : segments)
    map += std::to_string(offset) + "\n" + std::to_string(length) + "\n";
  map.resize((map.size() + 511) / 512 * 512);
  return map;
}

TEST(Sparse, Pax10InAnyOrderOfRecordsAndWithThePaxSize) {
  const std::string stored = Pax10Map(kSegments) + StoredOf(kSegments);
  const std::string real = Record("GNU.sparse.realsize", "5000");
  const std::string size = Record("size", std::to_string(stored.size()));
  const std::string version = Record("GNU.sparse.major", "1") + Record("GNU.sparse.minor", "0");
  for (const std::string& records :
       {version + real, real + version, size + real + version, version + real + size}) {
    TarWriter writer;
    writer.AddPax(records + Record("GNU.sparse.name", "sparse"));
    TarHeader header = TarWriter::Named("GNUSparseFile.0/sparse");
    header.size = records.find(" size=") == std::string::npos ? stored.size() : 0;
    writer.Add(header);
    writer.AddData(stored);
    ExpectTheFile(&writer);
  }
}

TEST(Sparse, AFileOfOneHoleIsServedToItsRealSize) {
  TarWriter writer;
  writer.Add(OldGnuHeader({}, uint64_t{10} << 30, 4));
  const Walked walked = WalkBytes(writer.Finish());
  EXPECT_THAT(walked.Codes(), IsEmpty());
  ASSERT_EQ(walked.members.size(), 1U);
  EXPECT_THAT(walked.members[0].extents, ElementsAre(Extent{Extent::kHole, uint64_t{10} << 30}));
}

// A map that cannot be served loses its member, and nothing else.
void ExpectRefused(TarWriter* writer, const std::string& code, uint64_t offset) {
  writer->AddFile("next", "n");
  const Walked walked = WalkBytes(writer->Finish());
  EXPECT_THAT(walked.Names(), ElementsAre("next"));
  EXPECT_THAT(walked.Codes(), ElementsAre("error " + code + "@" + std::to_string(offset)));
}

TEST(Sparse, MapsThatCannotBeAreRefused) {
  for (const Segments& segments :
       {Segments{{10, 5}, {0, 5}}, Segments{{0, 10}, {5, 10}}, Segments{{4999, 2}}}) {
    TarWriter writer;
    writer.Add(OldGnuHeader(segments, kRealSize, 4));
    writer.AddData(StoredOf(segments));
    ExpectRefused(&writer, "BAD_SPARSE_MAP", 0);
  }
  TarWriter text;
  TarHeader header = OldGnuHeader({{0, 5}}, kRealSize, 4);
  header.patches.emplace_back(386, "not octal!!!");
  text.Add(header);
  text.AddData("12345");
  ExpectRefused(&text, "BAD_SPARSE_MAP", 0);
}

TEST(Sparse, Pax10MapsThatCannotBeAreRefused) {
  const std::string records = Record("GNU.sparse.major", "1") + Record("GNU.sparse.minor", "0") +
                              Record("GNU.sparse.realsize", "5000");
  for (const std::string map :
       {"999999999\n", "1\n0\n", "x\n", "1\n18446744073709551615\n5\n", "1\n4998\n5\n"}) {
    TarWriter writer;
    writer.AddPax(records);
    std::string stored = map;
    stored.resize(512);
    writer.AddFile("f", stored + "12345");
    ExpectRefused(&writer, "BAD_SPARSE_MAP", 1024);
  }
}

TEST(Sparse, UnknownVersionsAndMissingSizesAreRefused) {
  for (const std::string& records :
       {Record("GNU.sparse.major", "2") + Record("GNU.sparse.minor", "0") +
            Record("GNU.sparse.realsize", "9"),
        Record("GNU.sparse.major", "1") + Record("GNU.sparse.minor", "1") +
            Record("GNU.sparse.realsize", "9"),
        Record("GNU.sparse.map", "0,5"), Record("GNU.sparse.offset", "0") + Record("GNU.sparse.size", "9")}) {
    TarWriter writer;
    writer.AddPax(records);
    writer.AddFile("f", "12345");
    ExpectRefused(&writer, "BAD_SPARSE_MAP", 1024);
  }
}

TEST(Sparse, TypeSInADialectWithoutSparseFilesIsRefused) {
  TarWriter writer;
  TarHeader header = TarWriter::Named("f");
  header.type = 'S';
  writer.AddFile(header, "12345");
  ExpectRefused(&writer, "BAD_SPARSE_MAP", 0);
}

TEST(Sparse, AMapThatIsCutEndsTheWalk) {
  TarWriter writer;
  writer.Add(OldGnuHeader(kSegments, kRealSize, 4));
  EXPECT_THAT(WalkBytes(writer.bytes()).Codes(), ElementsAre("error TRUNCATED_EXTENSION@0"));
}

}  // namespace
}  // namespace tarn::tar
