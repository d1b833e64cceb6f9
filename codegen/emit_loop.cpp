#include "codegen/emit_loop.h"

#include <algorithm>

#include "codegen/describe.h"
#include "codegen/loop_emitter.h"

namespace tdsl::codegen {

namespace {

ir::Program values_of(const FamilyProgram& program) {
  ir::Program p;
  p.values = program.values;
  return p;
}

}  // namespace

LoopEmitter::LoopEmitter(const LoopRequest& request)
    : request_(request), step_(request.step), program_(request.program), values_(values_of(request.program)),
      variables_(values_, *request.step.loop), bounds_(*request.step.loop, request.step.sizes, LoopBounds::Opaque::kNamed), last_line_(request.place.line) {
  static_cast<void>(table_.claim("seed"));
  for (const auto& [outside, here] : step_.outer) {
    const auto size = step_.sizes.find(outside);
    const bool written_out = size != step_.sizes.end() && size->second.constant();
    if (program_.is_host(here) && !written_out) static_cast<void>(table_.claim(request_.value_name(here)));
  }
}

EmittedLoop LoopEmitter::run() {
  count_uses();
  body_.indent();
  outermost();
  Writer made;
  made.indent();
  locals(made);
  Writer w;
  w.indent();
  for (std::size_t k = 0; k < step_.reads.size(); ++k) operand(w, k);
  outputs(w);
  w.raw(made.text());
  w.raw(body_.text());
  std::string signature = fmt::format("void {}(const TaskArgs& t", request_.name);
  for (const ValueId v : captures_) signature += fmt::format(", {} {}", type(v), request_.value_name(v));
  if (draws_) signature += ", std::uint64_t seed";
  return {fmt::format("{}) {{\n{}}}\n", signature, w.text()), captures_, checks_, uses_file_, draws_};
}

std::string_view LoopEmitter::type(ValueId v) const { return cpp_type(program_.type(v).scalar); }

std::string LoopEmitter::name(ValueId v) {
  const ValueId variable = variables_.variable(v);
  const auto found = names_.find(variable);
  if (found != names_.end()) return found->second;
  const std::string& own = program_.info(variable).name;
  return names_[variable] = table_.claim(own.empty() ? name_of(program_, v) : name_of(program_, variable));
}

std::string LoopEmitter::outer(ValueId v) {
  const ValueId here = step_.outer.at(v);
  if (!program_.is_host(here)) {
    const auto found = operands_.find(here);
    return found != operands_.end() ? found->second : operands_[here] = table_.claim(name_of(program_, here));
  }
  if (std::ranges::find(captures_, here) == captures_.end()) captures_.push_back(here);
  return request_.value_name(here);
}

std::string LoopEmitter::text(ValueId v) {
  if (const auto found = inlined_.find(v); found != inlined_.end()) return found->second;
  if (const auto known = constant_of(v)) return known->type == ir::Scalar::kI64 ? expressions().subscript(known) : expressions().text(known);
  return variables_.is_inside(v) ? name(v) : outer(v);
}

Expr LoopEmitter::constant_of(ValueId v) const {
  if (const auto found = constants_.find(v); found != constants_.end()) return found->second;
  const auto size = step_.sizes.find(v);
  const auto number = size == step_.sizes.end() ? std::nullopt : size->second.constant();
  return number ? ir::constant_i64(*number) : ir::Expr();
}

Expr LoopEmitter::spelled(const ir::Expr& e) const {
  return ir::rewrite(e, [this](const ir::Expr& n) {
    const auto* r = std::get_if<ir::Read>(&n->op);
    const ir::Expr known = r != nullptr && r->subscripts.empty() ? constant_of(r->tensor) : ir::Expr();
    return known ? known : n;
  });
}

std::string LoopEmitter::line(const ir::SourceRange& place) { return place_text(place.known() ? place : request_.place); }

ExprEmitter LoopEmitter::expressions() {
  ExprEmitter e(
      labels_, [this](ValueId v) { return text(v); },
      [this](const ir::ExprNode& n, const std::vector<std::string>& s) { return element(n, s); },
      [this](const ir::SourceRange& place) {
        uses_file_ = true;
        return fmt::format("rt::StopAt{{place, {}}}", line(place));
      });
  e.set_procedures(request_.procedure_name);
  // The bits are those of the same statements as operations.
  e.use_vector_math([](const ir::Select&) { return false; });
  return e;
}

std::string LoopEmitter::element(const ir::ExprNode& node, const std::vector<std::string>& subscripts) {
  const auto& r = std::get<ir::Read>(node.op);
  if (r.subscripts.empty()) return text(r.tensor);
  return place_of(r.tensor, r.subscripts, subscripts, node.range);
}

std::string LoopEmitter::place_of(ValueId tensor, const std::vector<Expr>& subscripts, const std::vector<std::string>& texts, const ir::SourceRange& range) {
  const std::string view = text(tensor);
  std::string list;
  for (std::size_t d = 0; d < texts.size(); ++d) {
    std::string s = texts[d];
    if (!bounds_.inside(subscripts[d], program_.type(tensor).shape[d]) && !is_checked_ahead(tensor, d, subscripts[d])) {
      checks_ = uses_file_ = true;
      s = fmt::format("inside({}, {}.extent[{}], {}, {})", s, view, d, line(range),
                      string_literal(describe(program_, subscripts[d], label_names_) + "' of '" + name_of(program_, tensor)));
    }
    list += (d == 0 ? "" : ", ") + s;
  }
  return fmt::format("{}({})", view, list);
}

void LoopEmitter::operand(Writer& w, std::size_t k) {
  const AccessTemplate& access = step_.reads[k];
  const bool continued = std::ranges::any_of(step_.results, [&](const LoopStep::Result& r) { return r.continues == static_cast<int>(k); });
  const auto used = operands_.find(access.tensor);
  if (continued || used == operands_.end()) return;
  if (access.dims.empty()) {
    w.line("const {} {} = t.in<{}, 0>({})();", type(access.tensor), used->second, type(access.tensor), k);
  } else {
    w.line("const auto {} = rt::elements_in<{}, {}>(t, {});", used->second, type(access.tensor), access.dims.size(), k);
  }
}

void LoopEmitter::outputs(Writer& w) {
  for (std::size_t k = 0; k < step_.results.size(); ++k) {
    const LoopStep::Result& r = step_.results[k];
    if (r.continues < 0) continue;
    const auto found = names_.find(variables_.variable(r.target));
    if (found == names_.end()) continue;  // carried, but never touched
    w.line("const auto {} = rt::elements_out<{}, {}>(t, {});", found->second, type(r.target), program_.type(r.target).rank(), k);
  }
}

void LoopEmitter::locals(Writer& w) {
  std::set<ValueId> outputs;
  for (const LoopStep::Result& r : step_.results) outputs.insert(variables_.variable(r.target));
  const std::map<ValueId, std::string> names = names_;
  for (const auto& [v, name] : names) {
    if (!is_tensor(v) || outputs.contains(v)) continue;
    if (changes_size(v)) {
      w.line("rt::Resized<{}, {}> {};", type(v), program_.type(v).rank(), name);
    } else {
      w.line("const rt::Local<{}, {}> {}({{{}}});", type(v), program_.type(v).rank(), name, sizes_of(v));
    }
  }
  for (const std::string& declaration : staged_) w.line("{}", declaration);
}

std::string LoopEmitter::sizes_of(ValueId v) {
  std::string sizes;
  for (const Extent& e : program_.type(v).shape) sizes += (sizes.empty() ? "" : ", ") + expressions().text(e);
  return sizes;
}

bool LoopEmitter::changes_size(ValueId v) const {
  return std::ranges::any_of(program_.type(v).shape, [this](const Extent& e) {
    const std::vector<ValueId> values = e.values();
    return std::ranges::any_of(values, [this](ValueId x) { return variables_.is_inside(x); });
  });
}

void LoopEmitter::outermost() {
  node(*step_.loop);
  const ir::Node& loop = *step_.loop;
  for (std::size_t k = 0; k < step_.results.size(); ++k) {
    const LoopStep::Result& r = step_.results[k];
    if (r.continues < 0) body_.line("t.out<{}, 0>({})() = {};", type(r.target), k, text(loop.results[static_cast<std::size_t>(r.carried)]));
  }
}

EmittedLoop emit_loop(const LoopRequest& request) { return LoopEmitter(request).run(); }

}  // namespace tdsl::codegen
