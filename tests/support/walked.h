// A walk of bytes in memory, all of it: members, findings, end.
#ifndef TARN_TESTS_SUPPORT_WALKED_H_
#define TARN_TESTS_SUPPORT_WALKED_H_

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tarn/io/forward_reader.h"
#include "tarn/tar/finding.h"
#include "tarn/tar/header_walker.h"
#include "tarn/tar/member.h"

namespace tarn::support {

struct Walked {
  std::vector<tar::Member> members;
  std::vector<tar::Finding> findings;
  uint64_t warnings = 0;
  uint64_t errors = 0;
  uint64_t end_offset = 0;

  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const tar::Member& member : members) names.push_back(member.name);
    return names;
  }
  // "error BAD_CHECKSUM@1024", in the order they came.
  std::vector<std::string> Codes() const {
    std::vector<std::string> codes;
    for (const tar::Finding& finding : findings) {
      codes.push_back(std::string(tar::SeverityName(finding.severity)) + " " +
                      std::string(tar::FindingCodeName(finding.code)) + "@" + std::to_string(finding.offset));
    }
    return codes;
  }
};

// Hands out windows of at most `step` bytes unless more is asked for, from its own memory: what a walker
// keeps from an older window is caught by a sanitizer.
class StepReader final : public io::ForwardReader {
 public:
  StepReader(std::string_view bytes, size_t step) : bytes_(bytes), step_(step) {}

  Result<std::span<const std::byte>> Window(uint64_t offset, size_t at_least) override {
    if (offset < last_) throw std::logic_error("a window before the one before it was asked for");
    last_ = offset;
    if (offset >= bytes_.size()) return std::span<const std::byte>();
    window_.clear();
    window_.shrink_to_fit();
    window_.assign(bytes_.substr(static_cast<size_t>(offset), at_least > step_ ? at_least : step_));
    return std::as_bytes(std::span<const char>(window_.data(), window_.size()));
  }
  uint64_t size() const override { return bytes_.size(); }

 private:
  const std::string_view bytes_;
  const size_t step_;
  uint64_t last_ = 0;
  std::string window_;
};

inline Walked WalkBytes(std::string_view bytes, const tar::WalkOptions& options = {}, size_t step = 512) {
  StepReader reader(bytes, step);
  tar::FindingList findings;
  tar::HeaderWalker walker(&reader, &findings, options);
  Walked walked;
  tar::Member member;
  while (true) {
    const Result<bool> more = walker.Next(&member);
    if (!more.ok()) throw std::runtime_error(more.status().ToString());
    if (!*more) break;
    walked.members.push_back(member);
  }
  walked.findings = findings.kept();
  walked.warnings = findings.warnings();
  walked.errors = findings.errors();
  walked.end_offset = walker.end_offset();
  return walked;
}

// What a reader of the member sees: holes as zeros. Throws where an extent runs past the archive.
inline std::string ContentOf(std::string_view archive, const tar::Member& member) {
  std::string content;
  for (const tar::Extent& extent : member.extents) {
    if (extent.archive_offset == tar::Extent::kHole) {
      content.append(extent.length, '\0');
    } else {
      const auto offset = static_cast<uint64_t>(extent.archive_offset);
      if (offset > archive.size() || extent.length > archive.size() - offset) {
        throw std::out_of_range("an extent runs past the archive");
      }
      content += archive.substr(static_cast<size_t>(offset), static_cast<size_t>(extent.length));
    }
  }
  return content;
}

}  // namespace tarn::support

#endif  // TARN_TESTS_SUPPORT_WALKED_H_
