#include "fuse/mount_options.h"

#include <algorithm>
#include <array>

namespace tarn::fuse {
namespace {

// Sorted. What the mount is anyway (ro, nosuid, nodev, default_permissions), what mount(8) and its likes say
// to each other, and what says nothing about a file system that never changes.
constexpr std::array<std::string_view, 34> kOfEveryMount = {
    "_netdev", "async",      "atime",       "auto",       "defaults", "dev",        "diratime",
    "dirsync", "exec",       "group",       "iversion",   "lazytime", "loud",       "mand",
    "noatime", "noauto",     "nodev",       "nodiratime", "nofail",   "noiversion", "nolazytime",
    "nomand",  "norelatime", "nosuid",      "nouser",     "owner",    "relatime",   "ro",
    "rw",      "silent",     "strictatime", "suid",       "user",     "users"};
static_assert(std::is_sorted(kOfEveryMount.begin(), kOfEveryMount.end()));

bool IsOfEveryMount(std::string_view option) {
  return std::binary_search(kOfEveryMount.begin(), kOfEveryMount.end(), option) || option.starts_with("x-") ||
         option.starts_with("X-") || option.starts_with("comment=") || option.starts_with("user=") ||
         option == "default_permissions" || option == "sync" || option.starts_with("subtype=");
}

// The long option that means the same, with the dashes of long options for the underscores of mount options.
std::string LongOption(std::string_view option) {
  const size_t equals = option.find('=');
  std::string name(option.substr(0, equals));
  std::replace(name.begin(), name.end(), '_', '-');
  if (name == "noexec") name = "no-exec";
  std::string text = "--" + name;
  if (equals != std::string_view::npos) text += option.substr(equals);
  return text;
}

void Append(std::vector<std::string>* to, std::vector<std::string> more) {
  to->insert(to->end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace

std::vector<std::string> SplitMountOptions(std::string_view text) {
  std::vector<std::string> options;
  std::string option;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size() && (text[i + 1] == ',' || text[i + 1] == '\\')) {
      option += text[++i];
    } else if (text[i] == ',') {
      if (!option.empty()) options.push_back(std::move(option));
      option.clear();
    } else {
      option += text[i];
    }
  }
  if (!option.empty()) options.push_back(std::move(option));
  return options;
}

std::vector<std::string> LongOptionsOf(std::string_view mount_options) {
  std::vector<std::string> long_options;
  for (const std::string& option : SplitMountOptions(mount_options)) {
    if (!IsOfEveryMount(option)) long_options.push_back(LongOption(option));
  }
  return long_options;
}

std::vector<std::string> ExpandMountOptions(const std::vector<std::string>& arguments, bool mount_helper) {
  std::vector<std::string> expanded;
  std::vector<std::string> positional;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    const bool has_next = i + 1 < arguments.size();
    if (argument == "-o" && has_next) {
      Append(&expanded, LongOptionsOf(arguments[++i]));
    } else if (argument.starts_with("-o") && argument.size() > 2) {
      Append(&expanded, LongOptionsOf(argument.substr(2)));
    } else if (mount_helper && (argument == "-t" || argument == "-N") && has_next) {
      ++i;
    } else if (mount_helper && argument.size() > 1 && argument[0] == '-' &&
               argument.find_first_not_of("sfnv", 1) == std::string::npos) {
      continue;
    } else if (mount_helper && !argument.starts_with('-')) {
      positional.push_back(argument);
    } else {
      expanded.push_back(argument);
    }
  }
  if (positional.size() == 2) {
    // fstab(5) writes "none" where there is no device: every dataset, as "*", which the mount table shows.
    std::string_view spec = positional.front();
    if (spec.starts_with("tarn:")) spec.remove_prefix(5);
    if (spec != "none" && spec != "*") expanded.push_back("--dataset=" + std::string(spec));
    positional.erase(positional.begin());
  }
  Append(&expanded, std::move(positional));
  return expanded;
}

}  // namespace tarn::fuse
