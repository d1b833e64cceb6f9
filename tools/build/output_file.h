#pragma once

#include <sys/types.h>

#include <stdexcept>
#include <string>
#include <string_view>

#include "tools/build/interrupts.h"

namespace tdsl::codegen {

/// A file cannot be written; the message contains its name and the reason.
class OutputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A file that appears under its name only when complete: readers see either the old or the new content. Until then it
/// has an unpredictable temporary name in the same directory, which must not exist, so that it cannot be replaced by a
/// link.
///
///     OutputFile out(path, 0777);  out.write(bytes);  out.commit();
class OutputFile {
 public:
  /// `mode` is that of the file, less the umask. An existing `path` must be a writable regular file or a link to one; a
  /// link is replaced, not followed. Throws OutputError.
  OutputFile(const std::string& path, mode_t mode);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();  ///< removes the file unless committed

  void write(std::string_view bytes);
  void set_mode(mode_t mode);  ///< regardless of the umask
  void sync();                 ///< to the disk
  void commit();

 private:
  [[noreturn]] void fail() const;

  InterruptHold hold_;  // a signal is deferred until the temporary file is removed
  std::string path_;
  std::string temporary_;
  int descriptor_ = -1;
};

/// Writes a text. An existing file keeps its mode, and a link remains a link; a character device or an open stream
/// (/dev/null, /dev/stdout) is written directly. Throws OutputError.
void write_text(const std::string& path, std::string_view text);

}  // namespace tdsl::codegen
