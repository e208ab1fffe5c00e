#include "cli/view.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "tarn/base/bytes.h"

namespace tarn::cli {

bool NodeFacts::IsDirectory() const {
  return S_ISDIR(mode);
}
bool NodeFacts::IsSymlink() const {
  return S_ISLNK(mode);
}
bool NodeFacts::IsFile() const {
  return S_ISREG(mode);
}

std::string_view NodeFacts::TypeName() const {
  switch (mode & S_IFMT) {
    case S_IFDIR:
      return "dir";
    case S_IFLNK:
      return "sym";
    case S_IFCHR:
      return "chr";
    case S_IFBLK:
      return "blk";
    case S_IFIFO:
      return "fifo";
    default:
      return "reg";
  }
}

nlohmann::ordered_json BasicFacts(const NodeFacts& node) {
  nlohmann::ordered_json facts;
  facts["path"] = EscapeName(node.path);
  facts["type"] = node.TypeName();
  facts["mode"] = node.mode & 07777;
  facts["size"] = node.size;
  facts["blocks"] = node.blocks;
  facts["links"] = node.links;
  facts["uid"] = node.uid;
  facts["gid"] = node.gid;
  facts["mtime"] = node.mtime;
  facts["mtime_ns"] = node.mtime_ns;
  if (S_ISCHR(node.mode) || S_ISBLK(node.mode)) {
    facts["device"] = {major(node.device), minor(node.device)};
  }
  facts["node"] = node.node;
  return facts;
}

}  // namespace tarn::cli
