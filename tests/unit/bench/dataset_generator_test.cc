#include "bench/dataset_generator.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "bench/fio_job.h"
#include "bench/member_list.h"
#include "tarn/digest/archive_digester.h"
#include "tests/support/scratch.h"

namespace tarn::bench {
namespace {

class DatasetGeneratorTest : public testing::Test {
 protected:
  DatasetOptions Options(const std::string& name, TarFormat format = TarFormat::kGnu) const {
    DatasetOptions options;
    options.directory = scratch_ / name;
    options.archives = 2;
    options.members = 40;
    options.sizes = *SizeDistribution::Parse("0-3000/3:5k");
    options.format = format;
    options.seed = 9;
    return options;
  }
  std::string DigestOf(const std::string& directory) const {
    std::string text;
    for (const char* name : {"train-00000.tar", "train-00001.tar"})
      text += digest::DigestOf(support::Scratch::Read(directory + "/" + name)).ToHex();
    return text;
  }

  support::Scratch scratch_;
};

TEST_F(DatasetGeneratorTest, TheSameOptionsWriteTheSameBytesAndAnotherSeedOthers) {
  ASSERT_TRUE(GenerateDataset(Options("a"), nullptr).ok());
  ASSERT_TRUE(GenerateDataset(Options("b"), nullptr).ok());
  DatasetOptions other = Options("c");
  other.seed = 10;
  ASSERT_TRUE(GenerateDataset(other, nullptr).ok());
  EXPECT_EQ(DigestOf(scratch_ / "a"), DigestOf(scratch_ / "b"));
  EXPECT_NE(DigestOf(scratch_ / "a"), DigestOf(scratch_ / "c"));
}

// Pinned: figures of different versions of tarn-bench are measured on the same bytes.
TEST_F(DatasetGeneratorTest, GeneratedBytesStayTheSameForEver) {
  std::string bytes;
  GenerateContents(1, 2, 3, 100, &bytes);
  EXPECT_EQ(digest::DigestOf(bytes).ToHex(), "d72d248e07e452849a622b061942280b");
}

TEST_F(DatasetGeneratorTest, GnuTarExtractsWhatTheLooseFilesHold) {
  for (const TarFormat format : {TarFormat::kGnu, TarFormat::kPax, TarFormat::kUstar}) {
    for (const NameStyle names :
         {NameStyle::kImagenet, NameStyle::kRandom20, NameStyle::kNumbered, NameStyle::kDeep}) {
      const std::string name = std::string(TarFormatName(format)) + "-" + std::string(NameStyleName(names));
      DatasetOptions options = Options(name, format);
      options.names = names;
      options.loose = scratch_ / (name + "-loose");
      ASSERT_TRUE(GenerateDataset(options, nullptr).ok()) << name;
      const std::string extracted = scratch_ / (name + "-extracted");
      std::filesystem::create_directories(extracted + "/train-00000");
      std::filesystem::create_directories(extracted + "/train-00001");
      const std::string command = "for n in 0 1; do tar -xf " + options.directory + "/train-0000$n.tar -C " +
                                  extracted + "/train-0000$n || exit 1; done; diff -r " + extracted + " " +
                                  options.loose;
      EXPECT_EQ(std::system(command.c_str()), 0) << name;
    }
  }
}

TEST_F(DatasetGeneratorTest, AListOfTheArchivesLeadsToTheContents) {
  DatasetOptions options = Options("walk");
  options.sizes = *SizeDistribution::Parse("1-3000");
  const auto totals = GenerateDataset(options, nullptr);
  ASSERT_TRUE(totals.ok());
  const auto list = MemberList::FromArchives(scratch_ / "walk");
  ASSERT_TRUE(list.ok()) << list.status().message();
  ASSERT_EQ(list->targets().size(), totals->members);
  EXPECT_EQ(list->total_bytes(), totals->member_bytes);
  for (size_t i = 0; i < list->targets().size(); ++i) {
    const auto& target = list->targets()[i];
    std::string expected;
    GenerateContents(options.seed, i / options.members, i % options.members, target.size, &expected);
    const std::string archive = support::Scratch::Read(list->archives()[target.archive]);
    EXPECT_EQ(archive.substr(target.offset, target.size), expected) << list->PathOf(target);
  }
}

TEST_F(DatasetGeneratorTest, NothingIsOverwritten) {
  ASSERT_TRUE(GenerateDataset(Options("a"), nullptr).ok());
  EXPECT_EQ(GenerateDataset(Options("a"), nullptr).code(), ErrorCode::kAlreadyExists);
}

TEST_F(DatasetGeneratorTest, UstarRefusesANameThatFitsNoHeader) {
  std::string out;
  const std::string name(130, 'n');
  EXPECT_EQ(AppendTarHeader(TarFormat::kUstar, {.name = name}, &out).code(), ErrorCode::kUnsupported);
  EXPECT_TRUE(AppendTarHeader(TarFormat::kPax, {.name = name}, &out).ok());
  EXPECT_TRUE(AppendTarHeader(TarFormat::kGnu, {.name = name}, &out).ok());
}

TEST(FioJobTest, SharesAddUpToAHundredPercentAndAreWholePages) {
  MemberList list;
  const uint32_t archive = list.AddArchive("/data/a:b.tar");
  const uint32_t directory = list.AddDirectory("a");
  for (uint64_t i = 1; i <= 77; ++i) list.AddTarget(archive, directory, "x", 0, i * 1111);
  unsigned sum = 0;
  for (const SizeShare& share : SizeShares(list)) {
    EXPECT_EQ(share.bytes % 4096, 0U);
    sum += share.percent;
  }
  EXPECT_EQ(sum, 100U);
  const auto job = MakeFioJob(list, {});
  ASSERT_TRUE(job.ok());
  EXPECT_NE(job->find("filename=/data/a\\:b.tar\n"), std::string::npos);
  EXPECT_NE(job->find("numjobs=64"), std::string::npos);
}

TEST(FioJobTest, AFewFilesAreEnough) {
  MemberList list;
  list.AddTarget(list.AddArchive("/a.tar"), list.AddDirectory(""), "x", 0, 5000);
  const auto shares = SizeShares(list);
  ASSERT_EQ(shares.size(), 1U);
  EXPECT_EQ(shares[0].bytes, 8192U);
  EXPECT_EQ(shares[0].percent, 100U);
}

}  // namespace
}  // namespace tarn::bench
