#include "bench/program.h"

int main(int argc, char** argv) {
  return tarn::bench::Run(tarn::Program::FromMain(argc, argv));
}
