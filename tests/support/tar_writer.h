// Writes tars for tests, in every dialect and with every defect: each header is a struct, and what a struct
// cannot say is patched into the block by offset, before or after its checksum is taken.
#ifndef TARN_TESTS_SUPPORT_TAR_WRITER_H_
#define TARN_TESTS_SUPPORT_TAR_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tarn::support {

enum class TarDialect { kV7, kUstar, kGnu };
enum class TarChecksum { kUnsigned, kSigned };

struct TarHeader {
  std::string name = "f";
  char type = '0';
  uint64_t size = 0;  // as the header states it; AddFile sets it
  uint32_t mode = 0644;
  uint64_t uid = 1000;
  uint64_t gid = 1000;
  uint64_t mtime = 1'700'000'000;
  std::string link;
  std::string user = "user";
  std::string group = "group";
  uint32_t device_major = 0;
  uint32_t device_minor = 0;
  std::string prefix;  // ustar: directory part
  TarDialect dialect = TarDialect::kUstar;
  TarChecksum checksum = TarChecksum::kUnsigned;
  std::vector<std::pair<size_t, std::string>> patches;         // bytes at offsets; covered by the checksum
  std::vector<std::pair<size_t, std::string>> after_checksum;  // the same, not covered
};

class TarWriter {
 public:
  // Appends a header block; gives its offset.
  uint64_t Add(const TarHeader& header) {
    const uint64_t offset = bytes_.size();
    bytes_ += Block(header);
    return offset;
  }
  // Header and data, padded.
  uint64_t AddFile(TarHeader header, std::string_view data) {
    header.size = data.size();
    const uint64_t offset = Add(header);
    AddData(data);
    return offset;
  }
  uint64_t AddFile(const std::string& name, std::string_view data) { return AddFile(Named(name), data); }
  uint64_t AddDirectory(const std::string& name) {
    TarHeader header = Named(name);
    header.type = '5';
    header.mode = 0755;
    return Add(header);
  }
  uint64_t AddLink(const std::string& name, char type, const std::string& target) {
    TarHeader header = Named(name);
    header.type = type;
    header.link = target;
    return Add(header);
  }
  // An extended header with `records` (PaxRecord): type x, g or X.
  uint64_t AddPax(std::string_view records, char type = 'x') {
    TarHeader header = Named("PaxHeaders/f");
    header.type = type;
    return AddFile(header, records);
  }
  // GNU L (name) or K (link).
  uint64_t AddGnuLong(char type, std::string_view text) {
    TarHeader header = Named("././@LongLink");
    header.dialect = TarDialect::kGnu;
    header.type = type;
    return AddFile(header, std::string(text) + '\0');
  }
  void AddData(std::string_view data) {
    bytes_ += data;
    bytes_.append((512 - bytes_.size() % 512) % 512, '\0');
  }
  void AddRaw(std::string_view bytes) { bytes_ += bytes; }
  void AddZeroBlocks(size_t count) { bytes_.append(count * 512, '\0'); }
  // The end-of-archive marker.
  const std::string& Finish() {
    AddZeroBlocks(2);
    return bytes_;
  }
  const std::string& bytes() const { return bytes_; }
  uint64_t size() const { return bytes_.size(); }

  static TarHeader Named(const std::string& name) {
    TarHeader header;
    header.name = name;
    return header;
  }
  // "LENGTH KEYWORD=VALUE\n", LENGTH counting itself.
  static std::string PaxRecord(std::string_view keyword, std::string_view value) {
    const std::string body = " " + std::string(keyword) + "=" + std::string(value) + "\n";
    size_t length = body.size();
    while (std::to_string(length).size() + body.size() != length)
      length = std::to_string(length).size() + body.size();
    return std::to_string(length) + body;
  }
  // Eleven octal digits and a NUL, or base-256 beyond them.
  static std::string Number12(uint64_t value) {
    if (value >> 33 == 0) return Octal(value, 12);
    std::string field(12, '\0');
    field[0] = static_cast<char>(0x80);
    for (size_t i = 0; i < 8; ++i) field[11 - i] = static_cast<char>(value >> (8 * i));
    return field;
  }
  // One segment of an old GNU or star sparse map.
  static std::string Segment(uint64_t offset, uint64_t length) { return Number12(offset) + Number12(length); }

  static std::string Block(const TarHeader& header) {
    std::string block(512, '\0');
    const auto put = [&block](size_t offset, std::string_view bytes, size_t limit) {
      std::memcpy(block.data() + offset, bytes.data(), bytes.size() < limit ? bytes.size() : limit);
    };
    put(0, header.name, 100);
    put(100, Octal(header.mode, 8), 8);
    put(108, header.uid > 07777777 ? Base256(header.uid, 8) : Octal(header.uid, 8), 8);
    put(116, header.gid > 07777777 ? Base256(header.gid, 8) : Octal(header.gid, 8), 8);
    put(124, Number12(header.size), 12);
    put(136, Number12(header.mtime), 12);
    block[156] = header.type;
    put(157, header.link, 100);
    if (header.dialect != TarDialect::kV7) {
      put(257,
          header.dialect == TarDialect::kGnu ? std::string_view("ustar  \0", 8)
                                             : std::string_view("ustar\00000", 8),
          8);
      put(265, header.user, 32);
      put(297, header.group, 32);
      put(329, Octal(header.device_major, 8), 8);
      put(337, Octal(header.device_minor, 8), 8);
      if (header.dialect == TarDialect::kUstar) put(345, header.prefix, 155);
    }
    for (const auto& [offset, bytes] : header.patches) put(offset, bytes, 512 - offset);
    put(148, Octal(Sum(block, header.checksum), 7) + " ", 8);
    for (const auto& [offset, bytes] : header.after_checksum) put(offset, bytes, 512 - offset);
    return block;
  }

 private:
  static std::string Octal(uint64_t value, size_t bytes) {
    std::string field(bytes, '\0');
    for (size_t i = bytes - 1; i-- > 0; value >>= 3) field[i] = static_cast<char>('0' + (value & 7));
    return field;
  }
  static std::string Base256(uint64_t value, size_t bytes) {
    std::string field(bytes, '\0');
    for (size_t i = 0; i + 1 < bytes; ++i) field[bytes - 1 - i] = static_cast<char>(value >> (8 * i));
    field[0] = static_cast<char>(0x80);
    return field;
  }
  static uint64_t Sum(const std::string& block, TarChecksum kind) {
    int64_t sum = 0;
    for (size_t i = 0; i < block.size(); ++i) {
      const char byte = i >= 148 && i < 156 ? ' ' : block[i];
      sum += kind == TarChecksum::kSigned ? static_cast<signed char>(byte) : static_cast<unsigned char>(byte);
    }
    return static_cast<uint64_t>(sum);
  }

  std::string bytes_;
};

}  // namespace tarn::support

#endif  // TARN_TESTS_SUPPORT_TAR_WRITER_H_
