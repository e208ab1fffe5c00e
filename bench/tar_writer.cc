#include "bench/tar_writer.h"

#include <fmt/format.h>

#include <cstring>

#include "tarn/base/bytes.h"

namespace tarn::bench {
namespace {

constexpr size_t kRecordBytes = 20 * kTarBlockBytes;
constexpr uint64_t kOctalSizeLimit = uint64_t{1} << 33;  // 11 octal digits
constexpr size_t kNameBytes = 100;
constexpr size_t kPrefixBytes = 155;

// The fields of a header block: POSIX.1-1988, and GNU tar's magic.
struct Header {
  char name[100];
  char mode[8];
  char uid[8];
  char gid[8];
  char size[12];
  char mtime[12];
  char checksum[8];
  char type;
  char link[100];
  char magic[8];
  char user_name[32];
  char group_name[32];
  char device_major[8];
  char device_minor[8];
  char prefix[155];
  char unused[12];
};
static_assert(sizeof(Header) == kTarBlockBytes);

template <size_t N>
void PutOctal(uint64_t value, char (&field)[N]) {
  field[N - 1] = '\0';
  for (size_t i = N - 1; i-- > 0; value >>= 3) field[i] = static_cast<char>('0' + (value & 7));
}

void PutBase256(uint64_t value, char (&field)[12]) {
  std::memset(field, 0, sizeof field);
  field[0] = static_cast<char>(0x80);
  for (size_t i = 12; i-- > 4; value >>= 8) field[i] = static_cast<char>(value & 0xff);
}

void PutChecksum(Header* header) {
  std::memset(header->checksum, ' ', sizeof header->checksum);
  unsigned sum = 0;
  const auto* bytes = reinterpret_cast<const unsigned char*>(header);
  for (size_t i = 0; i < kTarBlockBytes; ++i) sum += bytes[i];
  fmt::format_to_n(header->checksum, 7, "{:06o}", sum);
  header->checksum[6] = '\0';
  header->checksum[7] = ' ';
}

void AppendBlock(Header* header, std::string* out) {
  PutChecksum(header);
  out->append(reinterpret_cast<const char*>(header), kTarBlockBytes);
}

void AppendPadded(std::string_view bytes, std::string* out) {
  out->append(bytes);
  out->append(TarPadding(bytes.size()), '\0');
}

Header MakeHeader(TarFormat format, char type, const TarMember& member) {
  Header header = {};
  PutOctal(member.mode, header.mode);
  PutOctal(member.uid, header.uid);
  PutOctal(member.gid, header.gid);
  PutOctal(member.size, header.size);
  PutOctal(static_cast<uint64_t>(member.mtime), header.mtime);
  header.type = type;
  std::memcpy(header.magic,
              format == TarFormat::kGnu ? "ustar  "
                                        : "ustar\0"
                                          "00",
              sizeof header.magic);
  std::memcpy(header.user_name, "trainer", 7);
  std::memcpy(header.group_name, "trainer", 7);
  return header;
}

// "27 mtime=1600000000.123456789\n": the length counts itself.
std::string PaxRecord(std::string_view keyword, std::string_view value) {
  const std::string body = fmt::format(" {}={}\n", keyword, value);
  size_t length = body.size() + 1;
  while (fmt::formatted_size("{}", length) + body.size() != length)
    length = fmt::formatted_size("{}", length) + body.size();
  return fmt::format("{}{}", length, body);
}

void AppendGnuLongName(const TarMember& member, std::string* out) {
  const std::string name = std::string(member.name) + '\0';
  Header header = MakeHeader(TarFormat::kGnu, 'L', {.name = {}, .size = name.size(), .mode = 0644});
  std::memcpy(header.name, "././@LongLink", 13);
  AppendBlock(&header, out);
  AppendPadded(name, out);
}

void AppendPaxHeader(const TarMember& member, std::string* out) {
  std::string records = PaxRecord("mtime", fmt::format("{}.{:09}", member.mtime, member.mtime_ns));
  if (member.name.size() > kNameBytes) records += PaxRecord("path", member.name);
  if (member.size >= kOctalSizeLimit) records += PaxRecord("size", fmt::format("{}", member.size));
  Header header =
      MakeHeader(TarFormat::kPax, 'x', {.name = {}, .size = records.size(), .mtime = member.mtime});
  const std::string name = "PaxHeaders/" + std::string(member.name.substr(0, kNameBytes - 12));
  std::memcpy(header.name, name.data(), name.size());
  AppendBlock(&header, out);
  AppendPadded(records, out);
}

// The name in `name`, or split at a slash between `prefix` and `name`.
Status PutUstarName(std::string_view name, Header* header) {
  if (name.size() <= kNameBytes) {
    std::memcpy(header->name, name.data(), name.size());
    return Status::Ok();
  }
  const size_t slash = name.rfind('/', kPrefixBytes);
  if (slash == std::string_view::npos || slash == 0 || name.size() - slash - 1 > kNameBytes) {
    return Status(ErrorCode::kUnsupported,
                  fmt::format("the name '{}' of {} bytes does not fit a ustar header", EscapeName(name),
                              name.size()))
        .WithHint("--format=pax or --format=gnu takes names of any length");
  }
  std::memcpy(header->prefix, name.data(), slash);
  std::memcpy(header->name, name.data() + slash + 1, name.size() - slash - 1);
  return Status::Ok();
}

}  // namespace

Result<TarFormat> ParseTarFormat(std::string_view text) {
  for (const TarFormat format : {TarFormat::kGnu, TarFormat::kPax, TarFormat::kUstar}) {
    if (text == TarFormatName(format)) return format;
  }
  return Status(ErrorCode::kInvalidArgument, fmt::format("expected a tar format, found '{}'", text))
      .WithHint("the formats are gnu, pax and ustar");
}

std::string_view TarFormatName(TarFormat format) {
  switch (format) {
    case TarFormat::kGnu:
      return "gnu";
    case TarFormat::kPax:
      return "pax";
    case TarFormat::kUstar:
      return "ustar";
  }
  return "";
}

Status AppendTarHeader(TarFormat format, const TarMember& member, std::string* out) {
  const bool directory = member.name.ends_with('/');
  Header header = MakeHeader(format, directory ? '5' : '0', member);
  if (format == TarFormat::kUstar) {
    TARN_RETURN_IF_ERROR(PutUstarName(member.name, &header));
    if (member.size >= kOctalSizeLimit) {
      return Status(ErrorCode::kUnsupported,
                    fmt::format("a member of {} bytes does not fit a ustar header", member.size))
          .WithHint("--format=pax or --format=gnu takes members of 8 GiB and more");
    }
    AppendBlock(&header, out);
    return Status::Ok();
  }
  if (format == TarFormat::kPax) AppendPaxHeader(member, out);
  if (format == TarFormat::kGnu && member.name.size() > kNameBytes) AppendGnuLongName(member, out);
  if (format == TarFormat::kGnu && member.size >= kOctalSizeLimit) PutBase256(member.size, header.size);
  const std::string_view name = member.name.substr(0, kNameBytes);
  std::memcpy(header.name, name.data(), name.size());
  AppendBlock(&header, out);
  return Status::Ok();
}

void AppendTarEnd(uint64_t size, std::string* out) {
  const uint64_t end = (size + 2 * kTarBlockBytes + kRecordBytes - 1) / kRecordBytes * kRecordBytes;
  out->append(static_cast<size_t>(end - size), '\0');
}

}  // namespace tarn::bench
