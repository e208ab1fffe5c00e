#include "tests/property/random_archive.h"

#include <utility>
#include <vector>

#include "tests/support/pseudo_random.h"
#include "tests/support/tar_writer.h"

namespace tarn::property {
namespace {

using support::PseudoRandom;
using support::TarChecksum;
using support::TarDialect;
using support::TarHeader;
using support::TarWriter;

class Maker {
 public:
  Maker(uint64_t seed, const std::string& prefix) : random_(seed), prefix_(prefix) {}

  RandomArchive Make() {
    RandomArchive archive;
    if (Chance(5)) {
      archive.has_global = true;
      writer_.AddPax(Record(Chance(50) ? "uid" : "mtime", std::to_string(1 + random_.Below(1000))), 'g');
    }
    for (uint64_t count = random_.Below(12); count > 0; --count) AddMember();
    if (!Chance(5)) writer_.AddZeroBlocks(2);
    if (Chance(20)) writer_.AddZeroBlocks(random_.Below(20));
    archive.bytes = writer_.bytes();
    return archive;
  }

 private:
  bool Chance(uint64_t percent) { return random_.Below(100) < percent; }
  static std::string Record(std::string_view keyword, std::string_view value) {
    return TarWriter::PaxRecord(keyword, value);
  }

  std::string Directory() {
    std::string path;
    for (uint64_t depth = random_.Below(4); depth > 0; --depth)
      path += "d" + std::to_string(random_.Below(3)) + "/";
    if (Chance(10)) path += "d" + std::string(120, 'o') + "/";
    return path;
  }
  // Files and links share names, directories have their own: what extraction does at a conflict is decided by
  // the order of system calls, and is not compared.
  std::string Leaf() {
    std::string name = "f" + std::to_string(random_.Below(6));
    if (Chance(10)) name += std::string(90 + random_.Below(130), 'n');
    if (Chance(5)) name += "\xe9\xff \\'";
    return name;
  }
  std::string Spelt(const std::string& path) {
    const std::string dot = Chance(10) ? "./" : "";
    return dot + prefix_ + (Chance(5) ? "/" : "") + path;
  }

  TarHeader Header() {
    TarHeader header;
    const uint64_t dialect = random_.Below(3);
    header.dialect = dialect == 0 ? TarDialect::kV7 : dialect == 1 ? TarDialect::kUstar : TarDialect::kGnu;
    header.mode = static_cast<uint32_t>(random_.Below(0200) | 0400);
    header.uid = Chance(10) ? 3'000'000 + random_.Below(1000) : random_.Below(2000);
    header.gid = Chance(10) ? 3'000'000 + random_.Below(1000) : random_.Below(2000);
    header.mtime = 1'000'000'000 + random_.Below(700'000'000);
    if (Chance(5)) header.checksum = TarChecksum::kSigned;
    if (Chance(5))
      header.patches.emplace_back(136, std::string(11, '\xff') + static_cast<char>(random_.Below(256)));
    if (header.dialect == TarDialect::kGnu && Chance(20)) {
      header.patches.emplace_back(345, "14130613450");  // atime, where ustar has its prefix
      header.patches.emplace_back(357, "14130613451");
    }
    return header;
  }

  // Puts a name where it fits, writing extended headers first.
  void SetName(const std::string& name, TarHeader* header) {
    const size_t slash = name.rfind('/', name.size() - 2);
    const bool splits =
        slash != std::string::npos && slash > 0 && slash <= 155 && name.size() - slash - 1 <= 100;
    if (name.size() <= 100 && !Chance(15)) {
      header->name = name;
    } else if (header->dialect == TarDialect::kUstar && splits && !Chance(30)) {
      header->prefix = name.substr(0, slash);
      header->name = name.substr(slash + 1);
    } else if (Chance(50)) {
      writer_.AddGnuLong('L', name);
      header->name = name;
    } else {
      records_ += Record("path", name);
      header->name = "short";
    }
  }
  void SetLink(const std::string& target, TarHeader* header) {
    if (target.size() <= 100 && !Chance(15)) {
      header->link = target;
    } else if (Chance(50)) {
      writer_.AddGnuLong('K', target);
      header->link = target;
    } else {
      records_ += Record("linkpath", target);
    }
  }
  void AddRecords() {
    if (Chance(10)) {
      static constexpr const char* kFractions[] = {
          "0.5", "1700000000.123456789", "1.1234567891", "-2", "-1.5", "7."};
      records_ += Record("mtime", kFractions[random_.Below(6)]);
    }
    if (Chance(5)) records_ += Record("uid", std::to_string(random_.Below(5'000'000)));
    if (Chance(5)) records_ += Record("SCHILY.xattr.user.tarn", random_.Bytes(random_.Below(40)));
    if (Chance(5)) records_ += Record("comment", random_.Bytes(random_.Below(700)));
  }
  void FlushRecords() {
    if (records_.empty()) return;
    if (Chance(10)) writer_.AddPax(Record("comment", "first"));  // headers add up
    writer_.AddPax(std::exchange(records_, {}));
  }

