// What a program of somebody else does with the library: walks an archive, and reads a published dataset.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "tarn/base/bytes.h"
#include "tarn/dataset/archive_bytes.h"
#include "tarn/dataset/file_tree.h"
#include "tarn/index/generation_reader.h"
#include "tarn/index/index_root.h"
#include "tarn/io/forward_reader.h"
#include "tarn/io/random_access_file.h"
#include "tarn/tar/header_walker.h"

namespace {

// One line a member: size and name.
tarn::Status Walk(const std::string& path) {
  TARN_ASSIGN_OR_RETURN(const auto file, tarn::io::OpenFile(path));
  TARN_ASSIGN_OR_RETURN(const tarn::io::FileStat stat, file->Stat());
  tarn::io::WindowReader reader(file.get(), stat.identity.size);
  tarn::tar::FindingList findings;
  tarn::tar::HeaderWalker walker(&reader, &findings);
  tarn::tar::Member member;
  while (true) {
    TARN_ASSIGN_OR_RETURN(const bool more, walker.Next(&member));
    if (!more) break;
    std::printf("%ju %s\n", static_cast<uintmax_t>(member.logical_size),
                tarn::EscapeName(member.name).c_str());
  }
  std::printf("%zu findings\n", findings.kept().size());
  return tarn::Status::Ok();
}

// The bytes of the file at `path` (names in order from the generation's root), to standard output.
tarn::Status Read(const std::string& root_path, const std::string& dataset, const std::string& source,
                  const std::vector<std::string>& path) {
  TARN_ASSIGN_OR_RETURN(const auto root, tarn::index::IndexRoot::Open(root_path));
  TARN_ASSIGN_OR_RETURN(const uint32_t generation, root->Latest(dataset));
  TARN_ASSIGN_OR_RETURN(auto reader,
                        tarn::index::GenerationReader::Open(root->GenerationPath(dataset, generation)));
  TARN_ASSIGN_OR_RETURN(auto opened, tarn::io::OpenSource(source));
  tarn::dataset::ArchiveBytesOptions options;
  options.sources.push_back(std::move(opened));
  tarn::dataset::FileTree tree({}, std::make_shared<tarn::dataset::ArchiveBytes>(std::move(options)));
  TARN_ASSIGN_OR_RETURN(const tarn::dataset::NodeId top, tree.Attach(std::move(reader)));
  tarn::dataset::Attributes found{.node = top};
  for (const std::string& name : path) {
    TARN_ASSIGN_OR_RETURN(const auto child, tree.Lookup(found.node, name));
    if (!child) return tarn::Status(tarn::ErrorCode::kNotFound, "no '" + name + "'");
    found = *child;
  }
  std::vector<std::byte> bytes(found.size);
  TARN_ASSIGN_OR_RETURN(const size_t read, tree.Read(found.node, 0, bytes));
  std::fwrite(bytes.data(), 1, read, stdout);
  return tarn::Status::Ok();
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  tarn::Status status;
  if (arguments.size() == 2 && arguments[0] == "walk") {
    status = Walk(arguments[1]);
  } else if (arguments.size() > 4 && arguments[0] == "read") {
    status = Read(arguments[1], arguments[2], arguments[3], {arguments.begin() + 4, arguments.end()});
  } else {
    status = tarn::Status(tarn::ErrorCode::kInvalidArgument,
                          "usage: consumer walk ARCHIVE | read INDEX DATASET SOURCE NAME...");
  }
  if (status.ok()) return 0;
  std::fprintf(stderr, "consumer: %s\n", status.ToString().c_str());
  return 1;
}
