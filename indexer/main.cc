#include <malloc.h>

#include "indexer/program.h"

int main(int argc, char** argv) {
  // Rows of one archive after the other: memory that was let go of is used again at once, and getting its
  // pages anew from the kernel took a tenth of a publish.
  constexpr int kMiB = 1 << 20;
  mallopt(M_MMAP_THRESHOLD, 32 * kMiB);
  mallopt(M_TRIM_THRESHOLD, 64 * kMiB);
  return tarn::indexer::Run(tarn::Program::FromMain(argc, argv));
}
