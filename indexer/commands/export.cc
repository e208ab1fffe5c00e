// tarn-index export: one generation as a single file that another site can import.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "indexer/commands.h"
#include "indexer/root_command.h"
#include "indexer/stop_signal.h"
#include "tarn/base/bytes.h"
#include "tarn/dataset/transfer.h"
#include "tarn/io/filesystem.h"

namespace tarn::indexer {
namespace {

constexpr char kFooter[] =
    "The file holds the manifest and the bundles, no data: a site that has the same archives imports it with "
    "'tarn-index import' and need not read them. FILE '-' is standard output; the report then goes to "
    "standard "
    "error.\n"
    "Exit codes: 0 done; 2 usage; 3 input, output or the machine.";

Status ToStream(const index::IndexRoot& root, const NamedGeneration& named, std::ostream* out,
                dataset::ExportReport* report) {
  const dataset::ByteSink sink = [out](std::string_view bytes) {
    TARN_RETURN_IF_ERROR(StopSignal::Check());
    if (out->write(bytes.data(), static_cast<std::streamsize>(bytes.size()))) return Status::Ok();
    return Status(ErrorCode::kIo, "cannot write to standard output");
  };
  TARN_ASSIGN_OR_RETURN(*report, dataset::ExportGeneration(root, named.dataset, named.generation, sink));
  return out->flush() ? Status::Ok() : Status(ErrorCode::kIo, "cannot write to standard output");
}

// Written beside it and renamed: a file of that name is a whole export.
Status ToFile(const index::IndexRoot& root, const NamedGeneration& named, const std::string& path,
              dataset::ExportReport* report) {
  if (io::Exists(path)) {
    return Status(ErrorCode::kAlreadyExists, fmt::format("'{}' exists", path)).WithHint("give another name");
  }
  const std::string partial = path + ".partial";
  TARN_RETURN_IF_ERROR(io::RemoveFile(partial));
  TARN_ASSIGN_OR_RETURN(const auto file, io::AppendFile::Create(partial));
  const auto write = [&]() -> Status {
    const dataset::ByteSink sink = [&](std::string_view bytes) {
      TARN_RETURN_IF_ERROR(StopSignal::Check());
      return file->Append(bytes);
    };
    TARN_ASSIGN_OR_RETURN(*report, dataset::ExportGeneration(root, named.dataset, named.generation, sink));
    TARN_RETURN_IF_ERROR(file->Sync());
    TARN_RETURN_IF_ERROR(file->Close());
    return io::RenameNoReplace(partial, path);
  };
  Status written = write();
  if (!written.ok()) TARN_RETURN_IF_ERROR(io::RemoveFile(partial));
  return written;
}

}  // namespace

int RunExport(const Program& program) {
  RootCommand command{.program = &program, .name = "tarn-index export"};
  std::string generation;
  std::string path;
  const auto app = cli::MakeCommandLine(command.name, "Write one generation to a single file.");
  app->footer(kFooter);
  app->add_option("NAME@N", generation, "the generation")->required();
  app->add_option("FILE", path, "a new file, or - for standard output")->required();
  AddIndexOption(app.get(), &command);
  AddJsonOption(app.get(), &command);
  if (const auto code = cli::ParseCommandLine(app.get(), program)) return *code;

  const StopSignal stop;
  const auto root = command.OpenRoot();
  if (!root.ok()) return command.Fail(root.status());
  const auto named = ResolveInFull(**root, generation);
  if (!named.ok()) return command.Fail(named.status());
  dataset::ExportReport report;
  const bool to_stream = path == "-";
  const Status written =
      to_stream ? ToStream(**root, *named, program.out, &report) : ToFile(**root, *named, path, &report);
  if (!written.ok()) {
    // Standard output holds the start of an export: no JSON behind it.
    const int code = to_stream ? program.Fail(command.name, written) : command.Fail(written);
    return written.code() == ErrorCode::kCancelled ? 128 + StopSignal::Received() : code;
  }
  std::ostream& out = to_stream ? *program.err : *program.out;
  if (command.json) {
    const nlohmann::ordered_json json = {{"dataset", report.dataset},       {"generation", report.generation},
                                         {"digest", report.digest.ToHex()}, {"files", report.files},
                                         {"bundles", report.bundles},       {"bytes", report.bytes}};
    out << json.dump(2) << '\n';
  } else {
    out << fmt::format("exported {}@{}: {} files, {} bundles, {}, digest {}\n", report.dataset,
                       report.generation, report.files, report.bundles, HumanBytes(report.bytes),
                       report.digest.ToHex());
  }
  return static_cast<int>(ExitCode::kOk);
}

}  // namespace tarn::indexer
