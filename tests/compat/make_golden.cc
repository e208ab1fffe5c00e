// make_golden DIRECTORY: writes the golden root of the newest format to DIRECTORY/root and the rows of its
// generations to DIRECTORY/rows-<N>.txt. What it wrote is committed once and never again.
#include <iostream>

#include "tarn/io/filesystem.h"
#include "tests/compat/golden_v1.h"

namespace {

tarn::Status Make(const std::string& directory) {
  TARN_RETURN_IF_ERROR(tarn::io::MakeDirectory(directory));
  const std::string root = directory + "/root";
  TARN_RETURN_IF_ERROR(tarn::index::WriteGoldenV1(root));
  for (const std::string generation : {"1", "2"}) {
    TARN_ASSIGN_OR_RETURN(const std::string rows,
                          tarn::index::DumpRows(root + "/datasets/golden/" + generation));
    TARN_RETURN_IF_ERROR(tarn::io::CreateFileAtomically(directory + "/rows-" + generation + ".txt", rows));
  }
  return tarn::Status::Ok();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: make_golden DIRECTORY\n";
    return 2;
  }
  const tarn::Status status = Make(argv[1]);
  if (!status.ok()) std::cerr << "make_golden: " << status.ToString() << '\n';
  return status.ok() ? 0 : 3;
}
