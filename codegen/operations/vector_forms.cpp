#include "codegen/operations/vector_forms.h"
#include "ir/graph/expr_build.h"

namespace tdsl::codegen {

namespace {

/// Limit on library calls in both branches of a select for computing both.
constexpr int kMostCalls = 4;

/// True if every subscript is a label that stays within the dimension.
bool reads_inside(const ir::Read& r, const std::vector<Extent>& shape, const LabelCovers& covers) {
  for (std::size_t d = 0; d < r.subscripts.size(); ++d) {
    const std::int32_t label = ir::bare_label(r.subscripts[d]);
    if (label < 0 || !covers(label, shape[d])) return false;
  }
  return true;
}

bool computes_anywhere(const Expr& e, const ReadShape& shape, const LabelCovers& covers) {
  bool anywhere = true;
  ir::for_each_node(e, [&](const ir::ExprNode& node) {
    const auto* r = std::get_if<ir::Read>(&node.op);
    const std::vector<Extent>* read = r == nullptr ? nullptr : shape(r->tensor);
    anywhere = anywhere && !may_fail(node) && (read == nullptr || reads_inside(*r, *read, covers));
  });
  return anywhere;
}

}  // namespace

bool may_fail(const ir::ExprNode& node) {
  if (std::holds_alternative<ir::Apply>(node.op)) return true;
  if (const auto* c = std::get_if<ir::Cast>(&node.op))
    return ir::is_integer(node.type) && ir::is_float(c->operand->type);
  const auto* b = std::get_if<ir::Binary>(&node.op);
  if (b == nullptr || ir::is_float(node.type)) return false;
  using enum ir::BinaryOp;
  return b->op == kDiv || b->op == kAbsentDiv || b->op == kRem || b->op == kMod || b->op == kPow;
}

int library_calls(const Expr& e) {
  int calls = 0;
  ir::for_each_node(e, [&](const ir::ExprNode& node) {
    const auto* u = std::get_if<ir::Unary>(&node.op);
    const auto* b = std::get_if<ir::Binary>(&node.op);
    if ((u != nullptr && is_library_function(u->op)) || (b != nullptr && is_library_function(b->op))) ++calls;
  });
  return calls;
}

bool computes_both(const ir::Select& select, const OperationProgram& program, const LabelCovers& covers) {
  return computes_both(
      select, [&](ValueId v) { return program.is_host(v) ? nullptr : &program.type(v).shape; }, covers);
}

bool computes_both(const ir::Select& select, const ReadShape& shape, const LabelCovers& covers) {
  const int calls = library_calls(select.when_true) + library_calls(select.when_false);
  if (calls == 0 || calls > kMostCalls || !ir::is_real(select.when_true->type)) return false;
  return computes_anywhere(select.when_true, shape, covers) && computes_anywhere(select.when_false, shape, covers);
}

}  // namespace tdsl::codegen
