# RocksDB, shared, without the config file's demand for every optional dependency's own development package.
find_path(ROCKSDB_INCLUDE_DIR rocksdb/db.h)
find_library(ROCKSDB_LIBRARY rocksdb)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(RocksDBLibrary REQUIRED_VARS ROCKSDB_LIBRARY ROCKSDB_INCLUDE_DIR)
if(RocksDBLibrary_FOUND AND NOT TARGET RocksDBLibrary::rocksdb)
  add_library(RocksDBLibrary::rocksdb UNKNOWN IMPORTED)
  set_target_properties(RocksDBLibrary::rocksdb PROPERTIES IMPORTED_LOCATION "${ROCKSDB_LIBRARY}"
                                                           INTERFACE_INCLUDE_DIRECTORIES "${ROCKSDB_INCLUDE_DIR}")
endif()
