// xxHash, with the widest vectors of the processor it runs on: chosen at run time on x86, at build time
// elsewhere (NEON is part of every arm64). Included by the sources of this layer alone.
#ifndef TARN_DIGEST_XXH3_H_
#define TARN_DIGEST_XXH3_H_

#if defined(__x86_64__) || defined(__i386__)
#include <xxh_x86dispatch.h>  // puts dispatching functions in the place of XXH3_*
#else
#include <xxhash.h>
#endif

#endif  // TARN_DIGEST_XXH3_H_
