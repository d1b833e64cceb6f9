#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/app/options/options.h"
#include "runtime/base/environment.h"

namespace tdsl::rt {

/// The files that a run reads, including its executable, and the files that it writes. A written file may not replace
/// any of the former nor another written file. Files are compared by device and inode, so different spellings, symbolic
/// links and hard links are detected. Not collective; accesses the file system.
class RunFiles {
 public:
  /// Protects the running executable and the machine file.
  explicit RunFiles(const Environment& environment);

  /// Protects a file, or a folder with all files below it. `what` completes "it is …" in messages. A path that does not
  /// exist has no effect. Throws RunError (usage) if a file added by `write` is the file or is in the folder.
  void keep(const std::string& path, const std::string& what);
  /// Protects existing files of this name in any folder.
  void keep_named(const std::string& name, const std::string& what);
  /// Adds a file, a dataset of a file, or a folder written by the option `what`. Throws RunError (usage) if it is
  /// protected, is inside a protected folder, contains a protected file, or collides with another written file. Devices
  /// are not compared.
  void write(const std::string& what, const std::string& path);
  /// The same for a text file, which is also checked by require_text_target.
  void write_text(const std::string& what, const std::string& path);
  /// Protects the files read according to the options, then adds those written.
  void add(const AppOptions& options);

 private:
  using Inode = std::pair<dev_t, ino_t>;
  /// A path resolved by the file system.
  struct File {
    std::string path;  ///< absolute, without symbolic links
    std::string part;  ///< dataset within an HDF5 file
    std::optional<Inode> inode;
    bool folder = false, device = false;
  };
  struct Named {
    File file;
    std::string given, what;
  };
  [[nodiscard]] static File look_at(const std::string& path);
  [[nodiscard]] static bool lies_in(const File& file, const File& folder);
  static void require_apart(const Named& written, const Named& kept);
  [[nodiscard]] static bool collide(const File& a, const File& b);
  void keep_checkpoints(const std::string& directory);

  std::vector<Named> kept_;
  std::vector<std::pair<std::string, std::string>> kept_names_;  ///< name, what
  std::vector<Named> written_;
};

}  // namespace tdsl::rt
