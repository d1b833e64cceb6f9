#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "ir/eval/elements.h"
#include "runtime/io/npy/npy.h"
#include "tools/build/process.h"
#include "tools/tdslc/build_program.h"
#include "tools/tdslc/commands.h"
#include "tools/tdslc/front.h"
#include "tools/tdslc/setup/launcher.h"
#include "tools/tdslc/streams.h"

namespace tdsl::tools {

namespace {

constexpr std::int64_t kRankCounts[] = {1, 2, 3, 7};

/// Output of an executable or the evaluator.
ir::Array read_values(const std::string& path) {
  const rt::NpyReader reader(path);
  ir::Array values = ir::eval::zeros(reader.type(), reader.shape());
  const std::vector<std::int64_t> zero(values.shape.size(), 0);
  std::vector<std::int64_t> strides(values.shape.size(), 1);
  for (std::size_t d = strides.size(); d-- > 1;) strides[d - 1] = strides[d] * values.shape[d];
  rt::visit_element_type(values.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto count = static_cast<std::size_t>(values.size());
    const std::unique_ptr<T[]> elements = std::make_unique<T[]>(count);
    reader.read_box<T>(zero, values.shape, elements.get(), strides);
    for (std::size_t k = 0; k < count; ++k) ir::eval::set_element(values, k, ir::eval::slot_of(elements[k]));
  });
  return values;
}

std::string element_text(const std::string& name, const std::vector<std::int64_t>& shape, std::size_t number) {
  std::vector<std::size_t> at(shape.size());
  for (std::size_t d = shape.size(); d-- > 0;) {
    at[d] = number % static_cast<std::size_t>(shape[d]);
    number /= static_cast<std::size_t>(shape[d]);
  }
  return shape.empty() ? name : fmt::format("{}[{}]", name, fmt::join(at, ", "));
}

/// The evaluator's result for an output.
struct Expected {
  std::string name;
  ir::Array values;
  std::vector<double> bounds;  ///< error bounds of floating-point elements
};

/// Describes the differing elements; empty if there are none.
std::string difference(const Expected& expected, const ir::Array& got) {
  const ir::Array& want = expected.values;
  if (got.type != want.type)
    return fmt::format("{} is {}, not {}", expected.name, ir::name_of(got.type), ir::name_of(want.type));
  if (got.shape != want.shape)
    return fmt::format("{} has shape ({}), not ({})", expected.name, fmt::join(got.shape, ", "),
                       fmt::join(want.shape, ", "));
  std::size_t wrong = 0, first = 0;
  const auto count = [&](std::size_t k) { first = wrong++ == 0 ? k : first; };
  const auto all = static_cast<std::size_t>(want.size());
  for (std::size_t k = 0; k < all; ++k) {
    const ir::eval::Slot a = ir::eval::element(got, k), b = ir::eval::element(want, k);
    const bool equal = ir::is_float(want.type) ? ir::eval::agrees(want.type, a.real, b.real, expected.bounds[k])
                                               : a.whole.value == b.whole.value || std::isinf(expected.bounds[k]);
    if (!equal) count(k);
  }
  if (wrong == 0) return {};
  const std::string place = element_text(expected.name, want.shape, first);
  const ir::eval::Slot a = ir::eval::element(got, first), b = ir::eval::element(want, first);
  const auto number = [&](const ir::eval::Real& x) {
    return ir::is_complex(want.type) ? fmt::format("{}{:+}i", x.value, x.imag) : fmt::format("{}", x.value);
  };
  const std::string values = ir::is_float(want.type) ? fmt::format("{}, not {} +- {:.3g}", number(a.real),
                                                                   number(b.real), expected.bounds[first])
                                                     : fmt::format("{}, not {}", a.whole.value, b.whole.value);
  return fmt::format("{} is {} ({} of {} elements differ)", place, values, wrong, all);
}

/// The maximum difference relative to its bound; 0 if all are equal.
double nearness(const Expected& expected, const ir::Array& got) {
  double most = 0;
  for (std::size_t k = 0; k < got.floats.size(); ++k) {
    const ir::eval::Real a = ir::eval::real_element(got, k), b = ir::eval::real_element(expected.values, k);
    const double gap = std::hypot(a.value - b.value, a.imag - b.imag);
    if (gap > 0 && expected.bounds[k] > 0 && std::isfinite(gap)) most = std::max(most, gap / expected.bounds[k]);
  }
  return most;
}

class Verification {
 public:
  Verification(const CommandLine& line, const codegen::Toolchain& toolchain)
      : line_(line),
        toolchain_(toolchain),
        program_(build_program(line, toolchain)),
        folder_({(other_hosts() ? std::filesystem::current_path() : std::filesystem::temp_directory_path()) /
                 "tdsl-verify-"}) {
    if (folder_.path().empty()) throw UsageError("cannot make a directory for temporary files; set TMPDIR");
    find_outputs();
  }

  int run() {
    if (const int code = evaluate(); code != 0) {
      print_error(fmt::format("tdslc verify: the evaluator ends with code {}, so there is nothing to compare\n", code));
      return code;
    }
    bool good = true;
    for (const std::int64_t ranks : counts()) good = check(ranks) && good;
    return good ? 0 : 1;
  }

