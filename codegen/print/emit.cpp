#include "codegen/print/emit.h"

#include <algorithm>
#include <string_view>

#include "codegen/loops/inner_lines.h"
#include "codegen/plugin/clang.h"
#include "codegen/print/emit_program.h"
#include "codegen/print/names.h"
#include "codegen/print/writer.h"

namespace tdsl::codegen {

namespace {

/// Weight (KernelFunctions::weight) of a source file that is worth the compiler's start and the parsing of headers.
constexpr double kUnitWeight = 6;

std::string base_name(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

/// Replaces marks by #line directives: kLineMark + number by one that refers to that line of the source, kEndMark by
/// one that refers to the emitted file again.
std::string with_line_directives(const std::string& text, const OperationProgram& program, const EmitOptions& options) {
  std::string result;
  std::size_t line = 1;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view current = std::string_view(text).substr(at, end - at);
    at = end + 1;
    const std::size_t start = current.find_first_not_of(' ');
    const std::string_view body = start == std::string_view::npos ? std::string_view{} : current.substr(start);
    if (body.starts_with(kLineMark) || body == kEndMark) {
      if (!options.line_directives) continue;
      const bool back = body == kEndMark;
      const std::string number = back ? fmt::format("{}", line + 1) : std::string(body.substr(kLineMark.size()));
      const std::string file = back || program.files.empty() ? options.output_name : program.files.front();
      result += fmt::format("#line {} {}\n", number, string_literal(file));
    } else {
      result.append(current);
      result += '\n';
    }
    ++line;
  }
  return result;
}

std::string element_type(ir::Scalar s) { return fmt::format("rt::ElementType::{}", rt::element_info(s).enumerator); }

std::string default_argument(const Declarations::Param& p) {
  return p.default_text ? ", " + string_literal(*p.default_text) : "";
}

/// File names of the program as messages show them: without directories, so that emitted code does not depend on the
/// program's location.
std::vector<std::string> file_names(const OperationProgram& program) {
  if (program.files.empty()) return {program.name + ".tdsl"};
  std::vector<std::string> names;
  for (const std::string& file : program.files) names.push_back(base_name(file));
  return names;
}

std::string files_of(const OperationProgram& program) {
  std::string all;
  for (const std::string& name : file_names(program)) all += (all.empty() ? "" : ", ") + string_literal(name);
  return all;
}

class InfoEmitter {
 public:
  InfoEmitter(const OperationProgram& program, const EmitOptions& options) : program_(program), options_(options) {}

  std::string run() {
    const Declarations& d = program_.declarations;
    const std::string file = program_.files.empty() ? program_.name : base_name(program_.files.front());
    Writer w;
    w.block("TDSL_RECORDING rt::ProgramInfo program_info()", [&] {
      w.line("rt::ProgramInfo info({}, {}, {});", string_literal(program_.name), string_literal(file),
             string_literal(program_.name + ", compiled by " + options_.version));
      const std::vector<std::string> files = file_names(program_);
      if (files.size() > 1) {
        for (const std::string& name : files) w.line("info.file({});", string_literal(name));
      }
      for (const auto& p : d.params)
        w.line("info.param({}, {}{});", string_literal(p.name), element_type(p.type), default_argument(p));
      for (const auto& t : d.inputs) {
        w.line("info.input({}, {}, {}, {{{}}}, {}{});", string_literal(t.name), string_literal(type_text(t)),
               element_type(t.type.scalar), binds(t.type), t.line, sparse(t.type));
      }
      for (const auto& t : d.outputs)
        w.line("info.{}({}, {}, {});", t.series ? "series" : "output", string_literal(t.name),
               string_literal(type_text(t)), t.line);
      std::string dimensions;
      for (const auto& n : d.dimensions) dimensions += (dimensions.empty() ? "" : ", ") + string_literal(n.second);
      for (const std::string& n : d.found) dimensions += (dimensions.empty() ? "" : ", ") + string_literal(n);
      if (!dimensions.empty()) w.line("info.dimensions({{{}}});", dimensions);
      if (program_.chooses) w.line("info.chooses();");
      for (const auto& [operation, inner] : inner_lines(program_)) {
        std::string all;
        for (const SourcePlace& p : inner)
          all += (all.empty() ? "" : ", ") + place_text({.file = p.file, .line = p.line});
        w.line("info.computes({}, {{{}}});", place_text({.file = operation.file, .line = operation.line}), all);
      }
      w.line("return info;");
    });
    return w.text();
  }

