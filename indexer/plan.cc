#include "indexer/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <queue>
#include <utility>

#include "tarn/base/bytes.h"
#include "tarn/digest/archive_digester.h"

namespace tarn::indexer {
namespace {

constexpr std::string_view kPlanTitle = "tarn-plan";
constexpr std::string_view kShareTitle = "tarn-share";
constexpr uint64_t kVersion = 1;
constexpr size_t kDigestBytes = 16;
constexpr double kMicroseconds = 1e6;

// ---- Framing

std::string Start(std::string_view title) {
  std::string bytes(title);
  AppendVarint(&bytes, kVersion);
  return bytes;
}

void AppendDigest(std::string* out, const Digest& digest) {
  AppendBigEndian64(out, digest.high);
  AppendBigEndian64(out, digest.low);
}

Digest ReadDigest(ByteReader* in) {
  Digest digest;
  digest.high = in->BigEndian64();
  digest.low = in->BigEndian64();
  return digest;
}

// What stands between title and digest, when both are right.
Result<std::string_view> Unframe(std::string_view bytes, std::string_view title, const std::string& where) {
  const auto corrupt = [&](std::string_view what) {
    return Status(ErrorCode::kCorrupt, fmt::format("'{}' {}", where, what))
        .WithHint("plan again with 'tarn-index plan': what was read already is not read again");
  };
  if (bytes.size() < title.size() + kDigestBytes || !bytes.starts_with(title)) {
    return corrupt(fmt::format("is no {} file", title));
  }
  const std::string_view signed_bytes = bytes.substr(0, bytes.size() - kDigestBytes);
  ByteReader end(bytes.substr(signed_bytes.size()));
  if (ReadDigest(&end) != digest::DigestOf(signed_bytes)) {
    return corrupt("is damaged: its digest is not that of its bytes");
  }
  ByteReader body(signed_bytes.substr(title.size()));
  if (const uint64_t version = body.Varint(); version != kVersion) {
    return Status(ErrorCode::kUnsupported,
                  fmt::format("'{}' is of version {}, this tarn-index knows {}", where, version, kVersion))
        .WithHint("run the same version of tarn-index for plan, worker and commit");
  }
  return signed_bytes.substr(signed_bytes.size() - body.remaining());
}

Status NotAsExpected(const std::string& where) {
  return Status(ErrorCode::kCorrupt,
                fmt::format("'{}' has the right digest and not the fields of its version", where))
      .WithHint("run the same version of tarn-index for plan, worker and commit");
}

// ---- Fields

void AppendStrings(std::string* out, const std::vector<std::string>& strings) {
  AppendVarint(out, strings.size());
  for (const std::string& string : strings) AppendLengthPrefixed(out, string);
}

std::vector<std::string> ReadStrings(ByteReader* in) {
  std::vector<std::string> strings;
  for (uint64_t left = in->Varint(); left > 0 && in->ok(); --left) {
    strings.emplace_back(in->LengthPrefixed());
  }
  return strings;
}

void AppendIdentity(std::string* out, const io::FileIdentity& identity) {
  AppendVarint(out, identity.size);
  AppendVarint(out, ZigZag(identity.mtime_ns));
  AppendVarint(out, ZigZag(identity.ctime_ns));
  AppendVarint(out, identity.inode);
}

io::FileIdentity ReadIdentity(ByteReader* in) {
  io::FileIdentity identity;
  identity.size = in->Varint();
  identity.mtime_ns = in->SignedVarint();
  identity.ctime_ns = in->SignedVarint();
  identity.inode = in->Varint();
  return identity;
}

void AppendFinding(std::string* out, const tar::Finding& finding) {
  AppendVarint(out, static_cast<uint8_t>(finding.code));
  AppendVarint(out, static_cast<uint8_t>(finding.severity));
  AppendVarint(out, finding.offset);
  AppendLengthPrefixed(out, finding.member);
  AppendLengthPrefixed(out, finding.detail);
}

tar::Finding ReadFinding(ByteReader* in) {
  tar::Finding finding;
  finding.code = static_cast<tar::FindingCode>(in->Byte());
  finding.severity = static_cast<tar::Severity>(in->Byte());
  finding.offset = in->Varint();
  finding.member = in->LengthPrefixed();
  finding.detail = in->LengthPrefixed();
  return finding;
}

void AppendLeftOut(std::string* out, const LeftOut& left_out) {
  AppendLengthPrefixed(out, left_out.path);
  AppendVarint(out, static_cast<uint8_t>(left_out.reason.code()));
  AppendLengthPrefixed(out, left_out.reason.message());
  AppendLengthPrefixed(out, left_out.reason.hint());
}

LeftOut ReadLeftOut(ByteReader* in) {
  std::string path(in->LengthPrefixed());
  const uint8_t code = in->Byte();
  std::string message(in->LengthPrefixed());
  std::string hint(in->LengthPrefixed());
  // A reason of a later kind is still one.
  const bool known = code > 0 && code <= static_cast<uint8_t>(ErrorCode::kInternal);
  return {std::move(path), Status(known ? static_cast<ErrorCode>(code) : ErrorCode::kIo, std::move(message))
                               .WithHint(std::move(hint))};
}

void AppendShareFile(std::string* out, const ShareFile& file) {
  AppendLengthPrefixed(out, file.path);
  AppendIdentity(out, file.identity);
  AppendVarint(out, file.trusted ? 1 : 0);
  file.id.AppendTo(out);
  AppendVarint(out, file.is_archive ? 1 : 0);
  AppendVarint(out, file.findings.size());
  for (const tar::Finding& finding : file.findings) AppendFinding(out, finding);
}

ShareFile ReadShareFile(ByteReader* in) {
  ShareFile file;
  file.path = in->LengthPrefixed();
  file.identity = ReadIdentity(in);
  file.trusted = in->Varint() != 0;
  const std::string_view id = in->Bytes(ArchiveId::kEncodedBytes);
  if (in->ok()) file.id = ArchiveId::Decode(id.data());
  file.is_archive = in->Varint() != 0;
  for (uint64_t left = in->Varint(); left > 0 && in->ok(); --left) file.findings.push_back(ReadFinding(in));
  return file;
}

}  // namespace

std::vector<PlannedFile> Plan::Share(uint32_t number) const {
  std::vector<PlannedFile> share;
  std::copy_if(files.begin(), files.end(), std::back_inserter(share),
               [number](const PlannedFile& file) { return file.share == number; });
  return share;
}

uint64_t Plan::Bytes() const {
  return std::accumulate(files.begin(), files.end(), uint64_t{0},
                         [](uint64_t bytes, const PlannedFile& file) { return bytes + file.identity.size; });
}

void Balance(uint32_t shares, std::vector<PlannedFile>* files) {
  std::vector<PlannedFile*> largest_first;
  largest_first.reserve(files->size());
  for (PlannedFile& file : *files) largest_first.push_back(&file);
  std::sort(largest_first.begin(), largest_first.end(), [](const PlannedFile* a, const PlannedFile* b) {
    return a->identity.size != b->identity.size ? a->identity.size > b->identity.size : a->path < b->path;
  });
  using Load = std::pair<uint64_t, uint32_t>;  // what a share has so far, its number
  std::priority_queue<Load, std::vector<Load>, std::greater<>> least_first;
  for (uint32_t share = 1; share <= shares; ++share) least_first.emplace(0, share);
  for (PlannedFile* const file : largest_first) {
    auto [load, share] = least_first.top();
    least_first.pop();
    file->share = share;
    least_first.emplace(load + file->identity.size + kBytesPerFile, share);
  }
}

std::string EncodePlan(const Plan& plan) {
  std::string bytes = Start(kPlanTitle);
  for (const std::string* text : {&plan.dataset, &plan.root_uuid, &plan.base, &plan.source_path}) {
    AppendLengthPrefixed(&bytes, *text);
  }
  AppendStrings(&bytes, plan.selection.include);
  AppendStrings(&bytes, plan.selection.exclude);
  AppendStrings(&bytes, plan.selection.archive_glob);
  AppendVarint(&bytes, static_cast<uint8_t>(plan.identity));
  AppendVarint(&bytes, plan.shares);
  AppendDigest(&bytes, plan.known);
  AppendVarint(&bytes, plan.files.size());
  for (const PlannedFile& file : plan.files) {
    AppendLengthPrefixed(&bytes, file.path);
    AppendIdentity(&bytes, file.identity);
    AppendVarint(&bytes, file.share);
  }
  AppendDigest(&bytes, digest::DigestOf(bytes));
  return bytes;
}

Result<Plan> DecodePlan(std::string_view bytes, const std::string& where) {
  TARN_ASSIGN_OR_RETURN(const std::string_view body, Unframe(bytes, kPlanTitle, where));
  ByteReader in(body);
  Plan plan;
  for (std::string* text : {&plan.dataset, &plan.root_uuid, &plan.base, &plan.source_path}) {
    *text = in.LengthPrefixed();
  }
  plan.selection.include = ReadStrings(&in);
  plan.selection.exclude = ReadStrings(&in);
  plan.selection.archive_glob = ReadStrings(&in);
  plan.identity = in.Varint() == 0 ? IdentityMode::kHint : IdentityMode::kFull;
  plan.shares = in.Varint32();
  plan.known = ReadDigest(&in);
  for (uint64_t left = in.Varint(); left > 0 && in.ok(); --left) {
    PlannedFile file;
    file.path = in.LengthPrefixed();
    file.identity = ReadIdentity(&in);
    file.share = in.Varint32();
    if (file.share == 0 || file.share > plan.shares) in.Fail();
    plan.files.push_back(std::move(file));
  }
  if (!in.AtEnd()) return NotAsExpected(where);
  return plan;
}

std::string PlanId(std::string_view encoded_plan) {
  return ToHex(encoded_plan.substr(encoded_plan.size() - kDigestBytes, kDigestBytes / 2));
}

ShareFile MakeShareFile(const io::FileIdentity& identity, const dataset::PublishedFile& file,
                        std::vector<tar::Finding> findings) {
  const bool is_archive = file.kind != index::ManifestKind::kLooseFile;
  if (is_archive) {
    std::erase_if(findings, [](const tar::Finding& finding) {
      return finding.severity != tar::Severity::kError;  // the bundle has them all
    });
  }
  return {.path = file.path,
          .identity = identity,
          .trusted = file.hint.ctime_ns != 0,
          .id = file.id,
          .is_archive = is_archive,
          .findings = std::move(findings)};
}

std::string EncodeShare(const ShareResult& result) {
  std::string bytes = Start(kShareTitle);
  AppendLengthPrefixed(&bytes, result.plan);
  AppendVarint(&bytes, result.share);
  AppendVarint(&bytes, result.files.size());
  for (const ShareFile& file : result.files) AppendShareFile(&bytes, file);
  AppendVarint(&bytes, result.left_out.size());
  for (const LeftOut& left_out : result.left_out) AppendLeftOut(&bytes, left_out);
  AppendVarint(&bytes, result.bytes_read);
  AppendVarint(&bytes, result.files_read);
  AppendVarint(&bytes, result.files_unchanged);
  AppendVarint(&bytes, result.bundles_reused);
  AppendVarint(&bytes, static_cast<uint64_t>(result.seconds * kMicroseconds));
  AppendDigest(&bytes, digest::DigestOf(bytes));
  return bytes;
}

Result<ShareResult> DecodeShare(std::string_view bytes, const std::string& where) {
  TARN_ASSIGN_OR_RETURN(const std::string_view body, Unframe(bytes, kShareTitle, where));
  ByteReader in(body);
  ShareResult result;
  result.plan = in.LengthPrefixed();
  result.share = in.Varint32();
  for (uint64_t left = in.Varint(); left > 0 && in.ok(); --left) result.files.push_back(ReadShareFile(&in));
  for (uint64_t left = in.Varint(); left > 0 && in.ok(); --left) result.left_out.push_back(ReadLeftOut(&in));
  result.bytes_read = in.Varint();
  result.files_read = in.Varint();
  result.files_unchanged = in.Varint();
  result.bundles_reused = in.Varint();
  result.seconds = static_cast<double>(in.Varint()) / kMicroseconds;
  if (!in.AtEnd()) return NotAsExpected(where);
  return result;
}

}  // namespace tarn::indexer
