// The commands that care for an index root, run in-process on datasets that `tarn-index publish` made.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "indexer/program.h"
#include "tarn/base/timestamp.h"
#include "tarn/dataset/archive_states.h"
#include "tarn/index/holds.h"
#include "tarn/index/index_root.h"
#include "tarn/io/file_facts.h"
#include "tests/support/scratch.h"

namespace tarn::indexer {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

struct Outcome {
  int code = 0;
  std::string out;
  std::string err;
};

class CareTest : public testing::Test {
 protected:
  CareTest() {
    scratch_.Write("files/train/1.txt", "one");
    scratch_.Write("files/train/2.txt", "two");
    scratch_.Write("files/val/3.txt", "three");
    scratch_.Write("data/set/labels.csv", "1,2,3\n");
    MakeTar("train.tar", "train");
    Publish();
  }

  // An archive of what is below files/<what>.
  void MakeTar(const std::string& name, const std::string& what) {
    const std::string command = "tar --sort=name --mtime=@1700000000 -C '" + (scratch_ / "files") +
                                "' -cf '" + (scratch_ / ("data/set/" + name)) + "' " + what;
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
  }

  static Outcome Run(std::vector<std::string> arguments, const std::string& input = "") {
    std::istringstream in(input);
    std::ostringstream out;
    std::ostringstream err;
    Outcome outcome;
    outcome.code = indexer::Run({.arguments = std::move(arguments),
                                 .in = &in,
                                 .out = &out,
                                 .err = &err,
                                 .environment = {{"HOME", "/nowhere"}}});
    outcome.out = out.str();
    outcome.err = err.str();
    return outcome;
  }
  Outcome Care(std::vector<std::string> arguments, const std::string& input = "") {
    arguments.insert(arguments.end(), {"--index", root_});
    return Run(std::move(arguments), input);
  }
  void Publish() {
    const Outcome outcome =
        Care({"publish", scratch_ / "data/set", "--name", "set", "--settle", "0", "--quiet"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
  }
  void PublishAnother() {
    MakeTar("val.tar", "val");
    Publish();
  }
  std::unique_ptr<index::IndexRoot> Root() { return std::move(*index::IndexRoot::Open(root_)); }

  support::Scratch scratch_;
  const std::string root_ = scratch_ / "index";
};

TEST_F(CareTest, EveryCommandHasHelpAndRefusesWhatItDoesNotKnow) {
  for (const char* const command : {"retire", "gc", "fsck", "du", "quota", "export", "import", "migrate"}) {
    const Outcome help = Run({command, "--help"});
    EXPECT_EQ(help.code, 0) << command;
    EXPECT_THAT(help.out, AllOf(HasSubstr("--index"), HasSubstr("--json"), HasSubstr("Exit codes:")))
        << command;
    EXPECT_EQ(Run({command, "--jsno"}).code, 2) << command;
    EXPECT_THAT(Run({"--help"}).out, HasSubstr(command));
  }
}

TEST_F(CareTest, ARootThatIsNotThereIsNamedWithWhereItWasNamed) {
  const Outcome outcome = Run({"fsck", "--index", scratch_ / "missing"});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("does not exist"), HasSubstr("--index")));
}

TEST_F(CareTest, RetireTakesAGenerationOutOfTheListingAndUndoBringsItBack) {
  PublishAnother();
  const Outcome retired = Care({"retire", "set@2", "--json"});
  EXPECT_EQ(retired.code, 0) << retired.err;
  EXPECT_EQ(json::parse(retired.out),
            json({{"dataset", "set"}, {"generation", 2}, {"retired", true}, {"latest", 1}}));
  EXPECT_EQ(*Root()->Latest("set"), 1U);
  EXPECT_EQ(Care({"retire", "set@2", "--undo"}).code, 0);
  EXPECT_EQ(*Root()->Latest("set"), 2U);
}

TEST_F(CareTest, RetireRefusesTheOnlyGenerationUnlessForced) {
  const Outcome refused = Care({"retire", "set@1"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("set@1 is the only generation"), HasSubstr("--force")));
  EXPECT_EQ(*Root()->Latest("set"), 1U);
  EXPECT_EQ(Care({"retire", "set@1", "--force"}).code, 0);
  EXPECT_EQ(Root()->Latest("set").code(), ErrorCode::kNotFound);
}

TEST_F(CareTest, RetireRefusesWhatIsHeldAlsoWhenForcedAndNamesTheHolder) {
  PublishAnother();
  const std::string holds = scratch_ / "holds";
  ASSERT_TRUE(index::Holds(holds).Put({"set", 1, "train-42", SecondsNow() + 3600, SecondsNow()}).ok());
  const Outcome refused = Care({"retire", "set@1", "--force", "--holds", holds});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("set@1 is held by job 'train-42' until"));
  EXPECT_EQ(Care({"retire", "set@1", "--holds", scratch_ / "unmounted"}).code, 3);
  EXPECT_FALSE(Root()->IsRetired("set", 1));
}

