#include "frontend/lower/leaving.h"
#include "frontend/lower/lowering.h"
#include "frontend/lower/series.h"

#include <algorithm>

#include "frontend/lower/builtins.h"
#include "frontend/sema/types.h"
#include "ir/analysis/combined.h"
#include "ir/eval/expr.h"
#include "ir/graph/check.h"

namespace tdsl::frontend {

using ir::match;

namespace {

/// Forgets at its end the dimensions that statements of a block have named.
class BlockDimensions {
 public:
  explicit BlockDimensions(Lowerer& lowerer) : lowerer_(lowerer) {
    for (const auto& [name, dimension] : lowerer.dimensions()) before_.insert(name);
  }
  ~BlockDimensions() {
    std::erase_if(lowerer_.dimensions(), [this](const auto& entry) { return !before_.contains(entry.first); });
  }
  BlockDimensions(const BlockDimensions&) = delete;
  BlockDimensions& operator=(const BlockDimensions&) = delete;

 private:
  Lowerer& lowerer_;
  std::set<std::string> before_;
};

}  // namespace

void lower_block(Lowerer& lowerer, const ast::Block& block) {
  const Names::InScope scope(lowerer.names, Scope::Kind::kBlock);
  const BlockDimensions dimensions(lowerer);
  for (const ast::StmtPtr& s : block.statements) lower_statement(lowerer, *s);
}

namespace {

void mark_broken(Names& names, const ast::Stmt& s) {
  if (const auto* let = std::get_if<ast::Let>(&s.node)) names.declare_broken(let->target.name);
  if (const auto* input = std::get_if<ast::Input>(&s.node)) names.declare_broken(input->name);
  if (const auto* param = std::get_if<ast::Param>(&s.node)) names.declare_broken(param->name);
  if (const auto* output = std::get_if<ast::Output>(&s.node); output != nullptr && output->definition) {
    names.declare_broken(output->target.name);
  }
  // A declaration in a later assignment would leave the name undefined in every use.
  const auto assigned = [&](const ast::Identifier& name) {
    if (!names.find(name.name)) names.declare_broken(name);
  };
  if (const auto* assign = std::get_if<ast::Assign>(&s.node)) assigned(assign->target.name);
  if (const auto* tuple = std::get_if<ast::TupleAssign>(&s.node)) std::ranges::for_each(tuple->names, assigned);
  if (const auto* tuple = std::get_if<ast::TupleLet>(&s.node)) {
    for (const ast::Identifier& name : tuple->names) names.declare_broken(name);
  }
}

}  // namespace

void lower_statement(Lowerer& lowerer, const ast::Stmt& s) {
  if (lowerer.reports.sink().is_full()) return;
  const Guards guards = lowerer.guards;
  try {
    dispatch(lowerer, s);
  } catch (const Abandoned&) {
    lowerer.guards = guards;
    mark_broken(lowerer.names, s);
  }
}

namespace {

void check_option_name(Reports& reports, const ast::Identifier& name) {
  static const std::set<std::string> options = {
      "tile",    "threads",  "seed",         "set",       "plan",       "stats",  "memory",
      "window",  "schedule", "reproducible", "factorise", "checkpoint", "resume", "trace",
      "profile", "check",    "progress",     "dry_run",   "quiet",      "help",   "version"};
  if (!options.contains(name.name)) return;
  reports.warn(
      DiagnosticId::kOptionClash, name.range,
      "--" + name.name + " is an option of every executable; this one is reached by --set " + name.name + "=VALUE");
}

void lower_param(Lowerer& lowerer, const ast::Param& p) {
  check_option_name(lowerer.reports, p.name);
  const ir::Type type = lower_type(lowerer, p.type);
  if (type.rank() != 0)
    lowerer.reports.fail(DiagnosticId::kRankMismatch, p.type.range, "a param is a scalar; tensors are inputs");
  if (ir::is_half(type.scalar))
    lowerer.reports.unsupported(p.type.range, "a param of type " + std::string(ir::name_of(type.scalar)) + " is");
  ir::Param param{p.name.name, {}, {}, {}};
  if (p.default_value) {
    const Expr value =
        lowerer.values.scalar_of_type(lower(lowerer, *p.default_value), type.scalar, "the param `" + p.name.name + "`");
    try {
      param.default_value = ir::eval::value_of_constant(lowerer.graph.program(), value, p.default_value->range);
    } catch (const ir::eval::Stop& stop) {
      lowerer.reports.fail(DiagnosticId::kNotConstant, stop.error.range,
                           "a param's default is a constant: " + stop.error.message);
    }
    if (!param.default_value) {
      param.computed_default = lowerer.values.materialise(scalar_tensor(value), "", p.default_value->range);
      param.default_text = lowerer.reports.source_text(p.default_value->range);
      if (param.default_text.empty()) param.default_text = "computed";
      if (!ir::known_at_start(lowerer.graph.program(), *param.computed_default)) {
        lowerer.reports.fail(
            DiagnosticId::kNotConstant, p.default_value->range,
            "a param's default is a constant or a scalar computed from params and dimensions; this depends on data");
      }
    }
  }
  const SymbolRef symbol = lowerer.names.declare(p.name, Symbol::Kind::kParam);
  lowerer.versions.set(symbol, lowerer.graph.emit(std::move(param), type, p.name.name, p.name.range));
  tell_type(lowerer, *symbol);
}

/// `tile (a, b)`: one tile size per dimension of the declared tensor.
void annotate_tile(Lowerer& lowerer, ValueId value, const ast::Annotations& annotations) {
  if (!annotations.tile) return;
  std::vector<ir::Extent> edges;
  for (const ast::ExprPtr& size : annotations.tile->sizes) edges.push_back(dimension_extent(lowerer, *size));
  ir::ValueInfo& info = lowerer.graph.program().values[static_cast<std::size_t>(value.id)];
  if (edges.size() != info.type.rank()) {
    lowerer.reports.fail(DiagnosticId::kBadArgument, annotations.tile->range,
                         "tile gives " + std::to_string(edges.size()) +
                             (edges.size() == 1 ? " size, but `" : " sizes, but `") + info.name + "` has " +
                             std::to_string(info.type.rank()) + (info.type.rank() == 1 ? " dimension" : " dimensions"));
  }
  for (std::size_t d = 0; d < edges.size(); ++d) {
    if (edges[d].constant().value_or(1) < 1)
      lowerer.reports.fail(DiagnosticId::kBadArgument, annotations.tile->sizes[d]->range,
                           "a tile has at least one element along each dimension");
  }
  // A second name of a tensor does not change its tiles.
  if (info.tile.empty()) info.tile = std::move(edges);
}

void lower_input(Lowerer& lowerer, const ast::Input& i) {
  check_option_name(lowerer.reports, i.name);
  std::vector<std::pair<ir::Extent, ast::Identifier>> bound;
  ir::Type type = lower_type(lowerer, *i.annotations.type, [&](const ast::Identifier& name, std::size_t) {
    bound.emplace_back(new_dimension(lowerer, name), name);
    return bound.back().first;
  });
  require_sizes(lowerer.reports, lowerer.shapes, *i.annotations.type, type);
  StorageRef storage;
  if (i.annotations.storage) {
    if (type.has_sparse())
      lowerer.reports.unsupported(i.annotations.storage->range, "a storage of a type with sparse dimensions is");
    storage = lower_storage(lowerer, *i.annotations.storage, type.shape, type.scalar);
    type.shape = storage->stored;
    for (const auto& [extent, name] : bound) {
      if (std::ranges::find(type.shape, extent) == type.shape.end())
        lowerer.reports.fail(DiagnosticId::kBadDimension, name.range,
                             "the size `" + name.name + "` cannot be derived from the tensor kept by the storage `" +
                                 i.annotations.storage->name.name +
                                 "`; declare it before as a param or in another input",
                             {{i.annotations.storage->range, "the file holds the stored tensor"}});
    }
  }
  const SymbolRef symbol = lowerer.names.declare(i.name, Symbol::Kind::kInput);
  symbol->storage = storage;
  lowerer.versions.set(symbol, lowerer.graph.emit(ir::Input{i.name.name}, type, i.name.name, i.name.range));
  tell_type(lowerer, *symbol);
  annotate_tile(lowerer, symbol->value, i.annotations);
}

/// Warns if an output is a param or an input, which share its option.
void warn_of_shared_option(const Names& names, Reports& reports, const ast::Identifier& output) {
  const SymbolRef symbol = names.find(output.name);
  // Dimensions have no symbol.
  if (!symbol || (symbol->kind != Symbol::Kind::kInput && symbol->kind != Symbol::Kind::kParam)) return;
  reports.warn(DiagnosticId::kOptionClash, output.range,
               "--" + output.name + " gives the " + (symbol->kind == Symbol::Kind::kInput ? "input" : "param") +
                   ", so this output can only be summarised; to write it, name it: output NAME = " + output.name + ";",
               {{symbol->range, "declared here"}});
}

/// The value of a variable with a written type, which may name extents found by data.
Stored typed_value(Lowerer& lowerer, const ast::Identifier& name, const Tensor& given, const ast::TypeExpr& written,
                   const SourceRange& range) {
  const std::string what = "`" + name.name + "`";
  const ir::Type type = lower_type(lowerer, written, bind_found(lowerer, given));
  const Tensor value = lowerer.values.converted_to(given, type.scalar, what, range);
  lowerer.shapes.require_shape(value, type, what, range);
  return lowerer.values.value_of(value, name.name, name.range, &type);
}

Stored lower_whole_declaration(Lowerer& lowerer, const ast::Target& target, const ast::Annotations& annotations,
                               const ast::Definition& definition) {
  require_no_suffixes(lowerer.reports, definition.suffixes);
  const std::string& name = target.name.name;
  if (definition.op.kind != ast::AssignKind::kSet) {
    lowerer.reports.fail(DiagnosticId::kImmutable, definition.op.range,
                         "a whole tensor is declared with =; op= needs index variables or an earlier var");
  }
  const Tensor value = lower(lowerer, *definition.value);
  if (!annotations.type) return lowerer.values.value_of(value, name, target.range);
  return typed_value(lowerer, target.name, value, *annotations.type, definition.value->range);
}

Stored lower_declaration(Lowerer& lowerer, const ast::Target& target, const ast::Annotations& annotations,
                         const ast::Definition& definition) {
  const Stored stored = annotations.storage ? lower_stored_declaration(lowerer, target, annotations, definition)
                        : target.subscripts ? Stored{lower_index_declaration(lowerer, target, annotations, definition)}
                                            : lower_whole_declaration(lowerer, target, annotations, definition);
  annotate_tile(lowerer, stored.value, annotations);
  return stored;
}

void lower_output(Lowerer& lowerer, const ast::Output& o, const SourceRange& range) {
  const ast::Identifier& name = o.target.name;
  check_option_name(lowerer.reports, name);
  if (lowerer.frames.size() > 1)
    lowerer.reports.fail(DiagnosticId::kMisplacedStatement, range, "`output` cannot stand in a function");
  if (o.every && !o.record) {
    lowerer.reports.fail(DiagnosticId::kMisplacedSuffix, o.every->range,
                         "`every` belongs to an output in a loop, which appends records to a series");
  }
  Stored stored;
  if (o.definition) {
    stored = lower_declaration(lowerer, o.target, o.annotations, *o.definition);
    if (!o.record) declare_value(lowerer, name, Symbol::Kind::kLet, stored.value, stored.storage)->used = true;
  } else {
    stored = lowerer.values.value_of(lower_name(lowerer, name.name, name.range, false), name.name, name.range);
    warn_of_shared_option(lowerer.names, lowerer.reports, name);
  }
  if (!lowerer.declared.outputs.insert(name.name).second) {
    lowerer.reports.fail(DiagnosticId::kDuplicateOutput, name.range, "`" + name.name + "` is an output already");
  }
  if (o.record) return lower_record(lowerer, o, stored.value, range);
  lowerer.graph.emit_effect(ir::Output{name.name, stored.value, {}, false}, range);
}

bool lower_inline_let(Lowerer& lowerer, const ast::Let& l) {
  const bool scalar = !l.annotations.type || l.annotations.type->dimensions.empty();
  if (l.target.subscripts || l.is_mutable || !scalar || l.definition.op.kind != ast::AssignKind::kSet) return false;
  require_no_suffixes(lowerer.reports, l.definition.suffixes);
  Tensor value = lower(lowerer, *l.definition.value);
  if (l.annotations.type) {
    const std::string what = "`" + l.target.name.name + "`";
    value = lowerer.values.converted_to(value, lower_type(lowerer, *l.annotations.type).scalar, what,
                                        l.definition.value->range);
    lowerer.shapes.require_shape(value, {value.scalar(), {}, {}}, what, l.definition.value->range);
  }
  lowerer.names.declare(l.target.name, Symbol::Kind::kInline)->lazy = value;
  return true;
}

void lower_let(Lowerer& lowerer, const ast::Let& l) {
  if (lowerer.frames.back().inline_locals && lower_inline_let(lowerer, l)) return;
  declare_named(lowerer, l.target.name, l.is_mutable,
                lower_declaration(lowerer, l.target, l.annotations, l.definition));
}

std::vector<Tensor> lower_tuple_value(Lowerer& lowerer, const ast::Definition& d, std::size_t count) {
  require_no_suffixes(lowerer.reports, d.suffixes);
  std::vector<Tensor> values;
  if (const auto* tuple = std::get_if<ast::Tuple>(&d.value->node)) {
    for (const ast::ExprPtr& e : tuple->elements) values.push_back(lower(lowerer, *e));
  } else if (const auto* call = std::get_if<ast::Call>(&d.value->node);
             call != nullptr &&
             (lowerer.declared.functions.contains(call->callee.name) || tuple_call(lowerer, d.value) != nullptr)) {
    values = lower_tuple_call(lowerer, *call, d.value->range);
  } else if (call != nullptr && call->callee.name == "grad") {
    values = call_gradient(lowerer, *call, d.value->range);
  } else {
    values.push_back(lower(lowerer, *d.value));
  }
  if (values.size() != count) {
    lowerer.reports.fail(DiagnosticId::kTypeMismatch, d.value->range,
                         counted(count, "name") + ", but " + counted(values.size(), "value"));
  }
  return values;
}

void lower_tuple_let(Lowerer& lowerer, const ast::TupleLet& l) {
  const std::vector<Tensor> values = lower_tuple_value(lowerer, l.definition, l.names.size());
  for (std::size_t k = 0; k < values.size(); ++k) {
    const auto& type = l.types[k];
    declare_named(lowerer, l.names[k], l.is_mutable,
                  type ? typed_value(lowerer, l.names[k], values[k], *type, l.definition.value->range)
                       : lowerer.values.value_of(values[k], l.names[k].name, l.names[k].range));
  }
}

/// `value` converted to the variable's type and storage.
ValueId assigned_value(Values& values, const Tensor& value, const ir::Type& type, const Symbol& symbol,
                       const SourceRange& range) {
  return symbol.storage ? values.store(value, type.scalar, symbol.storage, symbol.name, range).value
                        : values.materialise(value, symbol.name, range, &type);
}

void assign_whole(Lowerer& lowerer, const ast::Assign& a, const SymbolRef& symbol) {
  require_no_suffixes(lowerer.reports, a.definition.suffixes);
  const std::string& name = a.target.name.name;
  const ir::Type type = lowerer.values.logical_type(*symbol);
  const ast::AssignOp& op = a.definition.op;
  const SourceRange& place = a.definition.value->range;
  Tensor value = lower(lowerer, *a.definition.value);
  if (op.kind != ast::AssignKind::kSet) {
    lowerer.values.common_type(Common{type.scalar, Weak::kNo}, value, op.range);
    value = lowerer.values.converted_to(value, type.scalar, "`" + name + "`", place);
    const Tensor old = symbol->storage
                           ? lowerer.values.stored_tensor(symbol->value, symbol->storage, name, a.target.name.range)
                           : lowerer.values.tensor_of(symbol->value, name, a.target.name.range);
    const auto monoid = combine_monoid(lowerer, op, type.scalar);
    if (op.kind == ast::AssignKind::kMonoid || is_bitwise(op.kind)) {
      value = lowerer.algebra.elementwise({old, value}, Weak::kNo, a.target.range, [&](const std::vector<Expr>& e) {
        return ir::combined(*monoid, e[0], e[1]);
      });
    } else {
      static const std::map<ast::AssignKind, BinaryOp> operators = {
          {ast::AssignKind::kAdd, BinaryOp::kAdd}, {ast::AssignKind::kSub, BinaryOp::kSub},
          {ast::AssignKind::kMul, BinaryOp::kMul}, {ast::AssignKind::kDiv, BinaryOp::kDiv},
          {ast::AssignKind::kMin, BinaryOp::kMin}, {ast::AssignKind::kMax, BinaryOp::kMax}};
      value = lowerer.algebra.arithmetic(operators.at(op.kind), old, value, a.target.range.to(place));
    }
  }
  value = lowerer.values.converted_to(value, type.scalar, "`" + name + "`", place);
  lowerer.shapes.require_shape(value, type, "`" + name + "`", place);
  lowerer.versions.set(symbol, lowerer.versions.own_value(a.target.name, assigned_value(lowerer.values, value, type,
                                                                                        *symbol, a.target.range)));
}

void lower_assign(Lowerer& lowerer, const ast::Assign& a) {
  const SymbolRef symbol = assignable(lowerer, a.target.name);
  if (!a.target.subscripts) {
    assign_whole(lowerer, a, symbol);
    return;
  }
  const bool has_slices = std::ranges::any_of(*a.target.subscripts, [](const ast::SubscriptItem& item) {
    return !std::holds_alternative<ast::IndexSubscript>(item.node);
  });
  if (has_slices) {
    lower_slice_assignment(lowerer, a, symbol);
  } else {
    lower_index_assignment(lowerer, a, symbol);
  }
}

void lower_tuple_assign(Lowerer& lowerer, const ast::TupleAssign& a) {
  std::vector<SymbolRef> symbols;
  for (const ast::Identifier& name : a.names) symbols.push_back(assignable(lowerer, name));
  const std::vector<Tensor> values = lower_tuple_value(lowerer, a.definition, symbols.size());
  // All right sides are computed from the old values.
  std::vector<ValueId> results;
  for (std::size_t k = 0; k < symbols.size(); ++k) {
    const ir::Type type = lowerer.values.logical_type(*symbols[k]);
    const std::string what = "`" + symbols[k]->name + "`";
    const Tensor value = lowerer.values.converted_to(values[k], type.scalar, what, values[k].range);
    lowerer.shapes.require_shape(value, type, what, values[k].range);
    results.push_back(lowerer.versions.own_value(
        a.names[k], assigned_value(lowerer.values, value, type, *symbols[k], a.names[k].range)));
  }
  lowerer.versions.set(symbols, results);
}

void lower_print(Lowerer& lowerer, const ast::Print& p, const SourceRange& range) {
  ir::Print print;
  for (const ast::ExprPtr& item : p.items) {
    if (const auto* text = std::get_if<ast::StringLiteral>(&item->node)) {
      print.items.emplace_back(text->value);
    } else {
      print.items.emplace_back(
          lowerer.values.materialise(lower(lowerer, *item), lowerer.reports.source_text(item->range), item->range));
    }
  }
  lowerer.graph.emit_effect(std::move(print), range);
}

void lower_assert(Lowerer& lowerer, const ast::Assert& a, const SourceRange& range) {
  const ValueId v = condition_value(lowerer, *a.condition, "assert");
  lowerer.graph.emit_effect(ir::Assert{v, a.message.value_or(lowerer.reports.source_text(a.condition->range))}, range);
}

}  // namespace

void dispatch(Lowerer& lowerer, const ast::Stmt& s) {
  const bool outermost = lowerer.frames.size() == 1 && lowerer.graph.region_depth() == 1;
  if (outermost && holds_series(s)) return lower_series(lowerer, s);
  match(
      s.node, [&](const ast::Import& i) { lower_import(lowerer, i); },
      [&](const ast::Param& p) { lower_param(lowerer, p); }, [&](const ast::Input& i) { lower_input(lowerer, i); },
      [&](const ast::Output& o) { lower_output(lowerer, o, s.range); },
      [&](const ast::Let& l) { lower_let(lowerer, l); }, [&](const ast::TupleLet& l) { lower_tuple_let(lowerer, l); },
      [&](const ast::Assign& a) { lower_assign(lowerer, a); },
      [&](const ast::TupleAssign& a) { lower_tuple_assign(lowerer, a); },
      [&](const ast::For& f) {
        if (is_left(s)) return lower_left_loop(lowerer, s);
        std::vector<LoopRange> bounds;
        lower_for(lowerer, f, bounds, 0, s.range);
      },
      [&](const ast::While& w) {
        if (is_left(s)) return lower_left_loop(lowerer, s);
        lower_while(lowerer, w, s.range);
      },
      [&](const ast::Leave& leave) {
        lowerer.reports.fail(DiagnosticId::kMisplacedStatement, s.range,
                             std::string(leave.ends_loop ? "`break`" : "`continue`") + " can stand only in a loop");
      },
      [&](const ast::If& i) { lower_if(lowerer, i, 0, s.range); },
      [&](const ast::Print& p) { lower_print(lowerer, p, s.range); },
      [&](const ast::Assert& a) { lower_assert(lowerer, a, s.range); },
      [&](const ast::Return&) {
        // check_definition has reported misplaced returns in functions.
        lowerer.reports.fail(DiagnosticId::kMisplacedStatement, s.range, "`return` can stand only in a function");
      },
      [](const ast::Function&) {}, [](const ast::Monoid&) {}, [](const ast::Extern&) {}, [](const ast::Storage&) {});
}

void require_no_suffixes(Reports& reports, const ast::Suffixes& s) {
  if (!s.where && !s.loop) return;
  const SourceRange& range = s.where ? s.where->range : s.loop->range;
  reports.fail(DiagnosticId::kMisplacedSuffix, range,
               std::string(s.where ? "where" : "for") +
                   " needs index variables on the left, as in let L[i, j] = A[i, j] where i >= j" +
                   (s.where ? "; for whole tensors use where(c, a, b)" : ""));
}

}  // namespace tdsl::frontend
