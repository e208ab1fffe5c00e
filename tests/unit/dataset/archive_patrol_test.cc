#include "tarn/dataset/archive_patrol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <map>

#include "dataset/patrol_rules.h"
#include "tests/support/fake_generation.h"
#include "tests/support/fake_source.h"
#include "tests/support/pseudo_random.h"

namespace tarn::dataset {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing_support::FakeArchive;
using testing_support::FakeGeneration;
using testing_support::FakeSource;
using State = ArchiveVerdict::State;

constexpr int64_t kMtime = 1'000'000'000;

// ---- Rules ------------------------------------------------------------------------------------------------

class PatrolRulesTest : public testing::Test {
 protected:
  static Result<io::FileStat> Stat(uint64_t size, int64_t mtime, io::FileType type = io::FileType::kRegular) {
    return io::FileStat{type, {size, mtime, 5, 6}, {}};
  }
  static Sight Seen(Standing standing, io::FileIdentity identity) {
    return {.standing = standing, .source = 0, .found_at = "a.tar", .identity = identity, .found = "found"};
  }
  static std::optional<ArchiveVerdict> Before(State state, io::FileIdentity identity) {
    return ArchiveVerdict{.path = "a.tar",
                          .id = kId,
                          .state = state,
                          .found_at = "a.tar",
                          .identity = identity,
                          .since = 1,
                          .message = ""};
  }

  static constexpr ArchiveId kId{100, {1, 2}};
  const std::vector<io::FileIdentity> hints_ = {{100, 7, 1, 1}, {100, 8, 2, 2}};
};

TEST_F(PatrolRulesTest, SizeAndMtimeOfAnyHintAreAsPublished) {
  EXPECT_EQ(JudgeStat(Stat(100, 7), kId, hints_), Standing::kAsPublished);
  EXPECT_EQ(JudgeStat(Stat(100, 8), kId, hints_), Standing::kAsPublished);
  EXPECT_EQ(JudgeStat(Stat(100, 9), kId, hints_), Standing::kTouched);
  EXPECT_EQ(JudgeStat(Stat(101, 7), kId, hints_), Standing::kChanged);
  EXPECT_EQ(JudgeStat(Stat(100, 7, io::FileType::kDirectory), kId, hints_), Standing::kChanged);
}

TEST_F(PatrolRulesTest, OnlyWhatIsNotThereIsMissing) {
  for (const int error : {ENOENT, ENOTDIR}) {
    EXPECT_EQ(JudgeStat(Status::FromErrno(error, "look"), kId, hints_), Standing::kMissing) << error;
  }
  for (const int error : {EIO, ESTALE, ETIMEDOUT, EACCES, EHOSTDOWN}) {
    EXPECT_EQ(JudgeStat(Status::FromErrno(error, "look"), kId, hints_), Standing::kUnreadable) << error;
  }
}

TEST_F(PatrolRulesTest, WhatIsTouchedIsScrubbedUntilItsStatWasReadOnce) {
  const io::FileIdentity now{100, 9, 1, 1};
  const Ruling fresh = Rule(std::nullopt, kId, Seen(Standing::kTouched, now));
  EXPECT_EQ(fresh.verdict, Ruling::Verdict::kClear);
  EXPECT_TRUE(fresh.scrub);
  EXPECT_TRUE(fresh.touched);
  for (const State state : {State::kVerified, State::kChanged}) {
    const Ruling known = Rule(Before(state, now), kId, Seen(Standing::kTouched, now));
    EXPECT_EQ(known.verdict, Ruling::Verdict::kKeep);
    EXPECT_FALSE(known.scrub);
    EXPECT_TRUE(Rule(Before(state, {100, 9, 2, 1}), kId, Seen(Standing::kTouched, now)).scrub);
  }
}

TEST_F(PatrolRulesTest, ALookDoesNotOverruleWhatTheBytesSaid) {
  const io::FileIdentity now{100, 7, 1, 1};
  EXPECT_EQ(Rule(Before(State::kChanged, now), kId, Seen(Standing::kAsPublished, now)).verdict,
            Ruling::Verdict::kKeep);
  const Ruling replaced =
      Rule(Before(State::kChanged, {100, 7, 9, 9}), kId, Seen(Standing::kAsPublished, now));
  EXPECT_EQ(replaced.verdict, Ruling::Verdict::kClear);
  EXPECT_TRUE(replaced.scrub);
  const Ruling unreadable = Rule(Before(State::kUnreadable, now), kId, Seen(Standing::kAsPublished, now));
  EXPECT_EQ(unreadable.verdict, Ruling::Verdict::kKeep);
  EXPECT_TRUE(unreadable.scrub);
  EXPECT_EQ(Rule(Before(State::kVerified, now), kId, Seen(Standing::kAsPublished, now)).verdict,
            Ruling::Verdict::kClear);
}

TEST_F(PatrolRulesTest, ARoundGoesEvenlyOverItsPeriod) {
  ScrubPace pace{.round_started = 1000, .period = 100, .done = 0, .total = 500};
  EXPECT_LE(BytesBehind(pace, 1000), 0);
  EXPECT_EQ(BytesBehind(pace, 1010), 50);
  pace.done = 250;
  EXPECT_EQ(SecondsUntilDue(pace, 1010), 40);
  EXPECT_EQ(SecondsUntilDue(pace, 1051), 0);
  EXPECT_EQ(BytesBehind(pace, 900), -250);  // a clock that was set back
  EXPECT_EQ(BytesBehind(pace, 5000), 250);  // and nothing beyond the round
}

// ---- The patrol -------------------------------------------------------------------------------------------

class ArchivePatrolTest : public testing::Test {
 protected:
  ArchivePatrolTest() {
    options_.sources = {source_};
    options_.lookers = 2;
    options_.open =
        [this](const LiveGeneration& name) -> Result<std::shared_ptr<const index::GenerationReader>> {
      ++opened_;
      const auto found = generations_.find(name);
      if (found == generations_.end()) return Status(ErrorCode::kNotFound, "gone");
      return std::shared_ptr<const index::GenerationReader>(found->second);
    };
    options_.report = [this](const PatrolEvent& event) { events_.push_back(event); };
    options_.now = [this] { return now_; };
    options_.seconds_now = [this] { return std::chrono::duration_cast<seconds>(now_).count(); };
  }

