#pragma once

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "runtime/exact.h"

namespace tdsl::rt {

/// A mistake in the runtime itself, never the user's.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] inline void fail_check(const char* condition, const std::string& message, const char* file, int line) {
  throw InternalError(std::string(file) + ":" + std::to_string(line) + ": " + message + " (" + condition + ")");
}

/// Exit codes of an executable (language page, section 10).
enum class ExitCode : int { kGood = 0, kRunTime = 1, kUsage = 2, kCheckpointed = 75 };

/// A line of a `.tdsl` file. Line 0 means "no place".
struct SourceLine {
  std::string_view file;  ///< as the user named it; must outlive this value (emitted code passes literals)
  int line = 0;

  [[nodiscard]] bool known() const { return line != 0; }
  friend bool operator==(const SourceLine&, const SourceLine&) = default;
};

/// Emitted programs name a place by one number: the line and, above it, the number of the file.
inline constexpr int kLineBits = 20;
[[nodiscard]] constexpr int line_in(int place) { return place & ((1 << kLineBits) - 1); }
[[nodiscard]] constexpr int in_file(int file, int line) { return (file << kLineBits) | line_in(line); }
[[nodiscard]] inline SourceLine place_in(std::span<const char* const> files, int place) {
  const auto file = static_cast<std::size_t>(place >> kLineBits);
  return {file < files.size() ? files[file] : "", line_in(place)};
}

/// An error the user sees: `what()` is the whole message, one line or more, without a trailing newline; one rank
/// prints it and the run ends with `exit_code()` on every rank.
class RunError : public std::runtime_error {
 public:
  explicit RunError(const std::string& message, ExitCode code = ExitCode::kRunTime)
      : std::runtime_error(message), code_(code) {}
  /// `file.tdsl:12: message`, or the bare message when the place is not known.
  RunError(SourceLine place, const std::string& message, ExitCode code = ExitCode::kRunTime)
      : std::runtime_error(place.known() ? std::string(place.file) + ":" + std::to_string(place.line) + ": " + message
                                         : message),
        code_(code) {}

  [[nodiscard]] ExitCode code() const { return code_; }
  [[nodiscard]] int exit_code() const { return static_cast<int>(code_); }

 private:
  ExitCode code_;
};

/// An error of the `.tdsl` program. Found by the program's own thread, it is found alike on every rank, so what the
/// program recorded before it is still carried out.
class ProgramError : public RunError {
 public:
  using RunError::RunError;
};

/// A message about two sizes with their values in the places `{left}` and `{right}`.
[[nodiscard]] inline std::string with_sizes(std::string_view message, Exact left, Exact right) {
  std::string text(message);
  const auto put = [&text](std::string_view place, Exact value) {
    const std::size_t at = text.find(place);
    if (at != std::string::npos) text.replace(at, place.size(), value.text());
  };
  put("{left}", left);
  put("{right}", right);
  return text;
}

}  // namespace tdsl::rt

/// Checks an invariant of the product itself in every build type.
#define TDSL_CHECK(condition, message) \
  ((condition) ? static_cast<void>(0) : ::tdsl::rt::fail_check(#condition, (message), __FILE__, __LINE__))