TEST_F(CareTest, RetireWantsTheGenerationInFull) {
  const Outcome bare = Care({"retire", "set"});
  EXPECT_EQ(bare.code, 2);
  EXPECT_THAT(bare.err, HasSubstr("set@N"));
  EXPECT_EQ(Care({"retire", "set@9"}).code, 3);
  EXPECT_THAT(Care({"retire", "sett@1"}).err, HasSubstr("did you mean 'set'"));
}

TEST_F(CareTest, GcFreesWhatARetiredGenerationTookAndKeepsTheRest) {
  PublishAnother();
  ASSERT_EQ(Care({"retire", "set@1"}).code, 0);
  EXPECT_THAT(Care({"gc"}).out, HasSubstr("kept set@1: retired"));
  const json dry = json::parse(Care({"gc", "--grace", "0", "--dry-run", "--json"}).out);
  EXPECT_EQ(dry["generations"], json::parse(R"([{"dataset": "set", "generation": 1}])"));
  const json done = json::parse(Care({"gc", "--grace", "0", "--json"}).out);
  EXPECT_EQ(done["generations"], dry["generations"]);
  EXPECT_EQ(done["freed_bytes"], dry["freed_bytes"]);
  EXPECT_GT(done["freed_bytes"], 0);
  EXPECT_EQ(done["bundles"], 0);  // both are named by the generation that is left
  EXPECT_FALSE(std::filesystem::exists(root_ + "/datasets/set/1"));
  EXPECT_EQ(Care({"fsck"}).code, 0);
}

TEST_F(CareTest, StatesOfAWatchDisturbNobody) {
  PublishAnother();
  const std::string du = Care({"du", "--json"}).out;
  const std::string fsck = Care({"fsck", "--json"}).out;
  dataset::DatasetStates states;
  states.dataset = "set";
  ASSERT_TRUE(dataset::WriteStates(root_, states).ok());
  // Left by one that was killed while it wrote.
  scratch_.Write("index/datasets/set/.STATES.12345-1", "half");
  EXPECT_EQ(*Root()->Generations("set"), (std::vector<uint32_t>{1, 2}));
  EXPECT_EQ(*Root()->Datasets(), std::vector<std::string>{"set"});
  const json before = json::parse(du);
  const json after = json::parse(Care({"du", "--json"}).out);
  EXPECT_EQ(before["datasets"], after["datasets"]);
  EXPECT_EQ(json::parse(Care({"fsck", "--json"}).out)["problems"], json::parse(fsck)["problems"]);
  EXPECT_EQ(Care({"fsck"}).code, 0);
  ASSERT_EQ(Care({"retire", "set@1"}).code, 0);
  EXPECT_EQ(Care({"gc", "--grace", "0"}).code, 0);
  EXPECT_EQ(*Root()->AllGenerations("set"), std::vector<uint32_t>{2});
  EXPECT_TRUE(dataset::ReadStates(root_, "set").ok());
  EXPECT_EQ(Care({"fsck"}).code, 0);
}

TEST_F(CareTest, GcRefusesASpanOfTimeWithoutAUnit) {
  const Outcome outcome = Care({"gc", "--grace", "7"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("--grace"), HasSubstr("7d")));
}

TEST_F(CareTest, NumbersGoOnAfterTheNewestWasRetiredAndCollected) {
  PublishAnother();
  ASSERT_EQ(Care({"retire", "set@2"}).code, 0);
  ASSERT_EQ(Care({"gc", "--grace", "0"}).code, 0);
  // The same content again: 2 is retired, so it is published anew, and never as 2.
  Publish();
  EXPECT_EQ(*Root()->Latest("set"), 3U);
  ASSERT_EQ(Care({"gc", "--grace", "0"}).code, 0);
  EXPECT_FALSE(std::filesystem::exists(root_ + "/datasets/set/2"));
  EXPECT_EQ(Care({"fsck"}).code, 0);
}

TEST_F(CareTest, FsckOfWhatPublishWroteIsCleanDigestIncluded) {
  PublishAnother();
  const Outcome outcome = Care({"fsck"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("clean: 3 bundles, 2 generations"), Not(HasSubstr("problem:"))));
}

TEST_F(CareTest, FsckNamesAFlippedByteWithItsFileAndExitsOne) {
  std::string bundle;
  ASSERT_TRUE(io::WalkFiles(root_ + "/bundles", [&](const std::string& path, const io::FileFacts&) {
                bundle = path;
                return Status::Ok();
              }).ok());
  std::string bytes = support::Scratch::Read(bundle);
  bytes[bytes.size() / 3] = static_cast<char>(bytes[bytes.size() / 3] ^ 1);
  scratch_.Write(bundle.substr(scratch_.path().size() + 1), bytes);
  const Outcome outcome = Care({"fsck"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("problem: '" + bundle), HasSubstr("help: "), HasSubstr("NOT clean")));
  const json report = json::parse(Care({"fsck", "--json"}).out);
  EXPECT_EQ(report["clean"], false);
  EXPECT_EQ(report["problems"][0]["path"], bundle);
}

