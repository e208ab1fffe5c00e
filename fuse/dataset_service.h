// What a mount serves: a generation of the index, its sources, and the tree over both.
#ifndef TARN_FUSE_DATASET_SERVICE_H_
#define TARN_FUSE_DATASET_SERVICE_H_

#include <memory>
#include <string>

#include "fuse/file_system.h"
#include "fuse/negotiated.h"
#include "fuse/options.h"
#include "fuse/source_gate.h"
#include "tarn/base/result.h"
#include "tarn/dataset/file_tree.h"
#include "tarn/index/generation_reader.h"

namespace tarn::fuse {

class DatasetService {
 public:
  // Opens the index root, resolves the dataset, opens its generation and the sources. Errors name the setting
  // they come from and what helps.
  static Result<std::unique_ptr<DatasetService>> Open(const MountCommand& command);

  const FileSystem& file_system() const { return *file_system_; }
  const index::GenerationFacts& facts() const { return generation_->facts(); }
  // "imagenet@7"
  std::string name() const;
  // What bounds the calls into the sources; the session's.
  SourceGate* gate() { return gate_.get(); }
  // The part of the negotiated record that is known before INIT.
  const NegotiatedRecord& record() const { return record_; }

 private:
  DatasetService() = default;

  std::unique_ptr<SourceGate> gate_;
  std::shared_ptr<const index::GenerationReader> generation_;
  std::unique_ptr<dataset::FileTree> tree_;
  std::unique_ptr<FileSystem> file_system_;
  NegotiatedRecord record_;
};

}  // namespace tarn::fuse

#endif  // TARN_FUSE_DATASET_SERVICE_H_
