// -o: the comma-separated options of mount(8), turned into long options of tarn-mount.
#ifndef TARN_FUSE_MOUNT_OPTIONS_H_
#define TARN_FUSE_MOUNT_OPTIONS_H_

#include <string>
#include <string_view>
#include <vector>

namespace tarn::fuse {

// Splits at commas that no backslash precedes; backslash and comma, and two backslashes, stand for
// themselves.
std::vector<std::string> SplitMountOptions(std::string_view text);

// "access=member" becomes "--access=member", "allow_other" "--allow-other"; options that every mount has and
// that Tarn's mounts either always have or that mean nothing to them vanish.
std::vector<std::string> LongOptionsOf(std::string_view mount_options);

// The command line with each "-o LIST" replaced by the long options it stands for. With `mount_helper`, also
// what mount(8) adds (-s, -f, -n, -v, -t TYPE, -N NAMESPACE) is taken out, and SPEC MNT becomes --dataset
// SPEC MNT.
std::vector<std::string> ExpandMountOptions(const std::vector<std::string>& arguments, bool mount_helper);

}  // namespace tarn::fuse

#endif  // TARN_FUSE_MOUNT_OPTIONS_H_