TEST_F(CareTest, FsckOfADamagedFormatFileIsAProblemNotAnAccident) {
  scratch_.Write("index/format", "tarn-index-root\nformat 1\nfeatures 0\n");
  const Outcome outcome = Care({"fsck"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("format' is damaged"));
}

TEST_F(CareTest, DuSaysWhoTakesWhatAndOneGenerationAlone) {
  PublishAnother();
  const json usage = json::parse(Care({"du", "--json"}).out);
  ASSERT_EQ(usage["datasets"].size(), 1U);
  EXPECT_EQ(usage["datasets"][0]["dataset"], "set");
  EXPECT_EQ(usage["datasets"][0]["generations"].size(), 2U);
  EXPECT_EQ(usage["unreferenced_bundles"], 0);
  EXPECT_GE(usage["total_bytes"], usage["datasets"][0]["bytes"]);
  const json one = json::parse(Care({"du", "set@2", "--json"}).out);
  ASSERT_EQ(one["datasets"][0]["generations"].size(), 1U);
  EXPECT_EQ(one["datasets"][0]["generations"][0], usage["datasets"][0]["generations"][1]);
  EXPECT_THAT(Care({"du"}).out, AllOf(HasSubstr("set@1"), HasSubstr("staging"), HasSubstr("total")));
  EXPECT_THAT(Care({"du", "sett"}).err, HasSubstr("did you mean 'set'"));
}

TEST_F(CareTest, QuotaIsSetShownAndLifted) {
  EXPECT_THAT(Care({"quota", "set"}).out, HasSubstr("set: quota none, takes"));
  const json set = json::parse(Care({"quota", "set", "--bytes", "2M", "--json"}).out);
  EXPECT_EQ(set["quota_bytes"], 2 << 20);
  EXPECT_GT(set["bytes"], 0);
  EXPECT_THAT(Care({"du"}).out, HasSubstr("quota 2.0 MiB"));
  EXPECT_EQ(Care({"quota", "set", "--bytes", "much"}).code, 2);
  EXPECT_EQ(json::parse(Care({"quota", "set", "--bytes", "none", "--json"}).out)["quota_bytes"], nullptr);
}

TEST_F(CareTest, AnExportGoesThroughAFileOrAPipeToAnotherRoot) {
  PublishAnother();
  const std::string file = scratch_ / "set.tarngen";
  const Outcome exported = Care({"export", "set@2", file, "--json"});
  ASSERT_EQ(exported.code, 0) << exported.err;
  const json report = json::parse(exported.out);
  EXPECT_EQ(report["bytes"], std::filesystem::file_size(file));
  const Outcome streamed = Care({"export", "set@2", "-"});
  EXPECT_EQ(streamed.out, support::Scratch::Read(file));
  EXPECT_THAT(streamed.err, HasSubstr("exported set@2"));

  for (const bool piped : {false, true}) {
    const std::string other = scratch_ / (piped ? "piped" : "other");
    const Outcome imported = Run({"import", piped ? "-" : file, "--name", "copy", "--json", "--index", other},
                                 piped ? streamed.out : "");
    ASSERT_EQ(imported.code, 0) << imported.err;
    const json there = json::parse(imported.out);
    EXPECT_EQ(there["digest"], report["digest"]);
    EXPECT_EQ(there["generation"], 1);
    EXPECT_EQ(there["numbers_kept"], report["files"]);
    const Outcome checked = Run({"fsck", "--index", other});
    EXPECT_EQ(checked.code, 0) << checked.out;
  }
}

TEST_F(CareTest, AnExportNeverReplacesAFileAndLeavesNoHalfOne) {
  const std::string file = scratch_.Write("there", "mine");
  EXPECT_EQ(Care({"export", "set@1", file}).code, 3);
  EXPECT_EQ(support::Scratch::Read(file), "mine");
  std::filesystem::remove_all(root_ + "/bundles");
  EXPECT_EQ(Care({"export", "set@1", scratch_ / "half"}).code, 3);
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "half"));
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "half.partial"));
}

TEST_F(CareTest, AnImportOfADamagedFileSaysWhereAndPublishesNothing) {
  std::string bytes = Care({"export", "set@1", "-"}).out;
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  const Outcome outcome = Run({"import", scratch_.Write("bad", bytes), "--index", scratch_ / "other"});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("importing '"), HasSubstr("damaged at byte")));
  EXPECT_THAT(*(*index::IndexRoot::Open(scratch_ / "other"))->Datasets(), IsEmpty());
}

TEST_F(CareTest, MigrateOfTheNewestFormatHasNothingToDo) {
  const Outcome outcome = Care({"migrate"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("has format 1, the newest: nothing to do"));
  EXPECT_EQ(json::parse(Care({"migrate", "--dry-run", "--json"}).out)["steps"], json::array());
}

}  // namespace
}  // namespace tarn::indexer
