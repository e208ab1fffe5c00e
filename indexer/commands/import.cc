// tarn-index import: publishes a generation that another site exported.
#include <fmt/format.h>

#include <algorithm>
#include <istream>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "indexer/commands.h"
#include "indexer/root_command.h"
#include "indexer/stop_signal.h"
#include "tarn/base/bytes.h"
#include "tarn/base/config.h"
#include "tarn/base/timestamp.h"
#include "tarn/base/version.h"
#include "tarn/dataset/transfer.h"
#include "tarn/io/random_access_file.h"

namespace tarn::indexer {
namespace {

constexpr char kFooter[] =
    "The generation gets the next number of the dataset here and the digest it was exported with. Nothing is "
    "published of a file that is damaged or cut short. FILE '-' is standard input.\n"
    "Exit codes: 0 published, or the newest generation is this one already; 2 usage; 3 input, output or the "
    "machine.";

dataset::ByteSource FromStream(std::istream* in) {
  return [in](std::span<char> out) -> Result<size_t> {
    TARN_RETURN_IF_ERROR(StopSignal::Check());
    in->read(out.data(), static_cast<std::streamsize>(out.size()));
    if (in->bad()) return Status(ErrorCode::kIo, "cannot read standard input");
    return static_cast<size_t>(in->gcount());
  };
}

// `file` must outlive the source.
dataset::ByteSource FromFile(const io::RandomAccessFile* file) {
  return [file, offset = uint64_t{0}](std::span<char> out) mutable -> Result<size_t> {
    TARN_RETURN_IF_ERROR(StopSignal::Check());
    TARN_ASSIGN_OR_RETURN(const size_t got, file->ReadAt(offset, std::as_writable_bytes(out)));
    offset += got;
    return got;
  };
}

Result<std::unique_ptr<index::IndexRoot>> OpenOrCreateRoot(const RootCommand& command) {
  TARN_ASSIGN_OR_RETURN(const Setting setting, Config(*command.program).Index(command.index));
  auto root = index::IndexRoot::OpenOrCreate(setting.value);
  if (!root.ok()) return setting.Explain(root.status());
  return root;
}

Result<dataset::ImportReport> Import(const RootCommand& command, const dataset::ImportOptions& options,
                                     const std::string& path) {
  std::unique_ptr<io::RandomAccessFile> file;
  if (path != "-") {
    TARN_ASSIGN_OR_RETURN(file, io::OpenFile(path));
  }
  TARN_ASSIGN_OR_RETURN(const auto root, OpenOrCreateRoot(command));
  const dataset::ByteSource source = file ? FromFile(file.get()) : FromStream(command.program->in);
  Result<dataset::ImportReport> report = dataset::ImportGeneration(root.get(), options, source);
  if (!report.ok()) return report.status().WithContext(fmt::format("importing '{}'", path));
  return report;
}

}  // namespace

int RunImport(const Program& program) {
  RootCommand command{.program = &program, .name = "tarn-index import"};
  std::string path;
  dataset::ImportOptions options;
  options.writer = fmt::format("tarn-index {}", VersionString());
  options.created = SecondsNow();
  const auto app = cli::MakeCommandLine(command.name, "Publish a generation that was exported elsewhere.");
  app->footer(kFooter);
  app->add_option("FILE", path, "what 'tarn-index export' wrote, or - for standard input")->required();
  AddIndexOption(app.get(), &command);
  app->add_option("--name", options.name, "name of the dataset here; default: the name it was exported under")
      ->type_name("NAME");
  app->add_option("--source-path", options.source_path,
                  "the dataset's directory below the nodes' --source; default: as at the other site")
      ->type_name("PATH");
  AddJsonOption(app.get(), &command);
  if (const auto code = cli::ParseCommandLine(app.get(), program)) return *code;

  const StopSignal stop;
  const auto report = Import(command, options, path);
  if (!report.ok()) {
    const int code = command.Fail(report.status());
    return report.code() == ErrorCode::kCancelled ? 128 + StopSignal::Received() : code;
  }
  for (const std::string& warning : report->warnings) *program.err << "warning: " << warning << '\n';
  if (command.json) {
    const nlohmann::ordered_json json = {{"dataset", report->dataset},
                                         {"generation", report->generation},
                                         {"published", report->published},
                                         {"digest", report->digest.ToHex()},
                                         {"files", report->files},
                                         {"bundles_added", report->bundles_added},
                                         {"bundles_known", report->bundles_known},
                                         {"numbers_kept", report->numbers_kept},
                                         {"bytes", report->bytes},
                                         {"warnings", report->warnings}};
    *program.out << json.dump(2) << '\n';
  } else {
    *program.out << fmt::format("{} {}@{}: {} files, {} bundles added, {} known, digest {}\n",
                                report->published ? "published" : "nothing changed:", report->dataset,
                                report->generation, report->files, report->bundles_added,
                                report->bundles_known, report->digest.ToHex());
  }
  return static_cast<int>(ExitCode::kOk);
}

}  // namespace tarn::indexer
