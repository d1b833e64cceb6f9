#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frontend/lower/builtins.h"
#include "frontend/lower/lowering.h"
#include "frontend/sema/types.h"
#include "frontend/sema/walk.h"
#include "ir/graph/expr_build.h"

namespace tdsl::frontend {

namespace {

/// The boundary of a dimension: the operator that maps positions outside into it, or else a value.
struct Outside {
  std::optional<BinaryOp> back;
  Tensor value;
};

constexpr std::array<std::pair<const char*, BinaryOp>, 4> kWords = {{{"periodic", BinaryOp::kMod},
                                                                     {"edge", BinaryOp::kEdge},
                                                                     {"reflect", BinaryOp::kReflect},
                                                                     {"symmetric", BinaryOp::kSymmetric}}};

/// The word for what NumPy, SciPy and PyTorch call `name`; empty for other names.
std::string word_for(const std::string& name) {
  constexpr std::array<std::pair<const char*, const char*>, 6> words = {{{"wrap", "periodic"},
                                                                         {"circular", "periodic"},
                                                                         {"nearest", "edge"},
                                                                         {"replicate", "edge"},
                                                                         {"mirror", "reflect"},
                                                                         {"constant", "a value such as 0.0"}}};
  const auto found = std::ranges::find_if(words, [&](const auto& entry) { return name == entry.first; });
  return found == words.end() ? std::string() : found->second;
}

[[noreturn]] void refuse_word(Lowerer& lowerer, const std::string& name, const SourceRange& range) {
  const std::string meant = word_for(name);
  lowerer.reports.fail(DiagnosticId::kBadArgument, range,
                       "outside of a dimension pad reads a value or one of the words periodic, edge, reflect, "
                       "symmetric, without quotes" +
                           (meant.empty() ? "" : "; `" + name + "` is " + meant));
}

Outside outside_of(Lowerer& lowerer, const ast::Expr& e) {
  if (const auto* text = std::get_if<ast::StringLiteral>(&e.node)) refuse_word(lowerer, text->value, e.range);
  const std::string* name = bare_name(e);
  if (name != nullptr && lowerer.names.find(*name) == nullptr && !lowerer.dimensions().contains(*name)) {
    for (const auto& [word, op] : kWords) {
      if (*name == word) return {op, {}};
    }
    if (!word_for(*name).empty()) refuse_word(lowerer, *name, e.range);
  }
  Tensor value = lower(lowerer, e);
  if (value.rank() != 0) lowerer.reports.fail(DiagnosticId::kNotScalar, value.range, "pad's value is a scalar");
  return {std::nullopt, std::move(value)};
}

std::vector<Outside> outsides(Lowerer& lowerer, const ast::Call& call, std::size_t rank, const SourceRange& range) {
  for (const ast::Argument& a : call.arguments) {
    if (a.name)
      lowerer.reports.fail(DiagnosticId::kBadArgument, a.name->range,
                           "pad has no argument `" + a.name->name +
                               "=`; a value or word follows the tensor, and positions stand in the subscripts: "
                               "pad(A, edge)[i - 1, j]");
  }
  const std::size_t given = call.arguments.size() - 1;
  if (given != 1 && given != rank)
    lowerer.reports.fail(DiagnosticId::kBadArgument, range,
                         "pad takes a value or word for all dimensions, or one for each: this tensor has " +
                             counted(rank, "dimension") + ", but " + std::to_string(given) +
                             (given == 1 ? " is given" : " are given"));
  std::vector<Outside> all;
  for (std::size_t k = 1; k <= given; ++k) all.push_back(outside_of(lowerer, *call.arguments[k].value));
  return all;
}

}  // namespace

Tensor call_pad(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  if (call.arguments.size() < 2)
    lowerer.reports.fail(DiagnosticId::kBadArgument, range,
                         "pad takes a tensor and its boundary, a value or a word: pad(A, 0.0), pad(A, periodic)");
  Tensor result = lower(lowerer, *call.arguments[0].value);
  const std::vector<Outside> given = outsides(lowerer, call, result.rank(), range);
  const auto outside = [&](std::size_t d) -> const Outside& { return given[given.size() == 1 ? 0 : d]; };
  Common common{result.scalar(), result.weak};
  for (const Outside& o : given) {
    if (!o.back) common = lowerer.values.common_type(common, o.value, range);
  }
  std::vector<Expr> places;
  std::vector<Expr> inside(given.size());  // of the dimensions that share a value
  for (std::size_t d = 0; d < result.rank(); ++d) {
    const Expr own = ir::index_ref(result.labels[d]);
    const Expr extent = expr_of(lowerer.graph.program(), result.shape[d].extent);
    places.push_back(outside(d).back ? ir::binary(*outside(d).back, own, extent, range) : own);
    if (outside(d).back) continue;
    Expr& known = inside[given.size() == 1 ? 0 : d];
    known = both(known, ir::binary(BinaryOp::kLe, ir::constant_i64(0), own, range));
    known = both(known, ir::binary(BinaryOp::kLt, own, extent, range));
  }
  Expr body = converted(element(result, places), common.type);
  for (std::size_t k = given.size(); k-- > 0;) {
    if (inside[k]) body = ir::select(inside[k], body, converted(given[k].value.body, common.type), range);
  }
  result.body = std::move(body);
  result.weak = common.weak;
  result.padded = true;
  return result;
}

}  // namespace tdsl::frontend
