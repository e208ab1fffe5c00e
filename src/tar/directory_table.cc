#include "tar/directory_table.h"

#include <functional>

namespace tarn::tar {

DirectoryTable::DirectoryTable() : rows_(1), slots_(64, kNoDirectory) {}

uint64_t DirectoryTable::Hash(uint32_t parent, std::string_view name) {
  uint64_t hash = std::hash<std::string_view>{}(name) ^ (uint64_t{parent} * 0x9e3779b97f4a7c15ULL);
  hash *= 0xff51afd7ed558ccdULL;
  return hash ^ (hash >> 32);
}

size_t DirectoryTable::SlotOf(uint32_t parent, std::string_view wanted) const {
  const size_t mask = slots_.size() - 1;
  for (size_t slot = static_cast<size_t>(Hash(parent, wanted)) & mask;; slot = (slot + 1) & mask) {
    const uint32_t number = slots_[slot];
    if (number == kNoDirectory) return slot;
    if (rows_[number].parent == parent && name(number) == wanted) return slot;
  }
}

uint32_t DirectoryTable::Find(uint32_t parent, std::string_view wanted) const {
  return slots_[SlotOf(parent, wanted)];
}

uint32_t DirectoryTable::Add(uint32_t parent, std::string_view wanted) {
  if (rows_.size() * 2 > slots_.size()) Grow();
  const uint32_t number = size();
  Row row;
  row.name_offset = names_.size();
  row.name_length = static_cast<uint32_t>(wanted.size());
  row.parent = parent;
  names_.append(wanted);
  rows_.push_back(row);
  slots_[SlotOf(parent, wanted)] = number;
  return number;
}

void DirectoryTable::Grow() {
  slots_.assign(slots_.size() * 2, kNoDirectory);
  for (uint32_t number = 1; number < size(); ++number) {
    slots_[SlotOf(rows_[number].parent, name(number))] = number;
  }
}

uint32_t DirectoryTable::FindPath(std::string_view path) const {
  uint32_t directory = kRootDirectory;
  for (size_t begin = 0; begin < path.size() && directory != kNoDirectory;) {
    size_t end = path.find('/', begin);
    if (end == std::string_view::npos) end = path.size();
    directory = Find(directory, path.substr(begin, end - begin));
    begin = end + 1;
  }
  return directory;
}

std::string DirectoryTable::PathOf(uint32_t directory, std::string_view name_in_it) const {
  std::string path(name_in_it);
  for (; directory != kRootDirectory; directory = rows_[directory].parent) {
    path.insert(0, 1, '/');
    path.insert(0, name(directory));
  }
  return path;
}

}  // namespace tarn::tar
