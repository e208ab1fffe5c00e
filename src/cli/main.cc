#include "cli/program.h"

int main(int argc, char** argv) {
  return tarn::cli::Run(tarn::Program::FromMain(argc, argv));
}