 private:
  [[nodiscard]] std::optional<std::string> dimension_name(const Extent& e) const {
    const auto v = e.as_value();
    if (!v) return std::nullopt;
    for (const auto& [value, name] : program_.declarations.dimensions) {
      if (value == *v) return name;
    }
    return std::nullopt;
  }

  [[nodiscard]] std::string binds(const ir::Type& type) const {
    std::string result;
    for (const Extent& e : type.shape)
      result += (result.empty() ? "" : ", ") + string_literal(dimension_name(e).value_or(""));
    return result;
  }

  /// `, {false, true}`: which dimensions are stored sparse, if any is.
  [[nodiscard]] static std::string sparse(const ir::Type& type) {
    if (!type.has_sparse()) return "";
    std::string result;
    for (std::size_t d = 0; d < type.rank(); ++d)
      result += (result.empty() ? "" : ", ") + std::string(type.format.is_sparse(d) ? "true" : "false");
    return ", {" + result + "}";
  }

  [[nodiscard]] std::string type_text(const Declarations::Tensor& t) const {
    std::string type(ir::name_of(t.type.scalar));
    std::string dims;
    for (std::size_t d = 0; d < t.type.rank(); ++d) {
      dims +=
          std::string(dims.empty() ? "" : ", ") + (t.type.format.is_sparse(d) ? "sparse " : "") +
          (t.series && d == 0 ? "r" : t.type.shape[d].to_string([&](ValueId v) {
            return dimension_name(Extent::of(v)).value_or(program_.info(v).name.empty() ? "?" : program_.info(v).name);
          }));
    }
    if (!dims.empty()) type += "[" + dims + "]";
    return type;
  }

  const OperationProgram& program_;
  const EmitOptions& options_;
};

constexpr std::string_view kInside = R"(Index inside(Index subscript, Index extent, int line, const char* text) {
  if (subscript < 0 || subscript >= extent) rt::stop_subscript(place(line), subscript, extent, text);
  return subscript;
}

)";

/// User headers and the calls of their functions, the last part of the file.
void headers(Writer& w, const EmittedProgram& body) {
  w.blank();
  w.line(
      "// The functions that are called come last: macros, pragmas and names of these headers do not reach the "
      "program.");
  for (const std::string& header : body.headers) w.line("#include \"{}\"", header);
  w.line("#pragma GCC reset_options");
  w.blank();
  w.line("namespace tdsl::emitted {{");
  w.line("namespace {{");
  w.line("namespace fn {{");
  w.blank();
  w.raw(body.foreign_calls);
  w.line("}}  // namespace fn");
  w.line("}}  // namespace");
  w.line("}}  // namespace tdsl::emitted");
}

/// The number of source files whose compilation at the same time pays.
std::size_t units_for(double weight, int jobs) {
  const auto worth = static_cast<std::size_t>(weight / kUnitWeight);
  return std::clamp<std::size_t>(worth, 1, static_cast<std::size_t>(std::max(jobs, 1)));
}

/// One source file of a program.
class FileEmitter {
 public:
  FileEmitter(const OperationProgram& program, const EmitOptions& options, const EmittedProgram& body)
      : program_(program), options_(options), body_(body), needs_(body.needs) {
    if (!options.library.empty()) needs_.add(Header::kLibrary);
    if (!body.headers.empty()) needs_.add(Header::kForeign);
  }

