// tarn cat PATH...: the bytes of files, checked as a mount checks them.
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/dataset_path.h"
#include "tarn/base/bytes.h"

namespace tarn::cli {
namespace {

Status Cat(DatasetPaths* paths, const std::string& argument, std::ostream* out) {
  TARN_ASSIGN_OR_RETURN(const auto target, paths->Open(argument));
  TARN_ASSIGN_OR_RETURN(const NodeFacts file, target.view->Find(target.path, true));
  if (!file.IsFile()) {
    return Status(ErrorCode::kInvalidArgument, "'" + EscapeName(argument) + "' is " +
                                                   (file.IsDirectory() ? "a directory" : "no regular file"))
        .WithHint(file.IsDirectory() ? "'tarn ls' lists it" : "'tarn stat' says what it is");
  }
  return target.view->Read(file, [out](std::span<const std::byte> piece) {
    const std::span<const char> text(reinterpret_cast<const char*>(piece.data()), piece.size());
    out->write(text.data(), static_cast<std::streamsize>(text.size()));
    return out->good() ? Status::Ok() : Status(ErrorCode::kIo, "cannot write to the standard output");
  });
}

}  // namespace

int RunCat(const Program& program) {
  const auto app =
      MakeCommandLine("tarn cat", "Write the bytes of files of a dataset to the standard output.");
  std::vector<std::string> arguments;
  PlaceOptions places;
  app->add_option("PATH", arguments, "NAME[@GENERATION]:PATH, or a path below a mount")->required();
  AddIndexOption(app.get(), &places);
  AddSourceOption(app.get(), &places);
  if (const auto code = ParseCommandLine(app.get(), program)) return *code;

  DatasetPaths paths(program, places, DatasetPaths::Sources::kNeeded);
  int code = static_cast<int>(ExitCode::kOk);
  for (const std::string& argument : arguments) {
    const Status status = Cat(&paths, argument, program.out);
    program.out->flush();
    if (!status.ok()) code = program.Fail("tarn cat", status);
    if (!program.out->good()) break;
  }
  return code;
}

}  // namespace tarn::cli
