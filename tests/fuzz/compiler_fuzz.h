#pragma once

#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

#include "codegen/lower/program.h"
#include "codegen/operations/program.h"
#include "codegen/print/emit.h"
#include "codegen/print/emit_program.h"
#include "codegen/walk/plan_walk.h"
#include "passes/pipeline.h"
#include "runtime/check.h"
#include "runtime/plan/schedules/program_plans.h"
#include "tests/fuzz/frontend_fuzz.h"
#include "tests/fuzz/mutator.h"

namespace tdsl::tests {

/// All sizes in a plan; small, so that planning takes no time.
inline constexpr std::int64_t kFuzzedSize = 6;

inline std::optional<std::string> text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) return std::nullopt;
  return text.str();
}

/// Plans the whole program on a few ranks. A program without a plan is accepted.
inline void fuzz_plan(const codegen::OperationProgram& operations) {
  codegen::WalkRequest request;
  plan::PlanInputs inputs;
  inputs.ranks = request.ranks = request.deciding_ranks = 3;
  for (const codegen::Step& s : operations.steps) {
    if (const auto* d = std::get_if<codegen::DimensionStep>(&s.op)) request.dimensions[d->name] = kFuzzedSize;
    const auto* p = std::get_if<codegen::ParamStep>(&s.op);
    if (p == nullptr || p->default_value || p->computed_default) continue;
    const ir::Scalar type = operations.type(p->target).scalar;
    request.params[p->name] = type == ir::Scalar::kBool ? ir::Literal(true)
                              : ir::is_float(type)      ? ir::Literal(0.5)
                                                        : ir::Literal(kFuzzedSize);
  }
  try {
    static_cast<void>(plan::plan_program(record::survey(codegen::recording_of(operations, request)), inputs, nullptr));
  } catch (const rt::RunError&) {}
}

/// Whether planning may take long.
inline bool has_large_numbers(const std::string& text) {
  for (const Piece& piece : pieces_of(text)) {
    if (piece.kind == Piece::Kind::kInteger && piece.text.size() > 6) return true;
  }
  return false;
}

/// Checks properties of every text through the whole compiler: it gives errors, or a program that passes, lowers, emits
/// and has a plan. Returns whether it was a program. `laid_out`: also runs clang-format on the C++, which takes most of
/// the time. `library`: the folder with the files of `import std.x`.
inline bool fuzz_compiler(const std::string& text, const std::filesystem::path& library, bool laid_out) {
  fuzz_frontend(text);
  frontend::SourceManager sources;
  frontend::DiagnosticSink sink;
  frontend::CompileOptions options;
  options.library_directory = library.string();
  options.read = [&](const std::string& path) {
    return std::filesystem::path(path).parent_path() == library ? text_of(path) : std::nullopt;
  };
  const auto program = frontend::compile(sources, sources.add("fuzz.tdsl", text), sink, options);
  if (program.has_value() == sink.has_errors()) broken("a program or an error");
  static_cast<void>(frontend::render_all(sink, sources));
  if (!program) return false;
  passes::PassContext context;
  const ir::Program optimised = passes::run_pipeline(*program, {}, context);
  if (context.failed()) return false;
  if (const auto problems = ir::verify(optimised); !problems.empty())
    broken("the graph verifies after the passes: " + problems.front());
  try {
    const codegen::OperationProgram operations = codegen::lower(optimised);
    static_cast<void>(laid_out ? codegen::emit(operations, {}).size()
                               : codegen::emit_program(operations, {}).program.size());
    if (!has_large_numbers(text)) fuzz_plan(operations);
  } catch (const codegen::NotSupported&) {}
  return true;
}

}  // namespace tdsl::tests