  /// The file with program() and main().
  std::string first() {
    begin("");
    makers(0);
    w_.line("namespace {{");
    w_.blank();
    helpers();
    w_.raw(body_.kernels.front());
    w_.raw(InfoEmitter(program_, options_).run());
    w_.blank();
    w_.raw(body_.program);
    w_.blank();
    w_.line("}}  // namespace");
    w_.blank();
    if (!options_.library.empty()) w_.line("TDSL_LIBRARY({})", options_.library);
    if (!body_.headers.empty()) w_.line("}}  // namespace tdsl::emitted\n");
    const std::string_view scope = body_.headers.empty() ? "" : "tdsl::emitted::";
    if (options_.library.empty())
      w_.line(
          "int main(int argc, char** argv) {{ return {0}rt::run_program(argc, argv, {0}program_info(), {0}program); }}",
          scope);
    if (!body_.headers.empty()) headers(w_, body_);
    return finished();
  }
  /// A file with kernels only.
  std::string other(std::size_t unit) {
    begin(", more kernels");
    w_.line("namespace {{");
    w_.blank();
    helpers();
    w_.raw(body_.kernels[unit]);
    w_.line("}}  // namespace");
    w_.blank();
    makers(unit);
    return finished();
  }

 private:
  void begin(std::string_view what) {
    const std::string file = program_.files.empty() ? program_.name + ".tdsl" : base_name(program_.files.front());
    w_.line("{}",
            line_comment(fmt::format("{}{}: compiled from {} by {}.", program_.name, what, file, options_.version)));
    w_.blank();
    // First, because g++ uses a precompiled header only as the first include.
    w_.line("#include \"runtime/emitted.h\"");
    for (const std::string_view path : needs_.includes()) w_.line("#include \"{}\"", path);
    w_.blank();
    // Inside a namespace, names of the program cannot clash with those of user headers.
    w_.line("{}", body_.headers.empty() ? "using namespace tdsl::emitted;" : "namespace tdsl::emitted {");
    w_.blank();
  }
  void helpers() {
    // A file of several may do without.
    const std::string_view unused = body_.kernels.size() > 1 ? "[[maybe_unused]] " : "";
    if (needs_.has(Helper::kPlace)) {
      w_.line("/// A place of the program for messages.");
      w_.line("{}rt::SourceLine place(int line) {{", unused);
      w_.line("  static constexpr const char* files[] = {{{}}};", files_of(program_));
      w_.line("  return rt::place_in(files, line);");
      w_.line("}}");
      w_.blank();
    }
    if (needs_.has(Helper::kInside)) {
      w_.line("/// A subscript whose value is known only when it is reached.");
      w_.raw(std::string(unused) + std::string(kInside));
    }
  }
  void makers(std::size_t unit) {
    if (body_.makers[unit].empty()) return;
    w_.line("namespace tdsl::emitted::made {{");
    w_.raw(body_.makers[unit]);
    w_.line("}}  // namespace tdsl::emitted::made");
    if (unit == 0) w_.line("using namespace tdsl::emitted::made;");
    w_.blank();
  }
  std::string finished() { return with_line_directives(formatted(w_.text()), program_, options_); }

  const OperationProgram& program_;
  const EmitOptions& options_;
  const EmittedProgram& body_;
  Needs needs_;
  Writer w_;
};

}  // namespace

std::string emit(const OperationProgram& program, const EmitOptions& options, EmitCounts* counts) {
  return emit_units(program, options, 1, counts).front();
}

std::vector<std::string> emit_units(const OperationProgram& program, const EmitOptions& options, int jobs,
                                    EmitCounts* counts) {
  EmittedProgram body = emit_program(program, options);
  const bool whole = !body.headers.empty() || !options.library.empty();
  if (const std::size_t units = whole ? 1 : units_for(body.weight, jobs); units > 1)
    body = emit_program(program, options, units);
  std::vector<std::string> texts{FileEmitter(program, options, body).first()};
  for (std::size_t unit = 1; unit < body.kernels.size(); ++unit)
    texts.push_back(FileEmitter(program, options, body).other(unit));
  if (counts != nullptr) {
    *counts = body.counts;
    for (const std::string& text : texts) counts->source_bytes += text.size();
  }
  return texts;
}

}  // namespace tdsl::codegen
