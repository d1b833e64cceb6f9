#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "frontend/diagnostics/diagnostics.h"
#include "frontend/sema/scope.h"
#include "frontend/syntax/ast.h"

namespace tdsl::frontend {

/// Sequence numbers of the calls of a body: one sequence for `random` and `randn`, one for calls of functions.
using CallNumbers = std::map<const ast::Call*, std::int64_t>;

/// A function of the program.
struct FunctionEntry {
  const ast::Function* function = nullptr;
  ir::SourceRange range;
  bool broken = false;  ///< its body was reported: calls are not
  bool called = false;
  bool sound = false;  ///< a call was lowered without error: an error in another call is that call's
};

/// A function as an argument.
struct FunctionValue {
  std::string name;                       ///< of a function of the program, a header or the language
  const ast::Function* lambda = nullptr;  ///< in place of the name
  Scope* scope = nullptr;                 ///< the scope in which the lambda stands
  std::size_t frame = 0;                  ///< the index of its frame
};

/// A parameter of function type in a call: its type, and its argument.
struct FunctionParameterValue {
  const ast::FunctionType* type = nullptr;
  FunctionValue value;
};

/// The bindings of a signature's type parameters, functions and literals in one call.
struct Instance {
  const ast::Function* definition = nullptr;
  std::map<std::string, FunctionParameterValue> functions;
  std::map<std::string, ir::Scalar> types;
  std::map<std::string, std::int64_t> literals;
  std::optional<std::vector<ir::Extent>> rest;            ///< the dimensions of `...`
  std::vector<const ast::FunctionParameter*> by_default;  ///< parameters without argument
};

/// A call being lowered; the first frame is the program's.
struct Frame {
  const ast::Function* function = nullptr;
  const FunctionEntry* entry = nullptr;  ///< null for a kernel of a header and for lambdas
  Instance instance;
  std::size_t around = 0;  ///< index of the frame of the caller; of a lambda: of the frame in which it stands
  ir::SourceRange call;
  std::string chain;  ///< of call numbers, to identify random sites
  Dimensions dimensions;
  CallNumbers numbers;
  std::string tensor;  ///< name of an untyped parameter that is a tensor in this call, if any
  std::vector<std::int32_t>
      points;                  ///< index variables of the caller: random numbers are drawn for each of their values
  bool inline_locals = false;  ///< applied per element: locals are expressions instead of values
};
/// Innermost last. References to frames stay valid while calls are entered and left.
using Frames = std::deque<Frame>;

/// Enters a call for the rest of the scope.
class EnteredFrame {
 public:
  EnteredFrame(Frames& frames, Frame frame) : frames_(frames) { frames_.push_back(std::move(frame)); }
  ~EnteredFrame() { frames_.pop_back(); }
  EnteredFrame(const EnteredFrame&) = delete;
  EnteredFrame& operator=(const EnteredFrame&) = delete;

 private:
  Frames& frames_;
};

/// Thrown after an error was reported, to abandon the statement.
struct Abandoned {};

/// Diagnostics of the program being lowered, with the calls that led to their locations.
class Reports {
 public:
  using Notes = std::vector<DiagnosticNote>;

  Reports(SourceManager& sources, DiagnosticSink& sink, const Frames& frames)
      : sources_(sources), sink_(sink), frames_(frames) {}
  [[nodiscard]] DiagnosticSink& sink() { return sink_; }
  [[noreturn]] void fail(DiagnosticId id, const ir::SourceRange& range, const std::string& message, Notes notes = {});
  [[noreturn]] void unsupported(const ir::SourceRange& range, const std::string& what, Notes notes = {});
  void error(DiagnosticId id, const ir::SourceRange& range, const std::string& message, Notes notes = {});
  void warn(DiagnosticId id, const ir::SourceRange& range, const std::string& message, Notes notes = {});
  /// The source text of the range; empty unless it is within one ASCII line.
  [[nodiscard]] std::string source_text(const ir::SourceRange& range) const;

 private:
  [[nodiscard]] Notes with_calls(Notes notes) const;
  [[nodiscard]] bool known_from_other_call(DiagnosticId id, const ir::SourceRange& range);

  SourceManager& sources_;
  DiagnosticSink& sink_;
  const Frames& frames_;
};

}  // namespace tdsl::frontend