 private:
  [[nodiscard]] std::vector<std::int64_t> counts() const {
    if (line_.ranks) return {*line_.ranks};
    return {std::begin(kRankCounts), std::end(kRankCounts)};
  }
  [[nodiscard]] std::string file(const std::string& who, const std::string& name) const {
    return folder_.path() + "/" + who + "-" + name + ".npy";
  }

  void find_outputs() {
    Front front;
    compile_front(line_, {false, false}, front);
    const rt::ProgramDeclaration declaration = declaration_of(front.graph);
    for (const rt::TensorDeclaration& output : declaration.outputs)
      expected_.push_back({std::string(output.name), {}, {}});
    if (expected_.empty()) throw UsageError(fmt::format("verify: {} has no outputs to compare", line_.program));
    const rt::AppOptions options = rt::parse_options(declaration, line_.program_arguments);
    if (!options.outputs.empty())
      throw UsageError(
          fmt::format("verify: outputs are compared, not written; leave --{} out", options.outputs.begin()->first));
    if (options.dry_run || options.checkpoint_directory || options.resume_directory)
      throw UsageError("verify: leave --dry-run, --checkpoint and --resume out");
    reproducible_ = options.reproducible;
  }

  [[nodiscard]] std::vector<std::string> arguments(const std::string& who) const {
    std::vector<std::string> result = line_.program_arguments;
    for (const Expected& e : expected_) result.insert(result.end(), {"--set", e.name + "=" + file(who, e.name)});
    if (std::ranges::find(result, "--quiet") == result.end()) result.emplace_back("--quiet");
    return result;
  }

  int evaluate() {
    CommandLine line = line_;
    line.bounds = folder_.path();
    line.program_arguments = arguments("eval");
    if (const int code = eval(line); code != 0) return code;
    for (Expected& e : expected_) {
      e.values = read_values(file("eval", e.name));
      e.bounds = read_values(folder_.path() + "/" + e.name + ".bounds.npy").floats;
    }
    return 0;
  }

  /// Returns the launcher's exit code; the program's output is suppressed.
  [[nodiscard]] int launch(std::int64_t ranks, const std::string& who) {
    std::vector<std::string> command;
    if (ranks > 1) command = launcher_command(toolchain_, ranks, other_hosts());
    command.push_back(program_.path);
    for (std::string& argument : arguments(who)) command.push_back(std::move(argument));
    codegen::WorkFolder session(session_folders(other_hosts()));
    codegen::ProcessRequest request{.command = std::move(command),
                                    .environment = session_variables(session),
                                    .folder = &session,
                                    .launcher = ranks > 1};
    request.receive = [](std::string_view) { return true; };
    return codegen::run_process(request).exit_code;
  }

  bool check(std::int64_t ranks) {
    const std::string who = fmt::format("{}", ranks), name = fmt::format("{} {}", ranks, ranks == 1 ? "rank" : "ranks");
    if (const int code = launch(ranks, who); code != 0) {
      fmt::print("{}: ended with code {}\n", name, code);
      return false;
    }
    bool good = true;
    double most = 0;
    for (const Expected& e : expected_) {
      const ir::Array got = read_values(file(who, e.name));
      const std::string text = difference(e, got);
      good = good && text.empty();
      if (!text.empty()) fmt::print("{}: {}\n", name, text);
      if (text.empty()) most = std::max(most, nearness(e, got));
      good = same_bits(e.name, who, name) && good;
    }
    for (const Expected& e : expected_) {
      std::error_code kept;  // until the folder is removed
      if (who != first_) std::filesystem::remove(file(who, e.name), kept);
    }
    if (good)
      fmt::print("{}: {}{}\n", name,
                 most == 0 ? "the evaluator's values"
                           : fmt::format("within the evaluator's bounds, largest deviation {:.2g} of the bound", most),
                 bits_text(who));
    return good;
  }

  /// With --reproducible: compares bits with those of the first number of ranks.
  [[nodiscard]] bool same_bits(const std::string& output, const std::string& who, const std::string& name) {
    if (!reproducible_) return true;
    if (first_.empty()) first_ = who;
    if (who == first_ || bytes_of(file(who, output)) == bytes_of(file(first_, output))) return true;
    fmt::print("{}: {} has other bits than on {} rank{}\n", name, output, first_, first_ == "1" ? "" : "s");
    return false;
  }
  [[nodiscard]] std::string bits_text(const std::string& who) const {
    return !reproducible_ || who == first_ ? std::string()
                                           : fmt::format(", the bits of {} rank{}", first_, first_ == "1" ? "" : "s");
  }
  static std::string bytes_of(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  const CommandLine& line_;
  const codegen::Toolchain& toolchain_;
  codegen::CompiledProgram program_;
  codegen::WorkFolder folder_;
  std::vector<Expected> expected_;
  bool reproducible_ = false;
  std::string first_;  ///< number of ranks of the reference run for --reproducible
};

}  // namespace

int verify(const CommandLine& line) {
  if (!line.oversubscribe) refuse_absurd_start(line.ranks.value_or(1));
  const codegen::Toolchain toolchain = codegen::read_toolchain(codegen::find_prefix());
  return Verification(line, toolchain).run();
}

}  // namespace tdsl::tools
