#include "indexer/file_pass.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "indexer/classify.h"
#include "indexer/first_block.h"
#include "indexer/kill_point.h"
#include "indexer/stop_signal.h"
#include "tarn/base/bytes.h"
#include "tarn/digest/archive_digester.h"
#include "tarn/index/bundle_builder.h"
#include "tarn/io/filesystem.h"
#include "tarn/io/forward_reader.h"
#include "tarn/tar/header_walker.h"

namespace tarn::indexer {
namespace {

using Outcome = FilePassResult::Outcome;

FilePassResult LeftOutBecause(Status reason) {
  // A file that got shorter, or went away while it was open, is being worked on.
  const bool changed = reason.code() == ErrorCode::kChanged;
  FilePassResult result;
  result.outcome = changed ? Outcome::kUnsettled : Outcome::kLeftOut;
  result.reason = std::move(reason);
  return result;
}

FilePassResult Unsettled(std::string message) {
  return LeftOutBecause(Status(ErrorCode::kChanged, std::move(message)));
}

// What is wrong with an archive that somebody is still writing: it ends too early.
bool EndsTooEarly(const tar::Finding& finding) {
  switch (finding.code) {
    case tar::FindingCode::kTruncatedHeader:
    case tar::FindingCode::kTruncatedData:
    case tar::FindingCode::kTruncatedExtension:
    case tar::FindingCode::kMissingEof:
    case tar::FindingCode::kLoneZeroBlock:
      return true;
    default:
      return false;
  }
}

class FilePass {
 public:
  FilePass(const FilePassContext& context, const ScannedFile& scanned, const std::string& scratch)
      : context_(context),
        scanned_(scanned),
        scratch_(scratch),
        path_(io::JoinPath(context.dataset, scanned.path)) {}

  Result<FilePassResult> Run() {
    opened_at_ = context_.clock->Now();
    Result<std::unique_ptr<io::RandomAccessFile>> file = context_.source->Open(path_);
    if (!file.ok()) return LeftOutBecause(std::move(file).status());
    file_ = *std::move(file);
    Result<io::FileStat> before = file_->Stat();
    if (!before.ok()) return LeftOutBecause(std::move(before).status());
    before_ = *before;
    size_ = before_.identity.size;

    io::StreamOptions stream{.read_bytes = context_.options.read_bytes,
                             .depth = context_.options.depth,
                             .buffers = context_.buffers};
    stream.before_read = [this](size_t bytes) {
      return context_.throttle != nullptr ? context_.throttle->BeforeRead(bytes) : StopSignal::Check();
    };
    if (context_.throttle != nullptr) {
      stream.after_read = [this](size_t bytes, std::chrono::nanoseconds took) {
        context_.throttle->AfterRead(bytes, took);
      };
    }
    io::StreamReader reader(file_.get(), size_, std::move(stream), [this](std::span<const std::byte> bytes) {
      digester_.Update(bytes);
      context_.progress->AddBytes(bytes.size());
    });
    FileClass file_class;
    if (!IsLooseByName(scanned_.path, *context_.selection)) {
      const auto front = reader.Window(0, kFirstBlockBytes);
      TARN_RETURN_IF_ERROR(FromSource(front.status()));
      if (!source_failure_.ok()) return LeftOutBecause(std::move(source_failure_));
      file_class = ClassifyBlock(front->first(std::min(front->size(), kFirstBlockBytes)), scanned_.path,
                                 *context_.selection);
    }
    if (file_class.finding) result_.findings.push_back(*file_class.finding);
    TARN_RETURN_IF_ERROR(file_class.is_archive ? ReadArchive(&reader) : ReadToEnd(&reader));
    if (!source_failure_.ok()) return LeftOutBecause(std::move(source_failure_));
    return std::move(result_);
  }

 private:
  // Keeps the failure of the source apart from those of the index root, which end the publish.
  Status FromSource(Status status) {
    if (status.ok() || status.code() == ErrorCode::kCancelled) return status;
    source_failure_ = std::move(status);
    return Status::Ok();
  }

  Status ReadToEnd(io::StreamReader* reader) {
    TARN_RETURN_IF_ERROR(FromSource(reader->Finish()));
    if (!source_failure_.ok() || !StillTheSame()) return Status::Ok();
    const digest::ArchiveDigester::Sum sum = digester_.Finish();
    FillIn(sum.id, index::ManifestKind::kLooseFile);
    KillPoint("archive-read");
    if (Reuse(sum.id, /*as_archive=*/false)) return Remember();
    const std::string staged = context_.batch->NewPath();
    TARN_ASSIGN_OR_RETURN(result_.file.facts,
                          index::WriteLooseBundle(sum.id, sum.chunks, staged, /*sync=*/false));
    KillPoint("bundle-written");
    return context_.batch->Add({sum.id, staged, /*replace=*/damaged_bundle_, Line()});
  }

  Status ReadArchive(io::StreamReader* reader) {
    tar::FindingList findings;
    index::BundleBuilder builder(
        index::BundleOptions{
            .scratch_directory = scratch_, .memory_bytes = context_.options.memory_bytes, .sync = false},
        &findings);
    tar::HeaderWalker walker(reader, &findings);
    TARN_RETURN_IF_ERROR(Walk(&walker, &builder));
    if (source_failure_.ok()) TARN_RETURN_IF_ERROR(FromSource(reader->Finish()));
    if (!source_failure_.ok() || !StillTheSame() || !IsWholeOrOld(findings)) return Status::Ok();
    const digest::ArchiveDigester::Sum sum = digester_.Finish();
    FillIn(sum.id, index::ManifestKind::kArchive);
    KillPoint("archive-read");
    if (Reuse(sum.id, /*as_archive=*/true)) {
      TARN_RETURN_IF_ERROR(Remember());
    } else {
      const std::string staged = context_.batch->NewPath();
      TARN_ASSIGN_OR_RETURN(result_.file.facts,
                            builder.Finish(sum.id, sum.chunks, walker.end_offset(), staged));
      KillPoint("bundle-written");
      // Always in the place of what is there: that may be the bundle of the same bytes as a loose file.
      TARN_RETURN_IF_ERROR(context_.batch->Add({sum.id, staged, /*replace=*/true, Line()}));
    }
    result_.findings = findings.kept();
    return Status::Ok();
  }

