// How fast headers are walked: members a second, by how much data lies between them.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <span>
#include <string>

#include "bench/dataset_generator.h"
#include "bench/tar_writer.h"
#include "tarn/io/forward_reader.h"
#include "tarn/tar/header_walker.h"

namespace tarn {
namespace {

// An archive of `members` files in memory.
std::string MakeArchive(bench::TarFormat format, int64_t members, uint64_t member_bytes) {
  std::string archive;
  std::string contents;
  for (int64_t i = 0; i < members; ++i) {
    const std::string name = "n01440764/n01440764_" + std::to_string(i) + ".JPEG";
    const bench::TarMember member{.name = name, .size = member_bytes, .mtime = 1'600'000'000};
    if (!AppendTarHeader(format, member, &archive).ok()) return {};
    bench::GenerateContents(1, 0, static_cast<uint64_t>(i), member_bytes, &contents);
    archive += contents;
    archive.append(bench::TarPadding(member_bytes), '\0');
  }
  bench::AppendTarEnd(archive.size(), &archive);
  return archive;
}

void Walk(benchmark::State& state, bench::TarFormat format) {
  constexpr int64_t kMembers = 500;
  const std::string archive = MakeArchive(format, kMembers, static_cast<uint64_t>(state.range(0)));
  for (auto _ : state) {
    io::MemoryReader reader(std::as_bytes(std::span(archive)));
    tar::FindingList findings;
    tar::HeaderWalker walker(&reader, &findings);
    tar::Member member;
    int64_t members = 0;
    for (;; ++members) {
      const auto more = walker.Next(&member);
      if (!more.ok() || !*more) break;
    }
    if (members != kMembers) state.SkipWithError("the walk lost members");
  }
  state.SetItemsProcessed(state.iterations() * kMembers);
}

BENCHMARK_CAPTURE(Walk, gnu, bench::TarFormat::kGnu)->Arg(512)->Arg(4096)->Arg(110 << 10);
BENCHMARK_CAPTURE(Walk, pax, bench::TarFormat::kPax)->Arg(512)->Arg(4096)->Arg(110 << 10);
BENCHMARK_CAPTURE(Walk, ustar, bench::TarFormat::kUstar)->Arg(512)->Arg(4096)->Arg(110 << 10);

}  // namespace
}  // namespace tarn

BENCHMARK_MAIN();
