#include "codegen/emit_procedure.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "codegen/names.h"
#include "codegen/writer.h"
#include "ir/failure_text.h"

namespace tdsl::codegen {

namespace {

using ir::Procedure;
using Statements = Procedure::Statements;

class ProcedureEmitter {
 public:
  ProcedureEmitter(const Procedure& procedure, std::string name, const ExprEmitter::ProcedureName& apply)
      : procedure_(procedure), name_(std::move(name)),
        expr_({}, [](ValueId) { return std::string(); }, nullptr,
              [this](const ir::SourceRange& place) {
                uses_file_ = true;
                return fmt::format("rt::StopAt{{place, {}}}", line(place));
              }),
        place_(procedure.range) {
    expr_.set_procedures(apply);
    for (const Procedure::Variable& v : procedure.variables) names_.push_back(table_.claim(v.name.empty() ? "t" : v.name));
    expr_.set_arguments(names_);
  }

  EmittedProcedure run() {
    if (procedure_.foreign) return call_of_users();
    Statements all = procedure_.body;
    all.push_back({{}, Procedure::Assign{-1, procedure_.result}});
    count(all);
    std::string parameters;
    for (std::size_t k = 0; k < procedure_.parameters; ++k) {
      const auto variable = static_cast<std::int32_t>(k);
      const bool used = mentions_.contains(variable);
      parameters += fmt::format("{}{}{}", k == 0 ? "" : ", ", type(variable), used ? " " + names_[k] : "");
      declared_.insert(variable);
    }
    body_.indent();
    block(all);
    return {fmt::format("{} {}({}) {{\n{}}}\n", cpp_type(procedure_.result->type), name_, parameters, body_.text()), uses_file_};
  }

 private:
  /// `double gelu(double x) { return ::gelu(x); }`
  EmittedProcedure call_of_users() {
    std::string parameters;
    std::string arguments;
    for (std::size_t k = 0; k < procedure_.parameters; ++k) {
      const std::string_view between = k == 0 ? "" : ", ";
      parameters += fmt::format("{}{} {}", between, type(static_cast<std::int32_t>(k)), names_[k]);
      arguments += fmt::format("{}{}", between, names_[k]);
    }
    return {fmt::format("{} {}({}) {{\n  return ::{}({});\n}}\n", cpp_type(procedure_.foreign->result), name_, parameters, procedure_.foreign->name, arguments), false};
  }

  [[nodiscard]] std::string_view type(std::int32_t variable) const {
    return cpp_type(procedure_.variables[static_cast<std::size_t>(variable)].type);
  }
  [[nodiscard]] const std::string& name(std::int32_t variable) const { return names_[static_cast<std::size_t>(variable)]; }
  [[nodiscard]] std::string line(const ir::SourceRange& place) const { return place_text(place.known() ? place : place_); }

  static void mention(const Expr& e, std::map<std::int32_t, int>& reads) {
    ir::for_each_node(e, [&](const ir::ExprNode& node) {
      if (const auto* a = std::get_if<ir::Argument>(&node.op)) ++reads[a->position];
    });
  }

  /// Variables that the statement reads or assigns, directly or inside.
  static std::set<std::int32_t> mentioned(const Procedure::Statement& s, std::map<std::int32_t, int>* reads = nullptr,
                                           std::map<std::int32_t, int>* assigned = nullptr) {
    std::set<std::int32_t> variables;
    std::map<std::int32_t, int> own;
    const auto list = [&](const Statements& statements) {
      for (const Procedure::Statement& inner : statements) variables.merge(mentioned(inner, reads, assigned));
    };
    ir::match(
        s.op,
        [&](const Procedure::Assign& a) {
          if (a.variable >= 0) variables.insert(a.variable);
          if (assigned != nullptr) ++(*assigned)[a.variable];
          mention(a.value, own);
        },
        [&](const Procedure::Count& c) {
          variables.insert(c.variable);
          mention(c.begin, own);
          mention(c.end, own);
          list(c.body);
        },
        [&](const Procedure::Repeat& r) {
          list(r.before);
          mention(r.condition, own);
          list(r.body);
        },
        [&](const Procedure::Branch& b) {
          mention(b.condition, own);
          list(b.then_part);
          list(b.else_part);
        },
        [&](const Procedure::Require& r) { mention(r.condition, own); });
    for (const auto& [variable, times] : own) {
      variables.insert(variable);
      if (reads != nullptr) (*reads)[variable] += times;
    }
    return variables;
  }

  void count(const Statements& all) {
    for (const Procedure::Statement& s : all) mentions_.merge(mentioned(s, &reads_, &assignments_));
  }