  Status Walk(tar::HeaderWalker* walker, index::BundleBuilder* builder) {
    constexpr uint64_t kMembersPerCount = 256;
    tar::Member member;
    uint64_t uncounted = 0;
    for (;;) {
      Result<bool> more = walker->Next(&member);
      if (!more.ok()) return FromSource(std::move(more).status());
      if (!*more) break;
      Status added = builder->AddMember(member);
      // More members than can be numbered: a property of the archive, which is then not shown.
      if (added.code() == ErrorCode::kUnsupported) return FromSource(std::move(added));
      TARN_RETURN_IF_ERROR(added);
      if (++uncounted == kMembersPerCount) context_.progress->AddMembers(std::exchange(uncounted, 0));
    }
    context_.progress->AddMembers(uncounted);
    return Status::Ok();
  }

  // Whether the path still leads to the same, untouched file. Otherwise the result says so.
  bool StillTheSame() {
    const Result<io::FileStat> open_file = file_->Stat();
    // Opened again: that is when an NFS client asks its server, a stat may be answered from its cache.
    const Result<std::unique_ptr<io::RandomAccessFile>> again = context_.source->Open(path_);
    const Result<io::FileStat> at_path = again.ok() ? (*again)->Stat() : Result<io::FileStat>(again.status());
    if (at_path.ok() && open_file.ok() && open_file->identity == before_.identity &&
        at_path->identity == before_.identity) {
      return true;
    }
    if (at_path.code() == ErrorCode::kNotFound) {
      result_ = LeftOutBecause(at_path.status());
    } else {
      result_ = Unsettled("'" + file_->name() + "' was changed while it was read");
    }
    return false;
  }

  // An archive that ends too early while it is young is still being written, also when it is cut between two
  // members and every byte of it is right.
  bool IsWholeOrOld(const tar::FindingList& findings) {
    const int64_t changed = std::max(before_.identity.mtime_ns, before_.identity.ctime_ns);
    if (context_.clock->Now() - changed >= context_.options.settle_ns) return true;
    const auto cut = std::find_if(findings.kept().begin(), findings.kept().end(), EndsTooEarly);
    if (cut == findings.kept().end()) return true;
    result_ =
        Unsettled("'" + file_->name() + "' has no end yet (" + std::string(tar::FindingCodeName(cut->code)) +
                  " at offset " + std::to_string(cut->offset) + ") and was changed a short time ago");
    return false;
  }

  void FillIn(const ArchiveId& id, index::ManifestKind kind) {
    dataset::PublishedFile& file = result_.file;
    file.path = scanned_.path;
    file.kind = kind;
    file.id = id;
    file.hint = before_.identity;
    result_.identity = before_.identity;
    if (!IsTrusted(before_.identity, opened_at_)) file.hint.ctime_ns = 0;
    file.access = before_.access;
  }

  // What the journal is to know of the file: nothing when its hint cannot be trusted.
  std::optional<JournalLine> Line() const {
    if (result_.file.hint.ctime_ns == 0) return std::nullopt;
    return JournalLine{result_.file.path, result_.file.hint, result_.file.id};
  }

  // For a file whose bundle is there.
  Status Remember() {
    const std::optional<JournalLine> line = Line();
    return line ? context_.journal->Add(*line) : Status::Ok();
  }

  // Takes the bundle that the root has for these bytes, if it is whole and, for an archive, has its members.
  bool Reuse(const ArchiveId& id, bool as_archive) {
    if (!context_.root->HasBundle(id)) return false;
    const Result<index::ArchiveFacts> facts = index::VerifyBundle(context_.root->BundlePath(id), id);
    damaged_bundle_ = !facts.ok();
    if (!facts.ok() || (as_archive && !facts->is_tar)) return false;
    result_.file.facts = *facts;
    result_.bundle_reused = true;
    return true;
  }

  const FilePassContext& context_;
  const ScannedFile& scanned_;
  const std::string& scratch_;
  const std::string path_;  // in the source
  int64_t opened_at_ = 0;   // by the server's clock
  std::unique_ptr<io::RandomAccessFile> file_;
  io::FileStat before_;
  uint64_t size_ = 0;
  digest::ArchiveDigester digester_;
  Status source_failure_;
  bool damaged_bundle_ = false;
  FilePassResult result_;
};

}  // namespace

bool IsTrusted(const io::FileIdentity& identity, int64_t opened_at) {
  constexpr int64_t kSecond = 1'000'000'000;
  const bool whole_seconds = identity.ctime_ns % kSecond == 0;
  return opened_at - identity.ctime_ns >= (whole_seconds ? 2 * kSecond : kSecond / 10);
}

Result<FilePassResult> ReadFileOnce(const FilePassContext& context, const ScannedFile& scanned,
                                    const std::string& scratch) {
  return FilePass(context, scanned, scratch).Run();
}

}  // namespace tarn::indexer
