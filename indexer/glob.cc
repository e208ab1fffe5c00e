#include "indexer/glob.h"

#include <algorithm>
#include <optional>

namespace tarn::indexer {
namespace {

// The length of the set that starts at pattern[0] == '[', and whether `byte` is in it. Nothing when it has no
// end: '[' then stands for itself.
struct SetMatch {
  size_t length;
  bool contains;
};
std::optional<SetMatch> MatchSet(std::string_view pattern, char byte) {
  size_t i = 1;
  const bool negated = i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^');
  if (negated) ++i;
  bool contains = false;
  const auto value = static_cast<unsigned char>(byte);
  for (bool first = true; i < pattern.size() && (first || pattern[i] != ']'); first = false) {
    const auto low = static_cast<unsigned char>(pattern[i]);
    auto high = low;
    if (i + 2 < pattern.size() && pattern[i + 1] == '-' && pattern[i + 2] != ']') {
      high = static_cast<unsigned char>(pattern[i + 2]);
      i += 2;
    }
    contains = contains || (low <= value && value <= high);
    ++i;
  }
  if (i >= pattern.size()) return std::nullopt;
  return SetMatch{i + 1, contains != negated};
}

// How many bytes of the pattern the next byte of the text uses up; 0 when it does not match.
size_t MatchOne(std::string_view pattern, char byte) {
  switch (pattern[0]) {
    case '?':
      return byte == '/' ? 0 : 1;
    case '[':
      if (const auto set = MatchSet(pattern, byte)) return set->contains && byte != '/' ? set->length : 0;
      break;
    case '\\':
      if (pattern.size() > 1) return pattern[1] == byte ? 2 : 0;
      break;
    default:
      break;
  }
  return pattern[0] == byte ? 1 : 0;
}

// Goes back to the last star only, which is enough within one component; `**` is tried at every place, so the
// time is bounded by text x pattern for each `**` of the pattern.
bool Matches(std::string_view pattern, std::string_view text) {
  size_t p = 0, t = 0;
  size_t star = std::string_view::npos, star_text = 0;
  while (t < text.size()) {
    if (pattern.substr(p, 2) == "**") {
      std::string_view rest = pattern.substr(p + 2);
      // "**/" also matches nothing: "**/x" finds x at the top.
      if (!rest.empty() && rest[0] == '/' && Matches(rest.substr(1), text.substr(t))) return true;
      for (size_t skip = t; skip <= text.size(); ++skip) {
        if (Matches(rest, text.substr(skip))) return true;
      }
      return false;
    }
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_text = t;
      continue;
    }
    const size_t used = p < pattern.size() ? MatchOne(pattern.substr(p), text[t]) : 0;
    if (used > 0) {
      p += used;
      ++t;
      continue;
    }
    if (star == std::string_view::npos || text[star_text] == '/') return false;
    p = star + 1;
    t = ++star_text;
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

bool MatchesAny(const std::vector<std::string>& patterns, std::string_view path) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [path](const std::string& pattern) { return GlobMatches(pattern, path); });
}

}  // namespace

bool GlobMatches(std::string_view pattern, std::string_view path) {
  if (pattern.find('/') == std::string_view::npos) path = path.substr(path.rfind('/') + 1);
  if (!pattern.empty() && pattern[0] == '/') pattern.remove_prefix(1);
  return Matches(pattern, path);
}

bool Selection::Enters(std::string_view directory) const {
  return !MatchesAny(exclude, directory);
}

bool Selection::Selects(std::string_view file) const {
  return (include.empty() || MatchesAny(include, file)) && !MatchesAny(exclude, file);
}

bool Selection::NamesArchive(std::string_view file) const {
  return file.ends_with(".tar") || MatchesAny(archive_glob, file);
}

}  // namespace tarn::indexer
