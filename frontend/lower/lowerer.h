#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frontend/frontend.h"
#include "frontend/lower/algebra.h"
#include "frontend/lower/state/declarations.h"
#include "frontend/lower/state/loops.h"
#include "frontend/lower/state/modules.h"
#include "frontend/lower/state/names.h"
#include "frontend/lower/state/versions.h"
#include "frontend/sema/growth.h"

namespace tdsl::frontend {

/// The bindings of a function in one call, or of a lambda.
struct Closure {
  Instance instance;
  FunctionValue* lambda = nullptr;   ///< null for functions with a name
  std::vector<ir::Type> types = {};  ///< of a lambda's parameters
};

/// An element `c[i]` of a tensor around a lambda, in the body that is lowered for one point.
struct CapturedElement {
  std::vector<SymbolRef> indices;  ///< the subscripts' symbols in that body
  Tensor value;
};

/// State of inlining: all calls of functions.
struct Inlining {
  GrowthFinder growth;
  std::size_t calls = 0;
  std::deque<ast::Function> instances = {};  ///< signatures reduced to the parameters that are values
  std::deque<std::shared_ptr<const ast::Call>> calls_made = {};  ///< calls of instances, which numbers refer to
  std::deque<ast::Function> built_in = {};                       ///< built-in functions written in TDSL, once per call
  std::map<const ast::Subscript*, CapturedElement> elements = {};  ///< of lambdas that mention index variables
  std::map<const ast::Function*, Closure> closures = {};  ///< of instances, and of lambdas while they are called
};

/// The state of one lowering: resolves names, infers types and shapes and builds the graph in one pass over the
/// statements. The functions that lower statements and expressions take it, or the parts that they need, as their first
/// argument; the parts hold the state.
struct Lowerer {
  Lowerer(SourceManager& program_sources, DiagnosticSink& sink, const CompileOptions& compile_options,
          ir::Program& program, std::uint32_t file)
      : sources(program_sources),
        options(compile_options),
        main_file(file),
        reports(sources, sink, frames),
        graph(program) {}
  Lowerer(const Lowerer&) = delete;
  Lowerer& operator=(const Lowerer&) = delete;

  /// The dimension names of the function being lowered.
  [[nodiscard]] Dimensions& dimensions() { return frames.back().dimensions; }
  /// The function of the program that `name` denotes in the body of `f`, or null.
  [[nodiscard]] const ast::Function* called_in(const ast::Function& f, const std::string& name) const;
  /// True if `name` denotes a built-in function in this file whatever the program declares: in a file of the library,
  /// unless the library has a function of that name.
  [[nodiscard]] bool is_librarys_built_in(const std::string& name, std::uint32_t file) const;

  SourceManager& sources;
  const CompileOptions& options;
  std::uint32_t main_file;
  Frames frames;
  Reports reports;
  GraphBuilder graph;
  Guards guards;
  Values values{reports, graph, guards};
  Shapes shapes{reports, graph, guards, values};
  Algebra algebra{reports, graph, guards, values, shapes};
  Versions versions{graph};
  Loops loops{reports, values};
  Names names{reports, frames, options, main_file};
  Declarations declared;
  Modules modules{sources, reports, options, main_file};
  Inlining inlining{
      GrowthFinder([this](const ast::Function& f, const std::string& name) { return called_in(f, name); })};
};

}  // namespace tdsl::frontend
