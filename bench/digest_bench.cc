// How fast identity and chunk checksums are computed, by how the bytes arrive.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>

#include "bench/dataset_generator.h"
#include "tarn/digest/archive_digester.h"

namespace tarn {
namespace {

constexpr size_t kArchiveBytes = size_t{64} << 20;

const std::string& Bytes() {
  static const std::string bytes = [] {
    std::string contents;
    bench::GenerateContents(1, 0, 0, kArchiveBytes, &contents);
    return contents;
  }();
  return bytes;
}

// Digest and chunk checksums in one pass, in pieces of the argument's size, as a publish does it.
void DigestArchive(benchmark::State& state) {
  const auto bytes = std::as_bytes(std::span(Bytes()));
  const auto piece = static_cast<size_t>(state.range(0));
  for (auto _ : state) {
    digest::ArchiveDigester digester;
    for (size_t at = 0; at < bytes.size(); at += piece)
      digester.Update(bytes.subspan(at, std::min(piece, bytes.size() - at)));
    benchmark::DoNotOptimize(digester.Finish());
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(kArchiveBytes));
}
BENCHMARK(DigestArchive)->Arg(4096)->Arg(128 << 10)->Arg(1 << 20);

// The digest alone: what `xxh128sum` does.
void DigestAlone(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(digest::DigestOf(Bytes()));
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(kArchiveBytes));
}
BENCHMARK(DigestAlone);

// One chunk: what checking before a read costs.
void CheckChunk(benchmark::State& state) {
  const auto chunk = std::as_bytes(std::span(Bytes())).first(digest::kChunkBytes);
  for (auto _ : state) benchmark::DoNotOptimize(digest::ChunkChecksum(chunk));
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(digest::kChunkBytes));
}
BENCHMARK(CheckChunk);

}  // namespace
}  // namespace tarn

BENCHMARK_MAIN();
