// The operations, by group. Each is one call of Answer (op_guard.h).
//
// Every callback of fuse_lowlevel_ops is defined, also those that nobody calls: what libfuse answers for a
// missing one is ENOSYS, which the kernel remembers for the life of the mount, so that a later server could
// never offer it. OPEN, OPENDIR and FLUSH answer ENOSYS on purpose, always: the kernel then opens and closes
// by itself and keeps what it has cached.
#ifndef TARN_FUSE_OPS_H_
#define TARN_FUSE_OPS_H_

#include <fuse_lowlevel.h>

namespace tarn::fuse::ops {

// ops_connection.cc: INIT, and the end.
void Init(void* served, fuse_conn_info* connection);
void Destroy(void* served);

// ops_lookup.cc: names, attributes, permission.
void Lookup(fuse_req_t request, fuse_ino_t parent, const char* name);
void Forget(fuse_req_t request, fuse_ino_t inode, uint64_t lookups);
void ForgetMulti(fuse_req_t request, size_t count, fuse_forget_data* forgets);
void GetAttributes(fuse_req_t request, fuse_ino_t inode, fuse_file_info* file);
void Access(fuse_req_t request, fuse_ino_t inode, int mask);

// ops_directory.cc
void OpenDirectory(fuse_req_t request, fuse_ino_t inode, fuse_file_info* file);
void ReadDirectory(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset, fuse_file_info* file);
void ReadDirectoryPlus(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset, fuse_file_info* file);
void ReleaseDirectory(fuse_req_t request, fuse_ino_t inode, fuse_file_info* file);
void SyncDirectory(fuse_req_t request, fuse_ino_t inode, int data_only, fuse_file_info* file);

// ops_read.cc: bytes of files, and what else is asked of an open file.
void Open(fuse_req_t request, fuse_ino_t inode, fuse_file_info* file);
void Read(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset, fuse_file_info* file);
void Seek(fuse_req_t request, fuse_ino_t inode, off_t offset, int whence, fuse_file_info* file);
void Flush(fuse_req_t request, fuse_ino_t inode, fuse_file_info* file);
void Release(fuse_req_t request, fuse_ino_t inode, fuse_file_info* file);
void Sync(fuse_req_t request, fuse_ino_t inode, int data_only, fuse_file_info* file);
void GetLock(fuse_req_t request, fuse_ino_t inode, fuse_file_info* file, struct flock* lock);
void SetLock(fuse_req_t request, fuse_ino_t inode, fuse_file_info* file, struct flock* lock, int sleep);
void LockWholeFile(fuse_req_t request, fuse_ino_t inode, fuse_file_info* file, int operation);
void MapBlock(fuse_req_t request, fuse_ino_t inode, size_t block_size, uint64_t index);
void Ioctl(fuse_req_t request, fuse_ino_t inode, unsigned int command, void* argument, fuse_file_info* file,
           unsigned flags, const void* in, size_t in_size, size_t out_size);
void Poll(fuse_req_t request, fuse_ino_t inode, fuse_file_info* file, fuse_pollhandle* handle);

// ops_links.cc: symbolic links and extended attributes.
void ReadLink(fuse_req_t request, fuse_ino_t inode);
void GetXattr(fuse_req_t request, fuse_ino_t inode, const char* name, size_t size);
void ListXattrs(fuse_req_t request, fuse_ino_t inode, size_t size);

// ops_statfs.cc
void FileSystemStatus(fuse_req_t request, fuse_ino_t inode);

// ops_write.cc: everything that would change something answers EROFS. Fills in those callbacks.
void SetReadOnlyOperations(fuse_lowlevel_ops* operations);

// All of them.
fuse_lowlevel_ops Table();

}  // namespace tarn::fuse::ops

#endif  // TARN_FUSE_OPS_H_
