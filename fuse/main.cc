#include "fuse/program.h"

int main(int argc, char** argv) {
  return tarn::fuse::Run(tarn::Program::FromMain(argc, argv), argc > 0 ? argv[0] : "");
}
