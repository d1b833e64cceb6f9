#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/app/options/options.h"
#include "runtime/base/environment.h"

namespace tdsl::rt {

/// The files that a run reads or is, and the files that it writes. A written file replaces none of the former and no
/// other written file. Files are compared by device and inode, so another spelling, a symbolic link or a hard link is
/// found. Not collective; looks at the file system.
class RunFiles {
 public:
  /// Keeps the running executable and the file of the machine's constants.
  explicit RunFiles(const Environment& environment);

  /// Keeps a file, or a folder with all files below it. `what` completes "it is …" in messages. A path that does not
  /// exist has no effect. Throws RunError (usage) if a file that `write` has added is the file or lies in the folder.
  void keep(const std::string& path, const std::string& what);
  /// Keeps existing files of this name in any folder.
  void keep_named(const std::string& name, const std::string& what);
  /// Adds a file, a dataset of a file or a folder that the option `what` writes. Throws RunError (usage) if it is a
  /// kept file, lies in a kept folder or is a folder with a kept file, or collides with another written file. Devices
  /// are not compared.
  void write(const std::string& what, const std::string& path);
  /// The same for a text, which is also checked by require_text_target.
  void write_text(const std::string& what, const std::string& path);
  /// Keeps the files that the options of a run read, then adds those that they write.
  void add(const AppOptions& options);

 private:
  using Inode = std::pair<dev_t, ino_t>;
  /// A path as the file system sees it.
  struct File {
    std::string path;  ///< absolute, without symbolic links
    std::string part;  ///< dataset of an HDF5 file
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
