// A directory of a test's own, removed with everything in it when the test ends.
#ifndef TARN_TESTS_SUPPORT_SCRATCH_H_
#define TARN_TESTS_SUPPORT_SCRATCH_H_

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tarn::support {

class Scratch {
 public:
  Scratch() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tarn-test-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot make a scratch directory");
    path_ = std::filesystem::canonical(pattern).string();
  }
  ~Scratch() {
    std::error_code ignored;  // a directory that stays behind fails no test
    std::filesystem::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }

  // Writes a file, and the directories above it; gives its path.
  std::string Write(std::string_view name, std::string_view contents) const {
    const std::string path = *this / name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file.write(contents.data(), static_cast<std::streamsize>(contents.size()));
    if (!file.flush()) throw std::runtime_error("cannot write " + path);
    return path;
  }

  static std::string Read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error("cannot read " + path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }

 private:
  std::string path_;
};

}  // namespace tarn::support

#endif  // TARN_TESTS_SUPPORT_SCRATCH_H_
