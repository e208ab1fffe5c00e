// Bytes and their spellings: fixed-width integers in a stated order, varints, names as people see them.
//
// Every format of Tarn is defined byte by byte, so nothing here depends on the machine's byte order.
#ifndef TARN_BASE_BYTES_H_
#define TARN_BASE_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tarn {

// Appends `value` most significant byte first: the order in which keys sort as numbers do.
void AppendBigEndian16(std::string* out, uint16_t value);
void AppendBigEndian32(std::string* out, uint32_t value);
void AppendBigEndian64(std::string* out, uint64_t value);

// Reads the first 2, 4 or 8 bytes at `from`, which must have them.
uint16_t ReadBigEndian16(const char* from);
uint32_t ReadBigEndian32(const char* from);
uint64_t ReadBigEndian64(const char* from);

// Unsigned LEB128: seven bits a byte, least significant first, the high bit says that more follows.
void AppendVarint(std::string* out, uint64_t value);
// Maps small negative numbers to small unsigned ones: 0, -1, 1, -2 become 0, 1, 2, 3.
constexpr uint64_t ZigZag(int64_t value) {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}
constexpr int64_t UnZigZag(uint64_t value) {
  return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
}

// Reads a record front to back and never past its end. After the first failure ok() is false, every read
// gives 0 or an empty view, and nothing is consumed: a decoder reads all its fields and asks once.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  uint8_t Byte();
  uint16_t BigEndian16();
  uint32_t BigEndian32();
  uint64_t BigEndian64();
  // At most 10 bytes, no bits beyond 64, no needless trailing zero groups: one number has one spelling.
  uint64_t Varint();
  // A varint that must fit 32 bits.
  uint32_t Varint32();
  int64_t SignedVarint() { return UnZigZag(Varint()); }
  // `length` bytes; a view into the record.
  std::string_view Bytes(uint64_t length);
  // A varint length, then that many bytes.
  std::string_view LengthPrefixed() { return Bytes(Varint()); }

  bool ok() const { return ok_; }
  // ok, and nothing is left over.
  bool AtEnd() const { return ok_ && rest_.empty(); }
  size_t remaining() const { return rest_.size(); }
  // Marks the record as bad: for callers that find a value out of range.
  void Fail() { ok_ = false; }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

void AppendLengthPrefixed(std::string* out, std::string_view bytes);

// Names are bytes; this is how they are shown: printable ASCII except the backslash as it is, every other
// byte \xNN.
std::string EscapeName(std::string_view bytes);
// The reverse; nothing if `text` holds a backslash that starts no \xNN.
std::optional<std::string> UnescapeName(std::string_view text);

// Lower-case hexadecimal, two characters a byte.
std::string ToHex(std::string_view bytes);
std::optional<std::string> FromHex(std::string_view text);

// "1.5 GiB", for people. Machines get plain numbers.
std::string HumanBytes(uint64_t bytes);

}  // namespace tarn

#endif  // TARN_BASE_BYTES_H_
