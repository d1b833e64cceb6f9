#include "frontend/lower/lowering.h"

#include <algorithm>
#include <set>

#include "frontend/sema/walk.h"
#include "ir/eval/small_sums.h"
#include "ir/graph/check.h"

namespace tdsl::frontend {

Scalar element_type(Lowerer& lowerer, Scalar written, const std::string& parameter) {
  if (parameter.empty()) return written;
  // All types are real: real(T) is T.
  const std::string prefix = "real(";
  const std::string name =
      parameter.starts_with(prefix) ? parameter.substr(prefix.size(), parameter.size() - prefix.size() - 1) : parameter;
  const auto& types = lowerer.frames.back().instance.types;
  const auto found = types.find(name);
  TDSL_CHECK(found != types.end(), "a type parameter is bound in every call");
  return found->second;
}

Extent dimension_extent(Lowerer& lowerer, const ast::Expr& e) {
  const auto bad = [&](const std::string& message) {
    lowerer.reports.fail(DiagnosticId::kBadDimension, e.range, message);
  };
  if (const auto* literal = std::get_if<ast::IntegerLiteral>(&e.node)) {
    if (literal->beyond_i64) bad("a dimension is at most 2^63 - 1");
    return literal->value;
  }
  if (const std::string* name = bare_name(e)) {
    const auto dimension = lowerer.dimensions().find(*name);
    if (dimension != lowerer.dimensions().end()) {
      dimension->second.used = true;
      tell_use(lowerer, e.range, dimension->second.range);
      return dimension->second.extent;
    }
    const SymbolRef symbol = lowerer.names.find(*name);
    if (symbol && symbol->kind == Symbol::Kind::kVar) {
      bad("`" + *name + "` is a var; a dimension needs a value that cannot change: use let");
    }
    const Tensor t = lower_name(lowerer, *name, e.range, false);
    if (t.rank() != 0 || !ir::is_integer(t.scalar())) {
      bad("`" + *name + "` is " + lowerer.graph.text(t) + "; a dimension needs an integer scalar");
    }
    if (!labels_of(t.body).empty()) bad("a dimension cannot depend on the index variable `" + *name + "`");
    return lowerer.graph.extent_of(ir::cast(Scalar::kI64, t.body), *name);
  }
  if (const auto* unary = std::get_if<ast::Unary>(&e.node)) {
    if (unary->op == ast::UnaryOp::kNegate) return Extent(0) - dimension_extent(lowerer, *unary->operand);
  }
  if (const auto* b = std::get_if<ast::Binary>(&e.node)) {
    const Extent left = dimension_extent(lowerer, *b->lhs);
    const Extent right = dimension_extent(lowerer, *b->rhs);
    const bool divides = b->op == ast::BinaryOp::kDiv || b->op == ast::BinaryOp::kMod;
    if (divides && right.constant() == 0) bad("division by zero in a dimension");
    if (b->op == ast::BinaryOp::kAdd) return left + right;
    if (b->op == ast::BinaryOp::kSub) return left - right;
    if (b->op == ast::BinaryOp::kMul) {
      const auto product = ir::product_if_small(left, right);
      if (!product) bad("this dimension has too many terms when multiplied out; name a part of it with `let`");
      return *product;
    }
    if (b->op == ast::BinaryOp::kDiv) return Extent::quotient(left, right);
    if (b->op == ast::BinaryOp::kMod) return Extent::remainder(left, right);
  }
  bad("a dimension is built from integers, dimension names, params and immutable integer scalars with + - * / % ( )");
  return {};
}

Extent new_dimension(Lowerer& lowerer, const ast::Identifier& name) {
  const Extent size = lowerer.shapes.new_dimension(name);
  lowerer.dimensions()[name.name] = {size, name.range, true};
  return size;
}

bool is_new_dimension(Lowerer& lowerer, const std::string& name) {
  return !lowerer.dimensions().contains(name) && !is_scalar_variable(lowerer.graph, lowerer.names, name);
}

std::optional<Extent> bind_found(Lowerer& lowerer, const ast::Identifier& name, const Extent& extent) {
  const bool in_program = lowerer.frames.size() == 1;
  if (!lowerer.shapes.name_found(extent, name, in_program)) return std::nullopt;
  lowerer.dimensions()[name.name] = {extent, name.range, true};
  return extent;
}

BindDimension bind_found(Lowerer& lowerer, const Tensor& value) {
  return [&lowerer, &value](const ast::Identifier& name, std::size_t d) -> std::optional<Extent> {
    return d < value.rank() ? bind_found(lowerer, name, value.shape[d].extent) : std::nullopt;
  };
}

namespace {

/// A name that stands alone in a dimension of types[type], behind its first use in an expression.
struct LateDimension {
  ast::Identifier name;
  std::size_t type;
  std::size_t dimension;
};

/// In order. Types of any rank count as none.
std::vector<LateDimension> late_dimensions(const std::vector<const ast::TypeExpr*>& types) {
  std::set<std::string> alone, used;
  std::vector<LateDimension> late;
  for (std::size_t t = 0; t < types.size(); ++t) {
    if (types[t] == nullptr || has_rest(*types[t])) continue;
    for (std::size_t d = 0; d < types[t]->dimensions.size(); ++d) {
      const ast::Expr& extent = *types[t]->dimensions[d].extent;
      if (const std::string* name = bare_name(extent)) {
        if (alone.insert(*name).second && used.contains(*name)) late.push_back({{*name, extent.range}, t, d});
        continue;
      }
      for_each_expr(extent, [&](const ast::Expr& e) {
        if (const std::string* name = bare_name(e); name != nullptr && !alone.contains(*name)) used.insert(*name);
      });
    }
  }
  return late;
}

}  // namespace

void declare_late_dimensions(Lowerer& lowerer, const ast::Module& module) {
  std::set<std::string> others;
  std::vector<const ast::TypeExpr*> types;
  for (const ast::StmtPtr& s : module.statements) {
    if (const auto* param = std::get_if<ast::Param>(&s->node)) others.insert(param->name.name);
    if (const auto* let = std::get_if<ast::Let>(&s->node)) others.insert(let->target.name.name);
    if (const auto* several = std::get_if<ast::TupleLet>(&s->node)) {
      for (const ast::Identifier& name : several->names) others.insert(name.name);
    }
    if (const auto* input = std::get_if<ast::Input>(&s->node)) {
      others.insert(input->name.name);
      types.push_back(&*input->annotations.type);
    }
  }
  for (const LateDimension& late : late_dimensions(types)) {
    if (!others.contains(late.name.name)) new_dimension(lowerer, late.name);
  }
}

void bind_late_dimensions(Lowerer& lowerer, const ast::Function& f, const std::vector<Tensor>& args) {
  std::vector<const ast::TypeExpr*> types;
  for (const ast::FunctionParameter& p : f.parameters) types.push_back(p.type ? &*p.type : nullptr);
  for (const LateDimension& late : late_dimensions(types)) {
    const std::string& name = late.name.name;
    const bool is_parameter =
        std::ranges::any_of(f.parameters, [&](const ast::FunctionParameter& p) { return p.name.name == name; });
    if (is_parameter || lowerer.dimensions().contains(name) || late.type >= args.size() ||
        args[late.type].rank() != types[late.type]->dimensions.size() ||
        is_scalar_variable(lowerer.graph, lowerer.names, name))
      continue;
    lowerer.dimensions()[name] = {args[late.type].shape[late.dimension].extent, late.name.range, true};
  }
}

ir::Type lower_type(Lowerer& lowerer, const ast::TypeExpr& type, const BindDimension& bind) {
  ir::Type result{element_type(lowerer, type.scalar, type.parameter), {}, {}};
  const auto add_level = [&](bool sparse) {
    result.format.levels.push_back(sparse ? ir::Format::Level::kSparse : ir::Format::Level::kDense);
  };
  for (const ast::Dimension& d : type.dimensions) {
    if (!d.extent) {
      const auto& rest = lowerer.frames.back().instance.rest;
      if (!rest)
        lowerer.reports.fail(DiagnosticId::kBadDimension, d.range,
                             "`...` stands for the dimensions of an argument: in a function whose parameters have it");
      for (const ir::Extent& extent : *rest) {
        result.shape.push_back(extent);
        add_level(false);
      }
      continue;
    }
    const std::string* name = bare_name(*d.extent);
    const bool is_new = name != nullptr && is_new_dimension(lowerer, *name);
    const auto bound = bind && is_new ? bind({*name, d.extent->range}, result.shape.size()) : std::nullopt;
    result.shape.push_back(bound ? *bound : dimension_extent(lowerer, *d.extent));
    if (result.shape.back().constant())
      lowerer.shapes.require_not_negative(result.shape.back(), "this dimension", d.range);
    // `sparse f64[n, m]`: marks all dimensions but the first, or the only one.
    add_level(d.sparse || (type.sparse && (result.shape.size() > 1 || type.dimensions.size() == 1)));
  }
  if (result.shape.size() > 8)
    lowerer.reports.fail(DiagnosticId::kRankMismatch, type.range, "a tensor has at most 8 dimensions");
  if (result.has_sparse() && ir::is_half(result.scalar))
    lowerer.reports.unsupported(type.range, "sparse " + std::string(ir::name_of(result.scalar)) + " is");
  if (result.has_sparse()) lowerer.graph.note_sparse();
  lowerer.values.require_legal(result, "", type.range);
  return result;
}

bool has_rest(const ast::TypeExpr& type) {
  return std::ranges::any_of(type.dimensions, [](const ast::Dimension& d) { return !d.extent; });
}

void require_sizes(Reports& reports, Shapes& shapes, const ast::TypeExpr& written, const ir::Type& type) {
  for (std::size_t d = 0; !has_rest(written) && d < written.dimensions.size(); ++d) {
    const SourceRange& range = written.dimensions[d].range;
    shapes.require_size(type.shape[d], "the size " + reports.source_text(range), range);
  }
}

}  // namespace tdsl::frontend
