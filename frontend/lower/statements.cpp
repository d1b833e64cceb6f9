#include <algorithm>

#include "frontend/lower/lowerer.h"
#include "frontend/sema/walk.h"
#include "ir/analysis/combined.h"
#include "ir/eval/expr.h"

namespace tdsl::frontend {

using ir::BinaryOp;
using ir::Expr;
using ir::match;
using ir::Scalar;
using ir::ValueId;

void Lowerer::lower_block(const ast::Block& block) {
  const Names::InScope scope(names_, Scope::Kind::kBlock);
  for (const ast::StmtPtr& s : block.statements) lower_statement(*s);
}

void Lowerer::lower_statement(const ast::Stmt& s) {
  if (sink_.is_full()) return;
  const Guards guards = guards_;
  try {
    dispatch(s);
  } catch (const Abandoned&) {
    guards_ = guards;
    mark_broken(s);
  }
}

void Lowerer::mark_broken(const ast::Stmt& s) {
  if (const auto* let = std::get_if<ast::Let>(&s.node)) names_.declare_broken(let->target.name);
  if (const auto* input = std::get_if<ast::Input>(&s.node)) names_.declare_broken(input->name);
  if (const auto* param = std::get_if<ast::Param>(&s.node)) names_.declare_broken(param->name);
  if (const auto* output = std::get_if<ast::Output>(&s.node); output != nullptr && output->definition) {
    names_.declare_broken(output->target.name);
  }
  // A name that only a later assignment declares would be undefined in every use.
  const auto assigned = [this](const ast::Identifier& name) {
    if (!names_.find(name.name)) names_.declare_broken(name);
  };
  if (const auto* assign = std::get_if<ast::Assign>(&s.node)) assigned(assign->target.name);
  if (const auto* tuple = std::get_if<ast::TupleAssign>(&s.node)) std::ranges::for_each(tuple->names, assigned);
  if (const auto* tuple = std::get_if<ast::TupleLet>(&s.node)) {
    for (const ast::Identifier& name : tuple->names) names_.declare_broken(name);
  }
}

void Lowerer::dispatch(const ast::Stmt& s) {
  match(
      s.node, [&](const ast::Import& i) { lower_import(i); }, [&](const ast::Param& p) { lower_param(p); },
      [&](const ast::Input& i) { lower_input(i); }, [&](const ast::Output& o) { lower_output(o, s.range); },
      [&](const ast::Let& l) { lower_let(l); }, [&](const ast::TupleLet& l) { lower_tuple_let(l); },
      [&](const ast::Assign& a) { lower_assign(a); }, [&](const ast::TupleAssign& a) { lower_tuple_assign(a); },
      [&](const ast::For& f) {
        std::vector<LoopRange> bounds;
        lower_for(f, bounds, 0, s.range);
      },
      [&](const ast::While& w) { lower_while(w, s.range); }, [&](const ast::If& i) { lower_if(i, 0, s.range); },
      [&](const ast::Print& p) { lower_print(p, s.range); }, [&](const ast::Assert& a) { lower_assert(a, s.range); },
      [&](const ast::Return&) {
        // In functions check_returns has been here before.
        reports_.fail(DiagnosticId::kMisplacedStatement, s.range, "`return` can stand only in a function");
      },
      [](const ast::Function&) {}, [](const ast::Monoid&) {}, [](const ast::Extern&) {}, [](const ast::Storage&) {});
}

void Lowerer::check_option_name(const ast::Identifier& name) {
  static const std::set<std::string> options = {
      "tile",    "threads",  "seed",         "set",       "plan",       "stats",  "memory",
      "window",  "schedule", "reproducible", "factorise", "checkpoint", "resume", "trace",
      "profile", "check",    "progress",     "dry_run",   "quiet",      "help",   "version"};
  if (!options.contains(name.name)) return;
  reports_.warn(
      DiagnosticId::kOptionClash, name.range,
      "--" + name.name + " is an option of every executable; this one is reached by --set " + name.name + "=VALUE");
}

void Lowerer::warn_of_shared_option(const ast::Identifier& output) {
  const SymbolRef symbol = names_.find(output.name);
  // A dimension has no symbol.
  if (!symbol || (symbol->kind != Symbol::Kind::kInput && symbol->kind != Symbol::Kind::kParam)) return;
  reports_.warn(DiagnosticId::kOptionClash, output.range,
                "--" + output.name + " gives the " + (symbol->kind == Symbol::Kind::kInput ? "input" : "param") +
                    ", so this output can only be summarised; to write it, name it: output NAME = " + output.name + ";",
                {{symbol->range, "declared here"}});
}

void Lowerer::lower_param(const ast::Param& p) {
  check_option_name(p.name);
  const ir::Type type = lower_type(p.type);
  if (type.rank() != 0)
    reports_.fail(DiagnosticId::kRankMismatch, p.type.range, "a param is a scalar; tensors are inputs");
  ir::Param param{p.name.name, {}, {}, {}};
  if (p.default_value) {
    const Expr value = values_.scalar_of_type(lower(*p.default_value), type.scalar, "the param `" + p.name.name + "`");
    try {
      param.default_value = ir::eval::value_of_constant(graph_.program(), value, p.default_value->range);
    } catch (const ir::eval::Stop& stop) {
      reports_.fail(DiagnosticId::kNotConstant, stop.error.range,
                    "a param's default is a constant: " + stop.error.message);
    }
    if (!param.default_value) {
      param.computed_default = values_.materialise(scalar_tensor(value), "", p.default_value->range);
      param.default_text = reports_.source_text(p.default_value->range);
      if (param.default_text.empty()) param.default_text = "computed";
      if (!ir::known_at_start(graph_.program(), *param.computed_default)) {
        reports_.fail(
            DiagnosticId::kNotConstant, p.default_value->range,
            "a param's default is a constant or a scalar computed from params and dimensions; this depends on data");
      }
    }
  }
  const SymbolRef symbol = names_.declare(p.name, Symbol::Kind::kParam);
  versions_.set(symbol, graph_.emit(std::move(param), type, p.name.name, p.name.range));
  tell_type(*symbol);
}

void Lowerer::lower_input(const ast::Input& i) {
  check_option_name(i.name);
  std::vector<std::pair<ir::Extent, ast::Identifier>> bound;
  ir::Type type = lower_type(*i.annotations.type, [&](const ast::Identifier& name, std::size_t) {
    bound.emplace_back(new_dimension(name), name);
    return bound.back().first;
  });
  require_sizes(*i.annotations.type, type);
  StorageRef storage;
  if (i.annotations.storage) {
    if (type.has_sparse())
      reports_.unsupported(i.annotations.storage->range, "a storage of a type with sparse dimensions is");
    storage = lower_storage(*i.annotations.storage, type.shape);
    type.shape = storage->stored;
    for (const auto& [extent, name] : bound) {
      if (std::ranges::find(type.shape, extent) == type.shape.end())
        reports_.fail(DiagnosticId::kBadDimension, name.range,
                      "the size `" + name.name + "` cannot be told from what the storage `" +
                          i.annotations.storage->name.name +
                          "` keeps; declare it before as a param or in another input",
                      {{i.annotations.storage->range, "the file holds the stored tensor"}});
    }
  }
  const SymbolRef symbol = names_.declare(i.name, Symbol::Kind::kInput);
  symbol->storage = storage;
  versions_.set(symbol, graph_.emit(ir::Input{i.name.name}, type, i.name.name, i.name.range));
  tell_type(*symbol);
  annotate_tile(symbol->value, i.annotations);
}

void Lowerer::lower_output(const ast::Output& o, const SourceRange& range) {
  const ast::Identifier& name = o.target.name;
  check_option_name(name);
  Stored stored;
  if (o.definition) {
    stored = lower_declaration(o.target, o.annotations, *o.definition);
    declare_value(name, Symbol::Kind::kLet, stored.value, stored.storage)->used = true;
  } else {
    stored = values_.value_of(lower_name(name.name, name.range, false), name.name, name.range);
    warn_of_shared_option(name);
  }
  if (!outputs_.insert(name.name).second) {
    reports_.fail(DiagnosticId::kDuplicateOutput, name.range, "`" + name.name + "` is an output already");
  }
  graph_.emit_effect(ir::Output{name.name, stored.value}, range);
}

void Lowerer::require_no_suffixes(const ast::Suffixes& s) {
  if (!s.where && !s.loop) return;
  const SourceRange& range = s.where ? s.where->range : s.loop->range;
  reports_.fail(DiagnosticId::kMisplacedSuffix, range,
                std::string(s.where ? "where" : "for") +
                    " needs index variables on the left, as in let L[i, j] = A[i, j] where i >= j" +
                    (s.where ? "; for whole tensors use where(c, a, b)" : ""));
}

Stored Lowerer::lower_declaration(const ast::Target& target, const ast::Annotations& annotations,
                                  const ast::Definition& definition) {
  const Stored stored = annotations.storage ? lower_stored_declaration(target, annotations, definition)
                        : target.subscripts ? Stored{lower_index_declaration(target, annotations, definition)}
                                            : lower_whole_declaration(target, annotations, definition);
  annotate_tile(stored.value, annotations);
  return stored;
}

void Lowerer::annotate_tile(ValueId value, const ast::Annotations& annotations) {
  if (!annotations.tile) return;
  std::vector<ir::Extent> edges;
  for (const ast::ExprPtr& size : annotations.tile->sizes) edges.push_back(dimension_extent(*size));
  ir::ValueInfo& info = graph_.program().values[static_cast<std::size_t>(value.id)];
  if (edges.size() != info.type.rank()) {
    reports_.fail(DiagnosticId::kBadArgument, annotations.tile->range,
                  "tile gives " + std::to_string(edges.size()) +
                      (edges.size() == 1 ? " size, but `" : " sizes, but `") + info.name + "` has " +
                      std::to_string(info.type.rank()) + (info.type.rank() == 1 ? " dimension" : " dimensions"));
  }
  for (std::size_t d = 0; d < edges.size(); ++d) {
    if (edges[d].constant().value_or(1) < 1)
      reports_.fail(DiagnosticId::kBadArgument, annotations.tile->sizes[d]->range,
                    "a tile has at least one element along each dimension");
  }
  // A second name of a tensor does not cut it again.
  if (info.tile.empty()) info.tile = std::move(edges);
}

Stored Lowerer::lower_whole_declaration(const ast::Target& target, const ast::Annotations& annotations,
                                        const ast::Definition& definition) {
  require_no_suffixes(definition.suffixes);
  const std::string& name = target.name.name;
  if (definition.op.kind != ast::AssignKind::kSet) {
    reports_.fail(DiagnosticId::kImmutable, definition.op.range,
                  "a whole tensor is declared with =; op= needs index variables or an earlier var");
  }
  Tensor value = lower(*definition.value);
  if (!annotations.type) return values_.value_of(value, name, target.range);
  const ir::Type type = lower_type(*annotations.type);
  value = values_.converted_to(value, type.scalar, "`" + name + "`", definition.value->range);
  shapes_.require_shape(value, type, "`" + name + "`", definition.value->range);
  return values_.value_of(value, name, target.range, &type);
}

void Lowerer::lower_let(const ast::Let& l) {
  if (frames_.back().inline_locals && lower_inline_let(l)) return;
  declare_named(l.target.name, l.is_mutable, lower_declaration(l.target, l.annotations, l.definition));
}

bool Lowerer::lower_inline_let(const ast::Let& l) {
  const bool scalar = !l.annotations.type || l.annotations.type->dimensions.empty();
  if (l.target.subscripts || l.is_mutable || !scalar || l.definition.op.kind != ast::AssignKind::kSet) return false;
  require_no_suffixes(l.definition.suffixes);
  Tensor value = lower(*l.definition.value);
  if (l.annotations.type) {
    const std::string what = "`" + l.target.name.name + "`";
    value = values_.converted_to(value, lower_type(*l.annotations.type).scalar, what, l.definition.value->range);
    shapes_.require_shape(value, {value.scalar(), {}, {}}, what, l.definition.value->range);
  }
  names_.declare(l.target.name, Symbol::Kind::kInline)->lazy = value;
  return true;
}

std::vector<Tensor> Lowerer::lower_tuple_value(const ast::Definition& d, std::size_t count) {
  require_no_suffixes(d.suffixes);
  std::vector<Tensor> values;
  if (const auto* tuple = std::get_if<ast::Tuple>(&d.value->node)) {
    for (const ast::ExprPtr& e : tuple->elements) values.push_back(lower(*e));
  } else if (const auto* call = std::get_if<ast::Call>(&d.value->node);
             call != nullptr && (declared_.functions.contains(call->callee.name) || tuple_call(d.value) != nullptr)) {
    values = lower_tuple_call(*call, d.value->range);
  } else if (call != nullptr && call->callee.name == "grad") {
    values = call_gradient(*call, d.value->range);
  } else {
    values.push_back(lower(*d.value));
  }
  if (values.size() != count) {
    reports_.fail(DiagnosticId::kTypeMismatch, d.value->range,
                  counted(count, "name") + ", but " + counted(values.size(), "value"));
  }
  return values;
}

void Lowerer::lower_tuple_let(const ast::TupleLet& l) {
  const std::vector<Tensor> values = lower_tuple_value(l.definition, l.names.size());
  for (std::size_t k = 0; k < values.size(); ++k) {
    declare_named(l.names[k], l.is_mutable, values_.value_of(values[k], l.names[k].name, l.names[k].range));
  }
}

void Lowerer::lower_assign(const ast::Assign& a) {
  const SymbolRef symbol = assignable(a.target.name);
  if (!a.target.subscripts) {
    assign_whole(a, symbol);
    return;
  }
  const bool has_slices = std::ranges::any_of(*a.target.subscripts, [](const ast::SubscriptItem& item) {
    return std::holds_alternative<ast::SliceSubscript>(item.node);
  });
  if (has_slices) {
    lower_slice_assignment(a, symbol);
  } else {
    lower_index_assignment(a, symbol);
  }
}

void Lowerer::assign_whole(const ast::Assign& a, const SymbolRef& symbol) {
  require_no_suffixes(a.definition.suffixes);
  const std::string& name = a.target.name.name;
  const ir::Type type = values_.logical_type(*symbol);
  const ast::AssignOp& op = a.definition.op;
  const SourceRange& place = a.definition.value->range;
  Tensor value = lower(*a.definition.value);
  if (op.kind != ast::AssignKind::kSet) {
    value = values_.converted_to(value, type.scalar, "`" + name + "`", place);
    const Tensor old = symbol->storage
                           ? values_.stored_tensor(symbol->value, symbol->storage, name, a.target.name.range)
                           : values_.tensor_of(symbol->value, name, a.target.name.range);
    const auto monoid = combine_monoid(op, type.scalar);
    if (op.kind == ast::AssignKind::kMonoid) {
      value = elementwise({old, value}, Weak::kNo, a.target.range,
                          [&](const std::vector<Expr>& e) { return ir::combined(*monoid, e[0], e[1]); });
    } else {
      static const std::map<ast::AssignKind, BinaryOp> operators = {
          {ast::AssignKind::kAdd, BinaryOp::kAdd}, {ast::AssignKind::kSub, BinaryOp::kSub},
          {ast::AssignKind::kMul, BinaryOp::kMul}, {ast::AssignKind::kDiv, BinaryOp::kDiv},
          {ast::AssignKind::kMin, BinaryOp::kMin}, {ast::AssignKind::kMax, BinaryOp::kMax}};
      value = arithmetic(operators.at(op.kind), old, value, a.target.range.to(place));
    }
  }
  value = values_.converted_to(value, type.scalar, "`" + name + "`", place);
  shapes_.require_shape(value, type, "`" + name + "`", place);
  versions_.set(symbol, versions_.own_value(a.target.name, assigned_value(value, type, *symbol, a.target.range)));
}

ValueId Lowerer::assigned_value(const Tensor& value, const ir::Type& type, const Symbol& symbol,
                                const SourceRange& range) {
  return symbol.storage ? values_.store(value, type.scalar, symbol.storage, symbol.name, range).value
                        : values_.materialise(value, symbol.name, range, &type);
}

void Lowerer::lower_tuple_assign(const ast::TupleAssign& a) {
  std::vector<SymbolRef> symbols;
  for (const ast::Identifier& name : a.names) symbols.push_back(assignable(name));
  const std::vector<Tensor> values = lower_tuple_value(a.definition, symbols.size());
  // All right sides are computed from the old values.
  std::vector<ValueId> results;
  for (std::size_t k = 0; k < symbols.size(); ++k) {
    const ir::Type type = values_.logical_type(*symbols[k]);
    const std::string what = "`" + symbols[k]->name + "`";
    const Tensor value = values_.converted_to(values[k], type.scalar, what, values[k].range);
    shapes_.require_shape(value, type, what, values[k].range);
    results.push_back(versions_.own_value(a.names[k], assigned_value(value, type, *symbols[k], a.names[k].range)));
  }
  versions_.set(symbols, results);
}

void Lowerer::lower_print(const ast::Print& p, const SourceRange& range) {
  ir::Print print;
  for (const ast::ExprPtr& item : p.items) {
    if (const auto* text = std::get_if<ast::StringLiteral>(&item->node)) {
      print.items.emplace_back(text->value);
    } else {
      print.items.emplace_back(values_.materialise(lower(*item), reports_.source_text(item->range), item->range));
    }
  }
  graph_.emit_effect(std::move(print), range);
}

void Lowerer::lower_assert(const ast::Assert& a, const SourceRange& range) {
  const ValueId v = condition_value(*a.condition, "assert");
  graph_.emit_effect(ir::Assert{v, a.message.value_or(reports_.source_text(a.condition->range))}, range);
}

}  // namespace tdsl::frontend