  // An archive of `bytes` or more at img/<path> of the source.
  FakeArchive Put(const std::string& path, size_t bytes, uint64_t seed = 1) {
    FakeArchive archive;
    archive.AddFile("member", support::PseudoRandom(seed).Bytes(bytes));
    archive.Finish();
    source_->Put("img/" + path, archive.bytes, kMtime);
    return archive;
  }
  // Publishes `archives` as img@`number`, with the stats that their files have now.
  void Publish(uint32_t number, const std::map<std::string, FakeArchive>& archives,
               index::ManifestKind kind = index::ManifestKind::kArchive) {
    index::GenerationRows rows;
    rows.facts.dataset = "img";
    rows.facts.source_path = "img";
    for (const auto& [path, archive] : archives) {
      index::ManifestRow row;
      row.number = static_cast<uint32_t>(rows.manifest.size()) + 1;
      row.path = path;
      row.kind = kind;
      row.id = archive.id;
      row.hint = {archive.bytes.size(), kMtime, 1, 1};
      rows.manifest.push_back(row);
    }
    auto generation = std::make_shared<FakeGeneration>(rows);
    for (const auto& [path, archive] : archives) generation->AddArchive(archive);
    generations_[{"img", number}] = generation;
  }
  ArchivePatrol Patrol() {
    ArchivePatrol patrol(options_, "uuid");
    for (const auto& [name, generation] : generations_) EXPECT_TRUE(patrol.Add(name).ok());
    return patrol;
  }
  // Steps, and lets the time pass that is to be waited, until `enough`.
  template <typename Enough>
  void Run(ArchivePatrol* patrol, const Enough& enough) {
    for (int steps = 0; steps < 1'000'000; ++steps) {
      const PatrolStep step = patrol->Step();
      if (!step.problem.ok()) problems_.push_back(step.problem.message());
      if (enough(step)) return;
      if (step.wait.count() > 0) ++waits_;
      now_ += step.wait;
    }
    FAIL() << "never came";
  }
  void LookAtAll(ArchivePatrol* patrol) {
    Run(patrol, [](const PatrolStep& step) { return step.look_round_ended; });
  }
  void ScrubAll(ArchivePatrol* patrol) {
    Run(patrol, [patrol](const PatrolStep&) { return patrol->ScrubDone(); });
  }
  // The one verdict there is.
  ArchiveVerdict Only(const ArchivePatrol& patrol) {
    const DatasetStates states = patrol.States("img");
    EXPECT_THAT(states.verdicts, SizeIs(1));
    return states.verdicts.empty() ? ArchiveVerdict() : states.verdicts[0];
  }

