// The walk's rules: names, numbers, types and extended headers of sound archives. Damage has its own file.
#include "tarn/tar/header_walker.h"

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
using testing::Pair;
using namespace std::string_literals;  // NOLINT(google-build-using-namespace)

std::string Record(std::string_view keyword, std::string_view value) {
  return TarWriter::PaxRecord(keyword, value);
}

// The only member of a sound archive.
Member Only(TarWriter* writer) {
  Walked walked = WalkBytes(writer->Finish());
  EXPECT_THAT(walked.Codes(), IsEmpty());
  EXPECT_EQ(walked.members.size(), 1U);
  return walked.members.empty() ? Member() : walked.members[0];
}

TEST(Walk, EveryFieldOfAUstarHeaderIsTaken) {
  TarWriter writer;
  TarHeader header = TarWriter::Named("a.bin");
  header.mode = 0100755;  // with the type bits that some writers store
  const std::string data(700, 'x');
  writer.AddFile(header, data);
  const Member member = Only(&writer);
  EXPECT_EQ(member.name, "a.bin");
  EXPECT_EQ(member.type, MemberType::kRegular);
  EXPECT_EQ(member.mode, 0755U);
  EXPECT_EQ(member.uid, 1000U);
  EXPECT_EQ(member.gid, 1000U);
  EXPECT_EQ(member.user_name, "user");
  EXPECT_EQ(member.group_name, "group");
  EXPECT_EQ(member.mtime, 1'700'000'000);
  EXPECT_EQ(member.logical_size, 700U);
  EXPECT_EQ(member.stored_size, 700U);
  EXPECT_EQ(member.header_offset, 0U);
  EXPECT_EQ(member.data_offset, 512U);
  EXPECT_THAT(member.extents, ElementsAre(Extent{512, 700}));
}

TEST(Walk, OrdinalsAndOffsetsRise) {
  TarWriter writer;
  writer.AddFile("a", std::string(512, 'a'));
  writer.AddFile("b", std::string(513, 'b'));
  writer.AddFile("c", "");
  const Walked walked = WalkBytes(writer.Finish());
  ASSERT_THAT(walked.Names(), ElementsAre("a", "b", "c"));
  EXPECT_EQ(walked.members[1].header_offset, 1024U);
  EXPECT_EQ(walked.members[2].header_offset, 2560U);
  EXPECT_EQ(walked.members[2].ordinal, 2U);
  EXPECT_EQ(walked.end_offset, writer.size());
}

TEST(Walk, TypesAreThoseOfTheirFlags) {
  TarWriter writer;
  writer.AddLink("s", '2', "target");
  writer.AddLink("h", '1', "s");
  TarHeader device = TarWriter::Named("c");
  device.type = '3';
  device.device_major = 4;
  device.device_minor = 64;
  writer.Add(device);
  device.type = '4';
  writer.Add(device);
  device.type = '6';
  writer.Add(device);
  writer.AddDirectory("d");
  TarHeader contiguous = TarWriter::Named("k");
  contiguous.type = '7';
  writer.AddFile(contiguous, "x");
  TarHeader unknown = TarWriter::Named("u");
  unknown.type = 'Z';
  writer.AddFile(unknown, "yy");
  const Walked walked = WalkBytes(writer.Finish());
  EXPECT_THAT(walked.Codes(), IsEmpty());
  ASSERT_EQ(walked.members.size(), 8U);
  EXPECT_EQ(walked.members[0].type, MemberType::kSymlink);
  EXPECT_EQ(walked.members[0].link, "target");
  EXPECT_EQ(walked.members[1].type, MemberType::kHardLink);
  EXPECT_EQ(walked.members[2].type, MemberType::kCharDevice);
  EXPECT_EQ(walked.members[2].device_major, 4U);
  EXPECT_EQ(walked.members[2].device_minor, 64U);
  EXPECT_EQ(walked.members[3].type, MemberType::kBlockDevice);
  EXPECT_EQ(walked.members[4].type, MemberType::kFifo);
  EXPECT_EQ(walked.members[5].type, MemberType::kDirectory);
  EXPECT_EQ(walked.members[6].type, MemberType::kContiguous);
  EXPECT_EQ(walked.members[7].type, MemberType::kRegular) << "POSIX: unknown types are regular files";
  EXPECT_EQ(walked.members[7].logical_size, 2U);
}

TEST(Walk, V7HasNoNamesOfOwnersAndNoPrefix) {
  TarWriter writer;
  TarHeader header = TarWriter::Named("dir/");
  header.dialect = TarDialect::kV7;
  header.type = '\0';
  header.patches = {{345, "no prefix"}};
  writer.Add(header);
  const Member member = Only(&writer);
  EXPECT_EQ(member.name, "dir/");
  EXPECT_EQ(member.type, MemberType::kDirectory) << "a file cannot end in a slash";
  EXPECT_EQ(member.user_name, "");
}

TEST(Walk, PrefixIsTheDirectoryPartInUstarOnly) {
  TarHeader header = TarWriter::Named(std::string(100, 'n'));
  header.prefix = std::string(155, 'p');
  TarWriter ustar;
  ustar.AddFile(header, "x");
  EXPECT_EQ(Only(&ustar).name, std::string(155, 'p') + "/" + std::string(100, 'n'));

  header.dialect = TarDialect::kGnu;
  header.patches = {{345, "14130613450\0"s}, {357, "14130613451\0"s}};  // atime, ctime
  TarWriter gnu;
  gnu.AddFile(header, "x");
  EXPECT_EQ(Only(&gnu).name, std::string(100, 'n'));
}

TEST(Walk, NamesAreBytes) {
  TarWriter writer;
  writer.AddFile("caf\xe9 \\ \x01", "x");
  EXPECT_EQ(Only(&writer).name, "caf\xe9 \\ \x01");
}

TEST(Walk, LargeIdsAndTimesComeInBase256) {
  TarWriter writer;
  TarHeader header;
  header.uid = 4'000'000'000;
  header.gid = 3'000'000;
  header.patches = {{136, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"s}};
  writer.AddFile(header, "x");
  const Member member = Only(&writer);
  EXPECT_EQ(member.uid, 4'000'000'000U);
  EXPECT_EQ(member.gid, 3'000'000U);
  EXPECT_EQ(member.mtime, -1);
}

TEST(Walk, BlankNumbersAreZero) {
  TarWriter writer;
  TarHeader header;
  header.patches = {{108, "        "}, {116, std::string(8, '\0')}, {124, std::string(12, '\0')}};
  writer.Add(header);
  const Member member = Only(&writer);
  EXPECT_EQ(member.uid, 0U);
  EXPECT_EQ(member.gid, 0U);
  EXPECT_EQ(member.logical_size, 0U);
}

TEST(Walk, AnOwnerThatIsNoNumberIsNobodyNeverRoot) {
  TarWriter writer;
  TarHeader header;
  header.patches = {{108, "nobody!\0"s}};
  writer.AddFile(header, "x");
  const Walked walked = WalkBytes(writer.Finish());
  EXPECT_THAT(walked.Codes(), ElementsAre("warning BAD_NUMBER@0"));
  EXPECT_EQ(walked.members.at(0).uid, 4294967295U);
}

TEST(Walk, PaxReplacesTheHeader) {
  TarWriter writer;
  writer.AddPax(Record("path", "long/name") + Record("uid", "5000000") + Record("gid", "6") +
                Record("uname", "u2") + Record("gname", "g2") + Record("mtime", "-1.5") +
                Record("size", "3") + Record("SCHILY.xattr.user.k", "v") + Record("comment", "nothing") +
                Record("hdrcharset", "BINARY"));
  TarHeader header = TarWriter::Named("short");
  header.size = 0;
  writer.Add(header);
  writer.AddData("abc");
  const Member member = Only(&writer);
  EXPECT_EQ(member.name, "long/name");
  EXPECT_EQ(member.uid, 5000000U);
  EXPECT_EQ(member.gid, 6U);
  EXPECT_EQ(member.user_name, "u2");
  EXPECT_EQ(member.group_name, "g2");
  EXPECT_EQ(member.mtime, -2);
  EXPECT_EQ(member.mtime_ns, 500'000'000U);
  EXPECT_EQ(member.logical_size, 3U);
  EXPECT_EQ(member.header_offset, 0U);
  EXPECT_EQ(member.data_offset, 1536U);
  EXPECT_THAT(member.xattrs, ElementsAre(Pair("user.k", "v")));
}

TEST(Walk, PaxIsForOneMemberOnly) {
  TarWriter writer;
  writer.AddPax(Record("path", "one") + Record("SCHILY.xattr.user.k", "v"));
  writer.AddFile("x", "1");
  writer.AddFile("two", "2");
  const Walked walked = WalkBytes(writer.Finish());
  EXPECT_THAT(walked.Names(), ElementsAre("one", "two"));
  EXPECT_THAT(walked.members[1].xattrs, IsEmpty());
}

TEST(Walk, SeveralPaxHeadersAddUp) {
  TarWriter writer;
  writer.AddPax(Record("path", "one") + Record("mtime", "1"));
  writer.AddPax(Record("mtime", "5"), 'X');  // Solaris spells it X
  writer.AddFile("x", "1");
  const Member member = Only(&writer);
  EXPECT_EQ(member.name, "one");
  EXPECT_EQ(member.mtime, 5);
}

TEST(Walk, AThousandExtendedHeadersAreNoRecursion) {
  TarWriter writer;
  for (int i = 0; i < 1000; ++i) writer.AddPax(Record("path", std::to_string(i)));
  writer.AddFile("x", "1");
  EXPECT_EQ(Only(&writer).name, "999");
}

TEST(Walk, GlobalRecordsHoldUntilReplacedAndOwnOnesWin) {
  TarWriter writer;
  writer.AddPax(Record("uid", "1") + Record("mtime", "7"), 'g');
  writer.AddFile("a", "1");
  writer.AddPax(Record("uid", "2"));
  writer.AddFile("b", "1");
  writer.AddPax(Record("uid", ""), 'x');
  writer.AddFile("c", "1");
  writer.AddPax(Record("uid", "3"), 'g');
  writer.AddFile("d", "1");
  const Walked walked = WalkBytes(writer.Finish());
  ASSERT_THAT(walked.Names(), ElementsAre("a", "b", "c", "d"));
  EXPECT_EQ(walked.members[0].uid, 1U);
  EXPECT_EQ(walked.members[1].uid, 2U);
  EXPECT_EQ(walked.members[2].uid, 1000U) << "an empty value takes the global one back: the header counts";
  EXPECT_EQ(walked.members[3].uid, 3U);
  EXPECT_EQ(walked.members[3].mtime, 7);
}

TEST(Walk, AGlobalHeaderNeedsNoMemberAndMayNameOne) {
  TarWriter alone;
  alone.AddPax(Record("comment", "commit"), 'g');
  EXPECT_THAT(WalkBytes(alone.Finish()).Codes(), IsEmpty());
  TarWriter named;
  named.AddPax(Record("path", "global-name"), 'g');
  named.AddFile("a", "1");
  EXPECT_EQ(Only(&named).name, "global-name");
}

TEST(Walk, GnuLongNamesReplaceTheHeaderAndTheLaterWins) {
  TarWriter writer;
  writer.AddGnuLong('L', std::string(300, 'a'));
  writer.AddGnuLong('K', "first");
  writer.AddGnuLong('L', std::string(300, 'b') + "\0hidden"s);
  writer.AddGnuLong('K', std::string(200, 't'));
  writer.AddLink("x", '2', "short");
  const Member member = Only(&writer);
  EXPECT_EQ(member.name, std::string(300, 'b')) << "ends at its first NUL";
  EXPECT_EQ(member.link, std::string(200, 't'));
}

TEST(Walk, AnEmptyGnuLongNameLeavesTheHeadersOwn) {
  TarWriter writer;
  writer.AddGnuLong('L', "");
  writer.AddFile("f", "x");
  EXPECT_EQ(Only(&writer).name, "f");
}

TEST(Walk, PaxPathBeatsGnuLongNameInEitherOrder) {
  TarWriter gnu_first;
  gnu_first.AddGnuLong('L', "gnu name");
  gnu_first.AddPax(Record("path", "pax-name"));
  gnu_first.AddFile("f", "x");
  EXPECT_EQ(Only(&gnu_first).name, "pax-name");
  TarWriter pax_first;
  pax_first.AddPax(Record("path", "pax-name") + Record("size", "5"));
  pax_first.AddGnuLong('L', "gnu name");
  TarHeader header = TarWriter::Named("f");
  pax_first.Add(header);
  pax_first.AddData("12345");
  const Member member = Only(&pax_first);
  EXPECT_EQ(member.name, "pax-name");
  EXPECT_EQ(member.logical_size, 5U) << "the pax size is the file's, not the L header's";
}

TEST(Walk, TheSlashThatMakesADirectoryIsTheOneOfTheRealName) {
  TarWriter writer;
  writer.AddGnuLong('L', std::string(99, 'd') + "/file");
  writer.AddFile(std::string(99, 'd') + "/", "x");
  const Member member = Only(&writer);
  EXPECT_EQ(member.type, MemberType::kRegular);
  EXPECT_EQ(member.logical_size, 1U);
}

TEST(Walk, SizesOfMembersWithoutDataAreNotBelieved) {
  for (const char type : {'1', '2', '3', '4', '5', '6'}) {
    TarWriter writer;
    writer.AddFile("target", "t");
    TarHeader header = TarWriter::Named("m");
    header.type = type;
    header.link = "target";
    header.size = 1024;
    writer.Add(header);
    writer.AddFile("next", "n");
    writer.AddFile("last", "l");
    const Walked walked = WalkBytes(writer.Finish());
    EXPECT_THAT(walked.Names(), ElementsAre("target", "m", "next", "last")) << type;
    EXPECT_THAT(walked.Codes(), IsEmpty()) << type;
    EXPECT_EQ(walked.members[1].stored_size, 0U);
  }
}

TEST(Walk, AFileWithATrailingSlashIsADirectoryWithoutData) {
  TarWriter writer;
  TarHeader header = TarWriter::Named("owo1/");
  header.size = 1;
  writer.Add(header);
  writer.AddDirectory("owo2/");
  const Walked walked = WalkBytes(writer.Finish());
  EXPECT_THAT(walked.Names(), ElementsAre("owo1/", "owo2/"));
  EXPECT_EQ(walked.members[0].type, MemberType::kDirectory);
}

TEST(Walk, HardLinksWithDataAreSteppedOver) {
  TarWriter writer;
  writer.AddFile("a", "contents!");
  TarHeader header = TarWriter::Named("b");
  header.type = '1';
  header.link = "a";
  writer.AddFile(header, "contents!");
  writer.AddFile("c", "x");
  const Walked walked = WalkBytes(writer.Finish());
  ASSERT_THAT(walked.Names(), ElementsAre("a", "b", "c"));
  EXPECT_EQ(walked.members[1].stored_size, 9U);
  EXPECT_EQ(walked.members[1].logical_size, 0U);
  EXPECT_THAT(walked.Codes(), IsEmpty());
}

TEST(Walk, APaxSizeRecordSaysThatAHardLinkHasData) {
  TarWriter inner;
  inner.AddFile("inner", "i");
  TarWriter writer;
  writer.AddFile("a", inner.bytes());
  writer.AddPax(Record("size", std::to_string(inner.size())));
  TarHeader header = TarWriter::Named("b");
  header.type = '1';
  header.link = "a";
  writer.AddFile(header, inner.bytes());
  writer.AddFile("c", "x");
  EXPECT_THAT(WalkBytes(writer.Finish()).Names(), ElementsAre("a", "b", "c"))
      << "the inner tar's header is data";
}

TEST(Walk, ATarInsideATarIsBytes) {
  TarWriter inner;
  inner.AddFile("inner", "i");
  inner.Finish();
  TarWriter writer;
  writer.AddFile("inner.tar", inner.bytes());
  writer.AddFile("next", "n");
  EXPECT_THAT(WalkBytes(writer.Finish()).Names(), ElementsAre("inner.tar", "next"));
}

TEST(Walk, GnuDumpdirsAreDirectoriesWithData) {
  TarWriter writer;
  TarHeader header = TarWriter::Named("d/");
  header.dialect = TarDialect::kGnu;
  header.type = 'D';
  writer.AddFile(header, "Yfile\0\0"s);
  writer.AddFile("d/file", "x");
  const Walked walked = WalkBytes(writer.Finish());
  ASSERT_THAT(walked.Names(), ElementsAre("d/", "d/file"));
  EXPECT_EQ(walked.members[0].type, MemberType::kDirectory);
  EXPECT_EQ(walked.members[0].logical_size, 0U);
  EXPECT_EQ(walked.members[0].stored_size, 7U);
}

TEST(Walk, VolumeLabelsAndSolarisAclsAreNoMembers) {
  TarWriter writer;
  TarHeader label = TarWriter::Named("My volume");
  label.dialect = TarDialect::kGnu;
  label.type = 'V';
  writer.Add(label);
  TarHeader acl = TarWriter::Named("f");
  acl.type = 'A';
  writer.AddFile(acl, "1000004\0user::rw-\0"s);
  writer.AddFile("f", "x");
  EXPECT_EQ(Only(&writer).name, "f");
}

TEST(Walk, OldGnuRenameListsAreFilesWithAWarning) {
  TarWriter writer;
  TarHeader names = TarWriter::Named("././@LongName");
  names.dialect = TarDialect::kGnu;
  names.type = 'N';
  writer.AddFile(names, "Rename a to b\n");
  const Walked walked = WalkBytes(writer.Finish());
  EXPECT_EQ(walked.members.size(), 1U);
  EXPECT_THAT(walked.Codes(), ElementsAre("warning BAD_NAME@0"));
}

TEST(Walk, ConcatenatedArchivesAreReadOnRequestOnly) {
  TarWriter writer;
  writer.AddFile("a", "1");
  writer.AddZeroBlocks(20);
  const uint64_t second = writer.AddFile("b", "2");
  writer.Finish();
  const Walked plain = WalkBytes(writer.bytes());
  EXPECT_THAT(plain.Names(), ElementsAre("a"));
  EXPECT_THAT(plain.Codes(), ElementsAre("warning DATA_AFTER_EOF@" + std::to_string(second)));
  EXPECT_EQ(plain.end_offset, 2048U);
  WalkOptions options;
  options.ignore_zeros = true;
  const Walked on = WalkBytes(writer.bytes(), options);
  EXPECT_THAT(on.Names(), ElementsAre("a", "b"));
  EXPECT_THAT(on.Codes(), IsEmpty());
}

TEST(Walk, WindowsOfAnySizeGiveTheSame) {
  TarWriter writer;
  writer.AddPax(Record("path", std::string(3000, 'p')));
  writer.AddFile("a", std::string(5000, 'a'));
  writer.AddGnuLong('L', std::string(600, 'l'));
  writer.AddFile("b", std::string(10, 'b'));
  writer.AddLink("c", '1', "b");
  writer.Finish();
  const Walked once = WalkBytes(writer.bytes(), {}, 1 << 20);
  EXPECT_EQ(once.members.size(), 3U);
  for (const size_t step : {512U, 513U, 700U, 1024U, 4096U}) {
    const Walked other = WalkBytes(writer.bytes(), {}, step);
    EXPECT_EQ(other.Names(), once.Names()) << step;
    EXPECT_EQ(other.Codes(), once.Codes()) << step;
    EXPECT_EQ(other.end_offset, once.end_offset) << step;
  }
}

}  // namespace
}  // namespace tarn::tar
