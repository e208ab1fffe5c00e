#include "indexer/program.h"

int main(int argc, char** argv) {
  return tarn::indexer::Run(tarn::Program::FromMain(argc, argv));
}