  const std::shared_ptr<FakeSource> source_ = std::make_shared<FakeSource>("/src");
  std::map<LiveGeneration, std::shared_ptr<FakeGeneration>> generations_;
  PatrolOptions options_;
  std::vector<PatrolEvent> events_;
  std::vector<std::string> problems_;
  int opened_ = 0;
  int waits_ = 0;
  nanoseconds now_ = seconds(1'800'000'000);
};

TEST_F(ArchivePatrolTest, AsPublishedThereIsNothingToSay) {
  Publish(1, {{"a.tar", Put("a.tar", 1000)}, {"b.tar", Put("b.tar", 2000, 2)}});
  ArchivePatrol patrol = Patrol();
  EXPECT_EQ(patrol.Totals(), (PatrolTotals{.files = 2, .unseen = 2}));
  LookAtAll(&patrol);
  EXPECT_EQ(patrol.Totals(), (PatrolTotals{.files = 2, .as_published = 2}));
  EXPECT_THAT(events_, IsEmpty());
  const DatasetStates states = patrol.States("img");
  EXPECT_THAT(states.verdicts, IsEmpty());
  EXPECT_EQ(states.looked_at, options_.seconds_now());
  EXPECT_EQ(states.root_uuid, "uuid");
  EXPECT_EQ(source_->stats, 2);
}

TEST_F(ArchivePatrolTest, MissingIsSaidAndSoIsThatItIsBack) {
  const FakeArchive a = Put("a.tar", 1000);
  Publish(1, {{"a.tar", a}});
  source_->Remove("img/a.tar");
  ArchivePatrol patrol = Patrol();
  LookAtAll(&patrol);
  const ArchiveVerdict verdict = Only(patrol);
  EXPECT_EQ(verdict.state, State::kMissing);
  EXPECT_EQ(verdict.since, options_.seconds_now());
  EXPECT_THAT(verdict.message,
              AllOf(HasSubstr(a.id.ToString()), HasSubstr("found nothing at '/src/img/a.tar'")));
  LookAtAll(&patrol);
  EXPECT_EQ(Only(patrol).since, verdict.since);
  ASSERT_THAT(events_, SizeIs(1));
  source_->Put("img/a.tar", a.bytes, kMtime);
  LookAtAll(&patrol);
  ASSERT_THAT(events_, SizeIs(2));
  EXPECT_EQ(events_[1].kind, PatrolEvent::Kind::kAsPublished);
  EXPECT_THAT(patrol.States("img").verdicts, IsEmpty());
}

TEST_F(ArchivePatrolTest, WhatCannotBeLookedAtIsNeverMissing) {
  Publish(1, {{"a.tar", Put("a.tar", 1000)}});
  source_->Edit("img/a.tar", [](FakeSource::File* file) { file->open_errno = EIO; });
  ArchivePatrol patrol = Patrol();
  LookAtAll(&patrol);
  EXPECT_EQ(Only(patrol).state, State::kUnreadable);
  EXPECT_EQ(Only(patrol).found_at, "img/a.tar");
}

TEST_F(ArchivePatrolTest, AnotherSizeIsChanged) {
  Publish(1, {{"a.tar", Put("a.tar", 1000)}});
  source_->Put("img/a.tar", "short", kMtime);
  ArchivePatrol patrol = Patrol();
  LookAtAll(&patrol);
  EXPECT_EQ(Only(patrol).state, State::kChanged);
  EXPECT_EQ(Only(patrol).identity, source_->Identity("img/a.tar"));
  EXPECT_THAT(Only(patrol).message, HasSubstr("found 5 bytes at '/src/img/a.tar'"));
}

TEST_F(ArchivePatrolTest, ThePathAloneIsAPlaceToo) {
  const FakeArchive a = Put("a.tar", 1000);
  Publish(1, {{"a.tar", a}});
  source_->Remove("img/a.tar");
  source_->Put("a.tar", a.bytes, kMtime);
  ArchivePatrol patrol = Patrol();
  LookAtAll(&patrol);
  EXPECT_THAT(patrol.States("img").verdicts, IsEmpty());
}

TEST_F(ArchivePatrolTest, TouchedIsScrubbedAtOnceAndVerified) {
  const FakeArchive b = Put("b.tar", 300'000, 2);
  Publish(1, {{"a.tar", Put("a.tar", 3'000'000)}, {"b.tar", b}});
  source_->Put("img/b.tar", b.bytes, kMtime + 1);
  ArchivePatrol patrol = Patrol();
  LookAtAll(&patrol);
  Run(&patrol, [&](const PatrolStep&) { return patrol.Totals().verified == 1; });
  // Long before its turn, and before the week is over.
  EXPECT_LT(options_.seconds_now(), 1'800'000'000 + 600);
  EXPECT_EQ(events_[0].kind, PatrolEvent::Kind::kTouched);
  EXPECT_TRUE(events_[0].will_be_scrubbed);
  const ArchiveVerdict verdict = Only(patrol);
  EXPECT_EQ(verdict.state, State::kVerified);
  EXPECT_EQ(verdict.identity, source_->Identity("img/b.tar"));
  const int reads = source_->reads;
  LookAtAll(&patrol);
  LookAtAll(&patrol);
  EXPECT_LE(source_->reads - reads, 1);  // what the round of the week has to read, of the other one
}

TEST_F(ArchivePatrolTest, TouchedIsScrubbedAtOnceAlsoWhenTheRoundOfTheWeekIsAtIt) {
  const FakeArchive a = Put("a.tar", 20'000'000);
  Publish(1, {{"a.tar", a}});
  ArchivePatrol patrol = Patrol();
  LookAtAll(&patrol);
  Run(&patrol, [&](const PatrolStep&) { return source_->read_bytes > 0; });
  ASSERT_LT(source_->read_bytes, a.bytes.size()) << "it is in the middle of it";
  source_->Put("img/a.tar", a.bytes, kMtime + 1);
  const int64_t touched = options_.seconds_now();
  Run(&patrol, [&](const PatrolStep&) { return patrol.Totals().verified == 1; });
  EXPECT_LT(options_.seconds_now(), touched + 2 * options_.interval.count());
}

TEST_F(ArchivePatrolTest, WithoutAScrubTouchedStaysTouched) {
  options_.scrub_period = seconds(0);
  const FakeArchive a = Put("a.tar", 1000);
  Publish(1, {{"a.tar", a}});
  source_->Put("img/a.tar", a.bytes, kMtime + 1);
  ArchivePatrol patrol = Patrol();
  LookAtAll(&patrol);
  LookAtAll(&patrol);
  EXPECT_EQ(patrol.Totals(), (PatrolTotals{.files = 1, .touched = 1}));
  ASSERT_THAT(events_, SizeIs(1));
  EXPECT_FALSE(events_[0].will_be_scrubbed);
  EXPECT_EQ(source_->reads, 0);
}

TEST_F(ArchivePatrolTest, SizeAndMtimePutBackAreFoundByTheScrubWithChunkAndOffset) {
  FakeArchive a = Put("a.tar", 3'000'000);
  Publish(1, {{"a.tar", a}});
  a.bytes[2'000'000] ^= 1;
  source_->Put("img/a.tar", a.bytes, kMtime);
  ArchivePatrol patrol = Patrol();
  LookAtAll(&patrol);
  EXPECT_THAT(patrol.States("img").verdicts, IsEmpty());
  ScrubAll(&patrol);
  const ArchiveVerdict verdict = Only(patrol);
  EXPECT_EQ(verdict.state, State::kChanged);
  EXPECT_EQ(verdict.identity, source_->Identity("img/a.tar"));
  EXPECT_THAT(verdict.message, HasSubstr("chunk 15 (offset 1966080) of '/src/img/a.tar'"));
  // Looks see the stat that was published and know better.
  LookAtAll(&patrol);
  LookAtAll(&patrol);
  EXPECT_EQ(Only(patrol), verdict);
  EXPECT_THAT(events_, SizeIs(1));
}

TEST_F(ArchivePatrolTest, WhatIsRepairedIsScrubbedAgain) {
  FakeArchive a = Put("a.tar", 1000);
  const std::string good = a.bytes;
  Publish(1, {{"a.tar", a}});
  a.bytes[700] ^= 1;
  source_->Put("img/a.tar", a.bytes, kMtime);
  options_.scrub_paced = false;
  ArchivePatrol patrol = Patrol();
  ScrubAll(&patrol);
  ASSERT_EQ(Only(patrol).state, State::kChanged);
  LookAtAll(&patrol);
  source_->Put("img/a.tar", good, kMtime);
  const uint64_t read = source_->read_bytes;
  LookAtAll(&patrol);
  ScrubAll(&patrol);
  EXPECT_THAT(patrol.States("img").verdicts, IsEmpty());
  EXPECT_EQ(source_->read_bytes - read, good.size());
}

TEST_F(ArchivePatrolTest, WhatCannotBeReadIsTriedAgainWhereItFailed) {
  const FakeArchive a = Put("a.tar", 5'000'000);
  Publish(1, {{"a.tar", a}});
  options_.scrub_paced = false;
  ArchivePatrol patrol = Patrol();
  source_->Edit("img/a.tar", [](FakeSource::File* file) { file->read_errno = EIO; });
  ScrubAll(&patrol);
  EXPECT_EQ(Only(patrol).state, State::kUnreadable);
  LookAtAll(&patrol);
  source_->Edit("img/a.tar", [](FakeSource::File* file) { file->read_errno = 0; });
  LookAtAll(&patrol);
  ScrubAll(&patrol);
  EXPECT_THAT(patrol.States("img").verdicts, IsEmpty());
}

TEST_F(ArchivePatrolTest, AFileThatChangesUnderTheScrubIsLookedAtAgain) {
  const FakeArchive a = Put("a.tar", 3'000'000);
  Publish(1, {{"a.tar", a}});
  options_.scrub_paced = false;
  ArchivePatrol patrol = Patrol();
  int blocks = 0;
  Run(&patrol, [&](const PatrolStep& step) { return step.scrubbed && ++blocks == 1; });
  source_->Put("img/a.tar", a.bytes, kMtime + 7);  // by a rename: what is open stays
  ScrubAll(&patrol);
  EXPECT_EQ(Only(patrol).state, State::kVerified);
  EXPECT_EQ(Only(patrol).identity, source_->Identity("img/a.tar"));
}

TEST_F(ArchivePatrolTest, AMovedArchiveIsVerifiedWhereAnotherRowHasIt) {
  const FakeArchive a = Put("a.tar", 200'000);
  Publish(1, {{"a.tar", a}});
  source_->Remove("img/a.tar");
  source_->Put("img/moved.tar", a.bytes, kMtime);
  Publish(2, {{"moved.tar", a}});
  ArchivePatrol patrol = Patrol();
  LookAtAll(&patrol);
  Run(&patrol, [&](const PatrolStep&) { return patrol.Totals().verified == 1; });
  EXPECT_EQ(Only(patrol).path, "a.tar");
  EXPECT_EQ(Only(patrol).found_at, "img/moved.tar");
}

TEST_F(ArchivePatrolTest, AReplacedArchiveSaysWhichGenerationHasWhatIsThere) {
  Publish(1, {{"a.tar", Put("a.tar", 1000)}});
  Publish(2, {{"a.tar", Put("a.tar", 3000, 2)}});
  ArchivePatrol patrol = Patrol();
  EXPECT_EQ(patrol.Totals().files, 2U);
  LookAtAll(&patrol);
  EXPECT_THAT(Only(patrol).message, HasSubstr("that is what img@2 published here"));
}

TEST_F(ArchivePatrolTest, FilesOfSeveralGenerationsAreLookedAtOnce) {
  const FakeArchive a = Put("a.tar", 1000);
  for (const uint32_t number : {1U, 2U, 3U}) Publish(number, {{"a.tar", a}});
  ArchivePatrol patrol = Patrol();
  EXPECT_EQ(patrol.Totals().files, 1U);
  LookAtAll(&patrol);
  EXPECT_EQ(source_->stats, 1);
  patrol.Drop({"img", 1});
  patrol.Drop({"img", 3});
  EXPECT_EQ(patrol.Totals().files, 1U);
  EXPECT_THAT(patrol.Followed(), ElementsAre(LiveGeneration{"img", 2}));
  patrol.Drop({"img", 2});
  EXPECT_EQ(patrol.Totals(), PatrolTotals());
  EXPECT_THAT(patrol.Datasets(), IsEmpty());
}

TEST_F(ArchivePatrolTest, AGenerationThatCannotBeOpenedChangesNothing) {
  ArchivePatrol patrol = Patrol();
  EXPECT_EQ(patrol.Add({"img", 9}).code(), ErrorCode::kNotFound);
  EXPECT_THAT(patrol.Followed(), IsEmpty());
}

TEST_F(ArchivePatrolTest, QuarantinedFilesAreHeldAndNotLookedAt) {
  Publish(1, {{"bad.tar", Put("bad.tar", 1000)}}, index::ManifestKind::kQuarantined);
  source_->Remove("img/bad.tar");
  ArchivePatrol patrol = Patrol();
  LookAtAll(&patrol);
  EXPECT_EQ(source_->stats, 0);
  EXPECT_TRUE(patrol.Holds("img", "bad.tar"));
  EXPECT_FALSE(patrol.Holds("img", "good.tar"));
  EXPECT_FALSE(patrol.Holds("other", "bad.tar"));
}

TEST_F(ArchivePatrolTest, ChecksumsThatCannotBeReadAreAProblemOfTheIndex) {
  Publish(1, {{"a.tar", Put("a.tar", 1000)}});
  options_.scrub_paced = false;
  ArchivePatrol patrol = Patrol();
  generations_.clear();
  ScrubAll(&patrol);
  EXPECT_THAT(problems_, ElementsAre("gone"));
  EXPECT_THAT(patrol.States("img").verdicts, IsEmpty());
}

// ---- Pace -------------------------------------------------------------------------------------------------

TEST_F(ArchivePatrolTest, LooksKeepTheRate) {
  std::map<std::string, FakeArchive> archives;
  for (int i = 0; i < 200; ++i) {
    archives["n" + std::to_string(i)] = Put("n" + std::to_string(i), 10, static_cast<uint64_t>(i));
  }
  Publish(1, archives);
  options_.stats_per_second = 20;
  options_.scrub_period = seconds(0);
  ArchivePatrol patrol = Patrol();
  const nanoseconds start = now_;
  LookAtAll(&patrol);
  EXPECT_EQ(source_->stats, 200);
  EXPECT_GE(now_ - start, milliseconds(9'700));
  EXPECT_LE(now_ - start, milliseconds(10'100));
  EXPECT_GE(waits_, 90);
  EXPECT_EQ(patrol.RoundTooLong(), std::nullopt);
}

TEST_F(ArchivePatrolTest, LaterRoundsGoEvenlyOverTheInterval) {
  std::map<std::string, FakeArchive> archives;
  for (int i = 0; i < 100; ++i) {
    archives["n" + std::to_string(i)] = Put("n" + std::to_string(i), 10, static_cast<uint64_t>(i));
  }
  Publish(1, archives);
  options_.scrub_period = seconds(0);
  ArchivePatrol patrol = Patrol();
  const nanoseconds start = now_;
  LookAtAll(&patrol);
  EXPECT_LE(now_ - start, seconds(1));
  Run(&patrol, [&](const PatrolStep&) { return source_->stats == 150; });
  EXPECT_GE(now_ - start, seconds(300 + 146));
  EXPECT_LE(now_ - start, seconds(300 + 151));
  LookAtAll(&patrol);
  EXPECT_EQ(source_->stats, 200);
  EXPECT_LE(now_ - start, seconds(601));
}

TEST_F(ArchivePatrolTest, ARoundThatCannotBeDoneInTheIntervalIsKnown) {
  std::map<std::string, FakeArchive> archives;
  for (int i = 0; i < 100; ++i) {
    archives["n" + std::to_string(i)] = Put("n" + std::to_string(i), 10, static_cast<uint64_t>(i));
  }
  Publish(1, archives);
  options_.stats_per_second = 10;
  options_.interval = seconds(5);
  EXPECT_EQ(Patrol().RoundTooLong(), seconds(10));
}

TEST_F(ArchivePatrolTest, TheScrubKeepsItsRateAlsoForWhatIsTouched) {
  const FakeArchive a = Put("a.tar", 20 << 20);
  Publish(1, {{"a.tar", a}});
  source_->Put("img/a.tar", a.bytes, kMtime + 1);
  options_.scrub_bytes_per_second = 2 << 20;
  ArchivePatrol patrol = Patrol();
  const nanoseconds start = now_;
  Run(&patrol, [&](const PatrolStep&) { return patrol.Totals().verified == 1; });
  // 20 MiB at 2 MiB a second, of which the first block and a tenth of a second's worth come for nothing.
  EXPECT_GE(now_ - start, milliseconds(9'300));
  EXPECT_LE(now_ - start, milliseconds(10'600));
}

TEST_F(ArchivePatrolTest, TheScrubIsNotFasterThanARoundInThePeriodNeeds) {
  Publish(1, {{"a.tar", Put("a.tar", 5 << 20)}, {"b.tar", Put("b.tar", 5 << 20, 2)}});
  options_.scrub_period = seconds(1000);
  options_.interval = seconds(100'000);
  ArchivePatrol patrol = Patrol();
  const nanoseconds start = now_;
  Run(&patrol, [&](const PatrolStep&) { return source_->read_bytes >= 5 << 20; });
  EXPECT_GE(now_ - start, seconds(390));
  EXPECT_LE(now_ - start, seconds(510));
  ScrubAll(&patrol);
  EXPECT_LE(now_ - start, seconds(1002));
  // The next round begins when the period is over.
  const uint64_t read = source_->read_bytes;
  Run(&patrol, [&](const PatrolStep&) { return source_->read_bytes > read; });
  EXPECT_GE(now_ - start, seconds(1000));
}

TEST_F(ArchivePatrolTest, AfterARestartTheScrubGoesOnWhereItWas) {
  std::map<std::string, FakeArchive> archives;
  for (const char name : {'a', 'b', 'c', 'd'}) {
    archives[std::string(1, name)] = Put(std::string(1, name), 100'000, static_cast<uint64_t>(name));
  }
  Publish(1, archives);
  const uint64_t bytes = archives["a"].bytes.size();
  DatasetStates left;
  {
    ArchivePatrol patrol = Patrol();
    Run(&patrol, [&](const PatrolStep&) { return patrol.States("img").scrub.files == 2; });
    left = patrol.States("img");
  }
  EXPECT_EQ(left.scrub.done_path, "b");
  EXPECT_EQ(left.scrub.bytes, 2 * bytes);
  EXPECT_EQ(left.scrub.total_files, 4U);
  ArchivePatrol patrol = Patrol();
  patrol.Restore(left);
  const uint64_t read = source_->read_bytes;
  ScrubAll(&patrol);
  EXPECT_EQ(source_->read_bytes - read, 2 * bytes);
  EXPECT_EQ(patrol.States("img").scrub.files, 4U);
  EXPECT_EQ(patrol.States("img").scrub.round_started, left.scrub.round_started);
}

TEST_F(ArchivePatrolTest, AfterARestartWhatWasReadIsNotReadAgain) {
  const FakeArchive a = Put("a.tar", 1000);
  Publish(1, {{"a.tar", a}});
  source_->Put("img/a.tar", a.bytes, kMtime + 1);
  options_.scrub_paced = false;
  DatasetStates left;
  {
    ArchivePatrol patrol = Patrol();
    ScrubAll(&patrol);
    left = patrol.States("img");
  }
  events_.clear();
  const int reads = source_->reads;
  ArchivePatrol patrol = Patrol();
  patrol.Restore(left);
  now_ += seconds(50);
  LookAtAll(&patrol);
  EXPECT_EQ(Only(patrol), left.verdicts[0]);
  EXPECT_THAT(events_, IsEmpty());
  EXPECT_EQ(source_->reads, reads);
}

TEST_F(ArchivePatrolTest, StatesOfAnotherRootMeanNothing) {
  Publish(1, {{"a.tar", Put("a.tar", 1000)}});
  ArchivePatrol patrol = Patrol();
  DatasetStates other = patrol.States("img");
  other.root_uuid = "another";
  other.looked_at = 77;
  patrol.Restore(other);
  EXPECT_EQ(patrol.States("img").looked_at, 0);
}

}  // namespace
}  // namespace tarn::dataset
