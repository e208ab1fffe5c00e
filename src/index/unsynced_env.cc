#include "index/unsynced_env.h"

#include <rocksdb/file_system.h>

#include <memory>
#include <string>
#include <utility>

namespace tarn::index {
namespace {

class UnsyncedFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  using FSWritableFileOwnerWrapper::FSWritableFileOwnerWrapper;
  rocksdb::IOStatus Sync(const rocksdb::IOOptions&, rocksdb::IODebugContext*) override {
    return rocksdb::IOStatus::OK();
  }
  rocksdb::IOStatus Fsync(const rocksdb::IOOptions&, rocksdb::IODebugContext*) override {
    return rocksdb::IOStatus::OK();
  }
};

class UnsyncedFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  using FileSystemWrapper::FileSystemWrapper;
  const char* Name() const override { return "TarnUnsynced"; }
  rocksdb::IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* result,
                                    rocksdb::IODebugContext* debug) override {
    std::unique_ptr<rocksdb::FSWritableFile> file;
    rocksdb::IOStatus status = target()->NewWritableFile(path, options, &file, debug);
    if (status.ok()) *result = std::make_unique<UnsyncedFile>(std::move(file));
    return status;
  }
};

}  // namespace

rocksdb::Env* UnsyncedEnv() {
  // Never destroyed: files that use it may be closed while the process ends.
  static rocksdb::Env* const env =
      rocksdb::NewCompositeEnv(std::make_shared<UnsyncedFileSystem>(rocksdb::FileSystem::Default()))
          .release();
  return env;
}

}  // namespace tarn::index
