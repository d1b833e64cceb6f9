#include "tools/tdslc/front.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <vector>

#include "codegen/plugin/clang.h"
#include "tools/build/foreign_library.h"
#include "tools/build/toolchain.h"

namespace tdsl::tools {

namespace {

/// "writes L in part, the rest is 0"
std::string use_text(const ir::ForeignDeclaration& d, const ir::ForeignFunction& f, std::size_t k) {
  const std::string& name = d.parameters[k].name;
  const ir::ForeignFunction::Operand& use = f.operands[k];
  if (!d.parameters[k].is_output) return (use.reads ? "reads " : "does not use ") + name;
  if (use.forwards >= 0 && use.constructs)
    return fmt::format("copies {} to {}", d.parameters[static_cast<std::size_t>(use.forwards)].name, name);
  return use.constructs ? "writes all of " + name : "writes " + name + ", which begins as 0";
}

std::string remark_of(const ir::ForeignDeclaration& d, const ir::ForeignFunction& f) {
  std::string text = fmt::format("{}:{}: {}: ", f.file, f.line, d.name);
  for (std::size_t k = 0; d.is_kernel && k < d.parameters.size() && k < f.operands.size(); ++k)
    text += (k == 0 ? "" : "; ") + use_text(d, f, k);
  if (!d.is_kernel)
    text += fmt::format("about {:.0f} operations{}", f.operations,
                        f.may_stop ? "; a call may never end, or stop the run" : "");
  return text;
}

/// Rejects macros that `a` leaves defined and that occur in files of `b` not included by `a`, unless these define them.
/// All headers are compiled in one file.
void refuse_macros(const codegen::HeaderNames& a, const codegen::HeaderNames& b,
                   std::vector<ir::HeaderProblem>& problems) {
  for (const auto& [name, place] : a.macros) {
    if (b.words.contains(place.file) || b.macros.contains(name)) continue;
    const auto rewritten = std::ranges::find_if(
        b.words, [&](const auto& file) { return !a.words.contains(file.first) && file.second.contains(name); });
    if (rewritten == b.words.end()) continue;
    problems.push_back(place);
    problems.back().message =
        fmt::format("the macro `{}` is left defined and would rewrite {}: #undef it at the end of the header", name,
                    rewritten->first);
  }
}

}  // namespace

ir::HeaderReader header_reader_for(Front& front) {
  const auto earlier = std::make_shared<std::vector<codegen::HeaderNames>>();
  return [&front, earlier](const std::string& path, const std::vector<ir::ForeignDeclaration>& declarations) {
    codegen::HeaderNames names;
    ir::HeaderFacts facts =
        codegen::read_header(path, declarations, {"-I" + codegen::find_prefix() + "/include/tdsl"}, &names);
    for (const codegen::HeaderNames& other : *earlier) {
      refuse_macros(other, names, facts.problems);
      refuse_macros(names, other, facts.problems);
    }
    earlier->push_back(std::move(names));
    front.context.enter("extern");
    for (std::size_t k = 0; k < facts.functions.size(); ++k)
      front.context.applied({}, remark_of(declarations[k], facts.functions[k]));
    for (const std::string& header : facts.files) {
      if (std::ranges::find(front.headers, header) == front.headers.end()) front.headers.push_back(header);
    }
    return facts;
  };
}

std::string include_folder(const CommandLine& line, const Front& front) {
  if (front.foreigns.empty()) return {};
  std::error_code ignored;
  return std::filesystem::absolute(line.program, ignored).parent_path().lexically_normal().string();
}

void link_own_functions(const CommandLine& line, const Front& front) {
  if (front.foreigns.empty()) return;
  const codegen::ForeignLibrary library{program_name(line.program), front.foreigns, include_folder(line, front),
                                        front.headers, !line.no_cache};
  codegen::load_foreign_library(codegen::read_toolchain(codegen::find_prefix()), library);
}

}  // namespace tdsl::tools