  void AddMember() {
    const uint64_t kind = random_.Below(100);
    TarHeader header = Header();
    if (kind < 12) return AddSparse();
    if (kind < 22) {
      header.type = header.dialect == TarDialect::kV7 && Chance(50) ? '\0' : '5';
      header.mode |= 0100;
      SetName(Spelt(Directory() + "d" + std::to_string(random_.Below(3)) + "/"), &header);
    } else {
      SetName(Spelt(Directory() + Leaf()), &header);
    }
    AddRecords();
    std::string data;
    if (kind >= 22 && kind < 32) {
      header.type = '2';
      SetLink(Chance(20) ? std::string(150, 't') : "target" + std::to_string(random_.Below(9)), &header);
    } else if (kind >= 32 && kind < 48 && !files_.empty()) {
      header.type = '1';
      SetLink(Spelt(Chance(90) ? files_[random_.Below(files_.size())] : "nowhere"), &header);
      if (Chance(3)) header.size = random_.Below(5000);  // and no data: the next block says so
    } else if (kind >= 48 && kind < 52) {
      header.type = '6';
    } else if (kind >= 22) {
      header.type = Chance(5) ? '7' : Chance(10) ? '\0' : '0';
      data = random_.Bytes(random_.Below(4) == 0 ? 512 * random_.Below(4) : random_.Below(2500));
      header.size = data.size();
    }
    FlushRecords();
    writer_.Add(header);
    writer_.AddData(data);
  }

  void AddSparse() {
    // Segments in whole blocks: the only ones that GNU tar extracts rightly from an old GNU map.
    std::vector<std::pair<uint64_t, uint64_t>> segments;
    uint64_t end = 0;
    for (uint64_t count = random_.Below(8); count > 0; --count) {
      const uint64_t offset = end + 512 * random_.Below(9);
      const uint64_t length = 512 * (1 + random_.Below(2));
      segments.emplace_back(offset, length);
      end = offset + length;
    }
    const uint64_t real_size = end + (Chance(50) ? 512 * random_.Below(20) : 0);
    if (real_size > end || segments.empty()) segments.emplace_back(real_size, 0);
    uint64_t stored = 0;
    for (const auto& segment : segments) stored += segment.second;
    const std::string data = random_.Bytes(stored);
    const std::string name = Spelt(Leaf());
    TarHeader header = Header();
    switch (random_.Below(4)) {
      case 0:
        AddOldGnuSparse(std::move(header), name, segments, real_size, data);
        break;
      case 1:
        AddPax0Sparse(std::move(header), name, segments, real_size, data);
        break;
      default:
        AddPax1Sparse(std::move(header), name, segments, real_size, data);
    }
  }
  using Segments = std::vector<std::pair<uint64_t, uint64_t>>;
  void AddOldGnuSparse(TarHeader header, const std::string& name, const Segments& segments,
                       uint64_t real_size, const std::string& data) {
    header.dialect = TarDialect::kGnu;
    header.type = 'S';
    header.size = data.size();
    header.patches.clear();
    SetName(name, &header);
    std::string map;
    for (size_t i = 0; i < segments.size() && i < 4; ++i) {
      map += TarWriter::Segment(segments[i].first, segments[i].second);
    }
    header.patches.emplace_back(386, map);
    header.patches.emplace_back(483, TarWriter::Number12(real_size));
    if (segments.size() > 4) header.patches.emplace_back(482, "\x01");
    FlushRecords();
    writer_.Add(header);
    std::string block;
    for (size_t i = 4; i < segments.size(); ++i)
      block += TarWriter::Segment(segments[i].first, segments[i].second);
    writer_.AddData(block);
    writer_.AddData(data);
  }
  void AddPax0Sparse(TarHeader header, const std::string& name, const Segments& segments, uint64_t real_size,
                     const std::string& data) {
    header.dialect = TarDialect::kUstar;
    std::string records = Record("GNU.sparse.size", std::to_string(real_size)) +
                          Record("GNU.sparse.numblocks", std::to_string(segments.size()));
    std::string map;
    std::string pairs;
    for (const auto& [offset, length] : segments) {
      map += (map.empty() ? "" : ",") + std::to_string(offset) + "," + std::to_string(length);
      pairs += Record("GNU.sparse.offset", std::to_string(offset)) +
               Record("GNU.sparse.numbytes", std::to_string(length));
    }
    if (Chance(50)) {
      records += pairs + Record("path", name);
    } else {
      records += Record("GNU.sparse.name", name) + Record("GNU.sparse.map", map);
    }
    header.name = "GNUSparseFile.1/f";
    writer_.AddPax(records);
    writer_.AddFile(header, data);
  }
  void AddPax1Sparse(TarHeader header, const std::string& name, const Segments& segments, uint64_t real_size,
                     const std::string& data) {
    header.dialect = TarDialect::kUstar;
    header.name = "GNUSparseFile.1/f";
    std::string map = std::to_string(segments.size()) + "\n";
    for (const auto& [offset, length] : segments)
      map += std::to_string(offset) + "\n" + std::to_string(length) + "\n";
    map.resize((map.size() + 511) / 512 * 512);
    writer_.AddPax(Record("GNU.sparse.major", "1") + Record("GNU.sparse.minor", "0") +
                   Record("GNU.sparse.name", name) +
                   Record("GNU.sparse.realsize", std::to_string(real_size)));
    writer_.AddFile(header, map + data);
  }

  PseudoRandom random_;
  const std::string prefix_;
  TarWriter writer_;
  std::string records_;
  const std::vector<std::string> files_{"f0", "f1", "f2", "d0/f0", "d1/f1", "d0/d1/f2"};
};

}  // namespace

RandomArchive MakeRandomArchive(uint64_t seed, const std::string& prefix) {
  return Maker(seed, prefix).Make();
}

}  // namespace tarn::property
