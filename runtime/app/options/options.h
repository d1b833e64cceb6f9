#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/app/run/program_info.h"
#include "runtime/check.h"
#include "runtime/picture/request.h"
#include "runtime/plan/factorise.h"
#include "runtime/types.h"

namespace tdsl::plan {
struct Schedule;
}

/// Command line of an emitted executable: pure functions from declarations and arguments to typed options. User errors
/// are RunError with exit code 2.
namespace tdsl::rt {

/// Kind of value an option takes.
enum class OptionValue {
  kDuration,
  kFlag,
  kFile,
  kDirectory,
  kCount,
  kSteps,
  kSeconds,
  kSeed,
  kBytes,
  kTile,
  kAssignment,
  kPlacement,
  kName,
  kNumbers,
  kPicture,
  kProgress
};

struct AppOptions;

/// One built-in option.
struct BuiltinOption {
  std::string_view name;  ///< without dashes
  OptionValue value;
  std::string_view help;  ///< one line
  /// The member that stores a flag or a text unchanged; for a kName with a table of names: their list, for the help.
  std::variant<std::monostate, bool AppOptions::*, std::optional<std::string> AppOptions::*, std::string (*)()> more{};
};
/// The table of built-in options, in the order of `--help`.
[[nodiscard]] std::span<const BuiltinOption> builtin_options();
/// The option's value in the help, such as FILE; empty for flags.
[[nodiscard]] std::string_view value_name(OptionValue value);
/// The option's line in the help, with the names that it takes.
[[nodiscard]] std::string help_of(const BuiltinOption& option);

/// What --check looks for in computed floating-point values.
struct NumberKinds {
  bool nan = false, inf = false;
  [[nodiscard]] bool any() const { return nan || inf; }
};

/// The parsed command line. An absent value leaves the choice to the planner or the program.
struct AppOptions {
  std::vector<std::int64_t> tile;  ///< empty, one edge for all dimensions, or one per dimension; each >= 1
  std::optional<int> threads;      ///< per rank, >= 1
  std::uint64_t seed = 0;
  std::optional<std::string> plan_file;
  std::optional<std::string> stats_file;
  std::optional<std::int64_t> memory_bytes;  ///< per rank
  std::optional<std::int64_t> window_bytes;  ///< per rank
  std::string memory_text, window_text;      ///< both as given; messages use their unit
  std::optional<std::string> spill;          ///< directory for spilled tensors, or "none"
  const plan::Schedule* schedule = nullptr;  ///< null: auto
  std::vector<std::int64_t> node_grid;       ///< for LSHS; empty: it chooses
  std::optional<std::string> use_plan_file;
  std::optional<std::string> save_plan_file;
  std::vector<std::string> place;  ///< NAME=LAYOUT, as given
  plan::Factorise factorise = plan::Factorise::kAuto;
  int time_tile = 1;  ///< steps of a block of a loop of stencils, at most plan::kMostHeight; 0: by price
  bool reproducible = false;
  bool no_replay = false;  ///< every iteration is planned and submitted
  bool shared_windows = false;
  std::optional<std::string> checkpoint_directory;
  std::optional<double> checkpoint_every;  ///< seconds; 0: at every boundary
  std::optional<std::string> resume_directory;
  std::optional<std::string> trace_file;
  bool profile = false;
  NumberKinds check{};  ///< checks of computed floating-point values
  bool progress = false;
  bool progress_json = false;            ///< a JSON object per line; implies `progress`
  std::vector<PictureRequest> pictures;  ///< of outputs, each with a slice that fits its number of dimensions
  int heartbeat = 15;                    ///< seconds; 0 disables the detection of lost ranks
  bool dry_run = false;
  bool quiet = false;
  bool help = false;     ///< print help_text and exit with 0
  bool version = false;  ///< print ProgramDeclaration::version and exit with 0

  std::map<std::string, ScalarValue> params;       ///< given params only, already of the declared type
  std::map<std::string, std::string> inputs;       ///< file of each given input
  std::map<std::string, std::string> outputs;      ///< file of each given output
  std::map<std::string, std::int64_t> dimensions;  ///< extents fixed by --set

  /// The param's value, or `default_value` when it was not given. T is the declared type.
  template <Element T>
  [[nodiscard]] T param(const std::string& name, T default_value) const {
    const auto found = params.find(name);
    return found == params.end() ? default_value : std::get<T>(found->second);
  }
  /// The value of a param without default; parse_options has checked that it is given.
  template <Element T>
  [[nodiscard]] T param(const std::string& name) const {
    const auto found = params.find(name);
    TDSL_CHECK(found != params.end(), "param without a default and without a value: " + name);
    return std::get<T>(found->second);
  }
};

/// Which values are mandatory.
struct ParseRules {
  bool inputs_required = true;  ///< false if --set can replace files (`tdslc explain`)
  bool params_required = true;  ///< false if calls provide them (libraries)
};

/// Parses the arguments after the program's name. Accepts `--NAME VALUE` and `--NAME=VALUE`; a built-in option shadows
/// a program's name; `--set NAME=VALUE` always reaches the program's (if the name is an input or output as well as a
/// dimension, an integer sets the extent, anything else the file). Only `--set`, `--place` and `--picture` may be
/// repeated. With
/// `--help` or `--version` nothing is mandatory. Throws RunError(usage) with one message.
[[nodiscard]] AppOptions parse_options(const ProgramDeclaration& program, std::span<const std::string> arguments,
                                       const ParseRules& rules = {});

/// Text of `--help`: usage, program options, built-in options, and examples generated from the declarations.
[[nodiscard]] std::string help_text(const ProgramDeclaration& program);

/// Parses "nan", "inf" or both, comma-separated; "bounds" is accepted without effect. `what` names the option in
/// messages.
[[nodiscard]] NumberKinds parse_number_kinds(std::string_view text, std::string_view what);
/// Parses `512`, `512MiB`, `2G`, `1.5GiB`, `100MB`: K M G T and KiB MiB GiB TiB are powers of 1024, kB/KB MB GB TB of
/// 1000. `what` names the option in messages.
[[nodiscard]] std::int64_t parse_bytes(std::string_view text, std::string_view what);
/// The size as an option value in the unit of `like`, readable by parse_bytes: `3.22GB` for `3GB`, plain bytes if
/// `like` has no unit. Rounded up, so that it is sufficient.
[[nodiscard]] std::string option_size(std::int64_t bytes, std::string_view like);
/// The option's value as given (`like`), or in bytes if that text is unknown.
[[nodiscard]] inline std::string given_size(std::int64_t bytes, std::string_view like) {
  return like.empty() ? std::to_string(bytes) : std::string(like);
}
/// The size for a message: `3.22 GB` if `like` is `3GB`, `3.0 GiB` if it has no unit.
[[nodiscard]] std::string shown_size(std::int64_t bytes, std::string_view like);
/// Parses `600`, `600s`, `10m` or `2h`; in seconds.
[[nodiscard]] double parse_duration(std::string_view text, std::string_view what);
/// Parses `16` or `4x4x1`.
[[nodiscard]] std::vector<std::int64_t> parse_grid(std::string_view text, std::string_view what);
/// Parses `256` or `256,512`.
[[nodiscard]] std::vector<std::int64_t> parse_tile(std::string_view text, std::string_view what);
/// Parses a value of the given type: integers with optional `_` separators, floats also as `1e-3`, `inf`, `nan`, `3`;
/// bools `true`, `false`, `1`, `0`. Values out of range and trailing characters are errors.
[[nodiscard]] ScalarValue parse_scalar(ElementType type, std::string_view text, std::string_view what);

}  // namespace tdsl::rt