  static bool mentions(const Statements& statements, std::int32_t v) {
    return std::ranges::any_of(statements, [&](const Procedure::Statement& s) { return mentioned(s).contains(v); });
  }
  static bool mentions(const Expr& e, std::int32_t v) {
    std::map<std::int32_t, int> reads;
    mention(e, reads);
    return reads.contains(v);
  }
  /// Whether all mentions are inside one block of the statement, which can declare the variable.
  static bool is_inner(const Procedure::Statement& s, std::int32_t v) {
    return ir::match(
        s.op, [](const Procedure::Assign&) { return false; },
        [&](const Procedure::Count& c) { return !mentions(c.begin, v) && !mentions(c.end, v); },
        [&](const Procedure::Repeat& r) { return !mentions(r.condition, v) && mentions(r.before, v) != mentions(r.body, v); },
        [&](const Procedure::Branch& b) { return !mentions(b.condition, v) && mentions(b.then_part, v) != mentions(b.else_part, v); },
        [](const Procedure::Require&) { return false; });
  }

  /// Declares what its statements share; the rest is declared where it is assigned first, or further inside.
  void block(const Statements& statements) {
    std::map<std::int32_t, std::vector<std::size_t>> places;
    for (std::size_t k = 0; k < statements.size(); ++k) {
      for (const std::int32_t v : mentioned(statements[k])) places[v].push_back(k);
    }
    std::map<std::size_t, std::vector<std::int32_t>> before;
    for (const auto& [v, at] : places) {
      const Procedure::Statement& first = statements[at[0]];
      const auto* assign = std::get_if<Procedure::Assign>(&first.op);
      const bool declares = (assign != nullptr && assign->variable == v) || (at.size() == 1 && is_inner(first, v));
      if (!declares && !declared_.contains(v)) before[at[0]].push_back(v);
    }
    for (std::size_t k = 0; k < statements.size(); ++k) {
      for (const std::int32_t v : before[k]) {
        body_.line("{}{} {}{{}};", unread(v), type(v), name(v));
        declared_.insert(v);
      }
      statement(statements[k]);
    }
  }

  [[nodiscard]] std::string_view unread(std::int32_t v) const { return reads_.contains(v) ? "" : "[[maybe_unused]] "; }

  void statement(const Procedure::Statement& s) {
    if (s.range.known()) place_ = s.range;
    ir::match(
        s.op, [&](const Procedure::Assign& a) { assign(a); }, [&](const Procedure::Count& c) { count(c); },
        [&](const Procedure::Repeat& r) { repeat(r); }, [&](const Procedure::Branch& b) { branch(b); },
        [&](const Procedure::Require& r) {
          uses_file_ = true;
          body_.line("if (!({})) rt::stop(place({}), {});", expr_.text(r.condition), line(place_),
                     string_literal(ir::failure_text(ir::Assert{{}, r.message})));
        });
  }

  void assign(const Procedure::Assign& a) {
    const std::string value = expr_.text(a.value);
    if (a.variable < 0) return body_.line("return {};", value);
    const bool first = declared_.insert(a.variable).second;
    const bool once = assignments_[a.variable] == 1;
    const std::string head = first ? fmt::format("{}{}{} ", unread(a.variable), once ? "const " : "", type(a.variable)) : "";
    body_.line("{}{} = {};", head, name(a.variable), value);
  }

  void count(const Procedure::Count& c) {
    const std::string& i = name(c.variable);
    const bool first = declared_.insert(c.variable).second;
    // The end is evaluated once, whatever the body assigns.
    std::string end = expr_.text(c.end);
    if (!std::holds_alternative<ir::Constant>(c.end->op)) {
      const std::string once = table_.claim(i + "_end");
      body_.line("const Index {} = {};", once, end);
      end = once;
    }
    const std::string next = next_text(i, c.step);
    body_.block(fmt::format("for ({}{} = {}; {} {} {}; {})", first ? "Index " : "", i, expr_.text(c.begin), i, c.step > 0 ? "<" : ">", end, next),
                [&] { block(c.body); });
  }

  void repeat(const Procedure::Repeat& r) {
    if (r.before.empty()) {
      return body_.block(fmt::format("while ({})", expr_.text(r.condition)), [&] { block(r.body); });
    }
    body_.block("while (true)", [&] {
      block(r.before);
      body_.line("if (!({})) break;", expr_.text(r.condition));
      block(r.body);
    });
  }

  void branch(const Procedure::Branch& b) {
    if (b.then_part.empty()) {
      return body_.block(fmt::format("if (!({}))", expr_.text(b.condition)), [&] { block(b.else_part); });
    }
    body_.line("if ({}) {{", expr_.text(b.condition));
    body_.indent();
    block(b.then_part);
    body_.outdent();
    if (!b.else_part.empty()) {
      body_.line("}} else {{");
      body_.indent();
      block(b.else_part);
      body_.outdent();
    }
    body_.line("}}");
  }

  const Procedure& procedure_;
  std::string name_;
  bool uses_file_ = false;
  ExprEmitter expr_;
  ir::SourceRange place_;
  NameTable table_;
  std::vector<std::string> names_;
  std::set<std::int32_t> mentions_;
  std::map<std::int32_t, int> reads_;
  std::map<std::int32_t, int> assignments_;
  std::set<std::int32_t> declared_;
  Writer body_;
};

}  // namespace

EmittedProcedure emit_procedure(const Procedure& procedure, const std::string& name, const ExprEmitter::ProcedureName& apply) {
  return ProcedureEmitter(procedure, name, apply).run();
}

}  // namespace tdsl::codegen
