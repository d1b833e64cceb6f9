#pragma once

#include <sys/types.h>

#include <stdexcept>
#include <string>
#include <string_view>

#include "tools/build/interrupts.h"

namespace tdsl::codegen {

/// A file cannot be written; the message names it and says why.
class OutputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A file that gets its name only when it is whole: whoever reads it sees the old content or the new one. Until then it
/// has a name beside it that nobody can foresee, and which must not exist, so that no link can stand in its place.
///
///     OutputFile out(path, 0777);  out.write(bytes);  out.commit();
class OutputFile {
 public:
  /// `mode` is that of the file, less the umask. What exists under `path` must be a regular file that may be written,
  /// or a link to one; a link is replaced, not followed. Throws OutputError.
  OutputFile(const std::string& path, mode_t mode);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();  ///< removes what was not committed

  void write(std::string_view bytes);
  void set_mode(mode_t mode);  ///< whatever the umask is
  void sync();                 ///< to the disk
  void commit();

 private:
  [[noreturn]] void fail() const;

  InterruptHold hold_;  // a signal waits until the temporary file is gone
  std::string path_;
  std::string temporary_;
  int descriptor_ = -1;
};

/// Writes a text. A file keeps its mode, a link stays one; a character device and an open stream (/dev/null,
/// /dev/stdout) are written to. Throws OutputError.
void write_text(const std::string& path, std::string_view text);

}  // namespace tdsl::codegen
