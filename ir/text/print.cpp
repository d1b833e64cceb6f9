#include "ir/text/print.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "ir/graph/procedure.h"

namespace tdsl::ir {

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (c == '\n') {
      result += "\\n";
    } else if (c == '\t') {
      result += "\\t";
    } else {
      result += c;
    }
  }
  return result + '"';
}

namespace {

std::string value_text(ValueId v) { return fmt::format("%{}", v.id); }
std::string extent_text(const Extent& e) { return e.to_string(value_text); }

/// Shortest text that reads back exactly, always recognisable as a float.
std::string float_text(double value, bool single) {
  std::string text = single ? fmt::format("{}", static_cast<float>(value)) : fmt::format("{}", value);
  if (text.find_first_of(".eni") == std::string::npos) text += ".0";
  return text;
}

std::string literal_text(Scalar type, const Literal& literal) {
  return match(
      literal, [](bool b) -> std::string { return b ? "true" : "false"; },
      [](std::int64_t i) { return std::to_string(i); }, [&](double d) { return float_text(d, is_narrow(type)); },
      [&](rt::Complex<double> z) { return float_text(z.re, is_narrow(type)); });
}

std::string range_text(const SourceRange& r) {
  if (!r.known()) return "@-";
  return fmt::format("@{}:{}:{}-{}:{}", r.file, r.line, r.column, r.end_line, r.end_column);
}

bool is_identifier(const std::string& name) {
  const auto good = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0 && std::ranges::all_of(name, good);
}

template <class Range, class F>
std::string joined(const Range& items, const F& text) {
  std::string result;
  for (const auto& item : items) {
    if (!result.empty()) result += ", ";
    result += text(item);
  }
  return result;
}

/// Writes expressions over the labels of one Compute.
class ExprPrinter {
 public:
  explicit ExprPrinter(std::vector<std::string> labels) : labels_(std::move(labels)) {}

  [[nodiscard]] std::string text(const Expr& e) const {
    if (!e) return "null";
    const auto part = [this](const Expr& child) { return text(child); };
    return match(
        e->op,
        [&](const Constant& c) {
          const bool usual = e->type == Scalar::kF64 || e->type == Scalar::kI64 || e->type == Scalar::kBool;
          return literal_text(e->type, c.value) + (usual ? "" : fmt::format(":{}", name_of(e->type)));
        },
        [&](const IndexRef& i) { return label_text(i.label); },
        [&](const Read& r) {
          return r.subscripts.empty() ? value_text(r.tensor)
                                      : fmt::format("{}[{}]", value_text(r.tensor), joined(r.subscripts, part));
        },
        [&](const Argument& a) { return fmt::format("${}:{}", a.position, name_of(e->type)); },
        [&](const Unary& u) { return fmt::format("{}({})", name_of(u.op), text(u.operand)); },
        [&](const Binary& b) { return fmt::format("{}({}, {})", name_of(b.op), text(b.left), text(b.right)); },
        [&](const Select& s) {
          return fmt::format("select({}, {}, {})", text(s.condition), text(s.when_true), text(s.when_false));
        },
        [&](const Cast& c) { return fmt::format("{}({})", name_of(e->type), text(c.operand)); },
        [&](const Apply& a) { return fmt::format("apply {} ({})", a.procedure->text, joined(a.arguments, part)); });
  }

 private:
  /// By name if unambiguous, else `#2`.
  [[nodiscard]] std::string label_text(std::int32_t label) const {
    const auto index = static_cast<std::size_t>(label);
    if (index < labels_.size() && is_identifier(labels_[index]) && std::ranges::count(labels_, labels_[index]) == 1) {
      return labels_[index];
    }
    return fmt::format("#{}", label);
  }

  std::vector<std::string> labels_;
};

std::string monoid_text(const Monoid& m) {
  if (m.kind != Monoid::Kind::kUser) return std::string(name_of(m.kind));
  const ExprPrinter p({});
  return fmt::format("user({}, {}, {})", quoted(m.name), p.text(m.identity), p.text(m.combine));
}

std::string label_text(const Label& l) {
  return fmt::format("{} in {}..{}", is_identifier(l.name) ? l.name : quoted(l.name), extent_text(l.begin),
                     extent_text(l.end));
}

class ProgramPrinter {
 public:
  explicit ProgramPrinter(const Program& program, std::size_t depth = 0) : program_(program), depth_(depth) {}

  std::string run() {
    text_ = fmt::format("program {}\n", quoted(program_.name));
    for (const std::string& file : program_.files) text_ += fmt::format("file {}\n", quoted(file));
    region_lines(program_.body);
    return std::move(text_);
  }
  std::string run(const Node& n) {
    node(n);
    return std::move(text_);
  }

  [[nodiscard]] static std::string type_text(const Type& type) {
    std::string result(name_of(type.scalar));
    if (type.shape.empty()) return result;
    std::vector<std::string> dimensions;
    for (std::size_t d = 0; d < type.shape.size(); ++d) {
      dimensions.push_back(std::string(prefix_of(type.format.level(d))) + extent_text(type.shape[d]));
    }
    return result + "[" + joined(dimensions, [](const std::string& s) { return s; }) + "]";
  }

  /// `%7:f64[%0] "x"`, with the location only if it differs from the node's.
  [[nodiscard]] std::string definition(ValueId v, const SourceRange& place) const {
    if (!v.valid() || static_cast<std::size_t>(v.id) >= program_.values.size()) return value_text(v) + ":?";
    const ValueInfo& info = program_.info(v);
    std::string result = fmt::format("{}:{}", value_text(v), type_text(info.type));
    if (!info.name.empty()) result += " " + quoted(info.name);
    if (!info.tile.empty()) result += " tile (" + joined(info.tile, extent_text) + ")";
    if (info.range != place) result += " " + range_text(info.range);
    return result;
  }

  [[nodiscard]] static std::string compute_text(const Compute& c) {
    std::vector<std::string> names;
    for (const Label& l : c.out) names.push_back(l.name);
    for (const Label& l : c.reduce) names.push_back(l.name);
    const ExprPrinter printer(names);
    const auto part = [&](const Expr& e) { return printer.text(e); };
    const std::string_view how = c.in_any_order ? "in any order "
                                 : c.by_search  ? "by search "
                                 : c.constant   ? "constant "
                                                : "";
    std::string text = fmt::format("compute {}[{}] ", how, joined(c.out, label_text));
    if (c.monoid || !c.reduce.empty()) {
      text += fmt::format("{}[{}] ", c.monoid ? monoid_text(*c.monoid) : "none", joined(c.reduce, label_text));
    }
    text += fmt::format("({})", joined(c.bodies, part));
    if (c.guard) text += " where " + printer.text(c.guard);
    if (!c.left.empty()) text += fmt::format(" left [{}]", joined(c.left, part));
    if (c.base) text += " base " + value_text(*c.base);
    if (c.combine) text += " combine " + monoid_text(*c.combine);
    if (c.fill) text += " fill " + printer.text(c.fill);
    return c.iteration ? text + iteration_text(*c.iteration, printer) : text;
  }

  [[nodiscard]] static std::string iteration_text(const SparseIteration& iteration, const ExprPrinter& printer) {
    const auto label = [&](std::int32_t l) { return printer.text(index_ref(l)); };
    const auto operand = [&](int k) {
      const StoredOperand& o = iteration.operands.at(static_cast<std::size_t>(k));
      return fmt::format("{}[{}]", value_text(o.tensor), joined(o.labels, label));
    };
    const std::string loops = joined(iteration.loops, [&](const StoredLoop& loop) {
      std::string over;
      for (const int k : loop.over) over += (over.empty() ? "" : fmt::format(" {} ", name_of(loop.merge))) + operand(k);
      return fmt::format("{} over {}", label(loop.label), over);
    });
    std::string lookups;
    for (int k = 0; k < static_cast<int>(iteration.operands.size()); ++k) {
      const bool looped = std::ranges::any_of(
          iteration.loops, [&](const StoredLoop& loop) { return std::ranges::find(loop.over, k) != loop.over.end(); });
      const bool masks = std::ranges::find(iteration.masks, k) != iteration.masks.end();
      if (!looped) lookups += (lookups.empty() ? "" : ", ") + std::string(masks ? "mask " : "") + operand(k);
    }
    std::string text = fmt::format(" stored [{}]", loops);
    if (!lookups.empty()) text += fmt::format(" lookup [{}]", lookups);
    if (iteration.result != SparseIteration::Result::kDense)
      text += fmt::format(" result {}", name_of(iteration.result));
    return text;
  }

 private:
  void line(const std::string& content) {
    text_.append(2 * depth_, ' ');
    text_ += content;
    text_ += '\n';
  }

  [[nodiscard]] std::string definitions(const std::vector<ValueId>& values, const SourceRange& place) const {
    return joined(values, [&](ValueId v) { return definition(v, place); });
  }

  void region_lines(const Region& region) {
    for (const Node& n : region.nodes) node(n);
    if (!region.yields.empty()) line("yield " + joined(region.yields, value_text));
  }

  /// `head (arguments) {`, then the region's lines; the caller closes the brace.
  void open_region(const std::string& head, const Region& region, const SourceRange& place) {
    line(fmt::format("{} ({}) {{", head, definitions(region.arguments, place)));
    ++depth_;
    region_lines(region);
    --depth_;
  }

  [[nodiscard]] std::string param_text(const Node& node, const Param& p) const {
    const std::string text = "param " + quoted(p.name);
    if (p.computed_default) return text + " = " + value_text(*p.computed_default) + " text " + quoted(p.default_text);
    if (!p.default_value || node.results.empty()) return text;
    return text + " = " + literal_text(program_.type(node.results[0]).scalar, *p.default_value);
  }

  void node(const Node& n) {
    std::string head = definitions(n.results, n.range);
    if (!n.results.empty()) head += " = ";
    const std::string place = n.range.known() ? " " + range_text(n.range) : "";
    const auto plain = [&](const std::string& text) { line(head + text + place); };
    match(
        n.op, [&](const Dimension& d) { plain("dimension " + quoted(d.name)); },
        [&](const Found& d) {
          plain(fmt::format("found {} estimate {} {}", value_text(d.count), extent_text(d.estimate), quoted(d.name)));
        },
        [&](const Param& p) { plain(param_text(n, p)); }, [&](const Input& i) { plain("input " + quoted(i.name)); },
        [&](const Compute& c) { plain(compute_text(c)); },
        [&](const Random& r) {
          plain(fmt::format("{} site {} [{}]", name_of(r.kind), r.site, joined(r.iterations, value_text)));
        },
        [&](const Routine& r) {
          if (r.foreign)
            return plain(fmt::format("routine {} ({})", text_of(*r.foreign), joined(r.operands, value_text)));
          plain(fmt::format("routine {} ({}){}{}", name_of(r.kind), joined(r.operands, value_text),
                            is_line(r.kind)                            ? fmt::format(" axis {}", r.axis)
                            : r.solves != Routine::SolveKind::kGeneral ? fmt::format(" {}", name_of(r.solves))
                                                                       : "",
                            is_fourier(r.kind) ? fmt::format(" scale {}", name_of(r.scale)) : ""));
        },
        [&](const Chain& c) {
          plain(fmt::format("chain [{}] ({})", joined(c.sizes, extent_text),
                            joined(c.factors, [](const Chain::Factor& f) {
                              return value_text(f.tensor) + (f.transposed ? "'" : "");
                            })));
        },
        [&](const For& f) {
          open_region(fmt::format("{}for {}..{} by {}{} with ({}){} do", head, value_text(f.begin), value_text(f.end),
                                  f.step, f.serial ? " serial" : "", joined(f.inits, value_text), place),
                      f.body, n.range);
          line("}");
        },
        [&](const While& w) {
          open_region(fmt::format("{}while{} with ({}){} do", head, w.serial ? " serial" : "",
                                  joined(w.inits, value_text), place),
                      w.condition, n.range);
          open_region("} do", w.body, n.range);
          line("}");
        },
        [&](const If& i) {
          open_region(fmt::format("{}if {}{} then", head, value_text(i.condition), place), i.then_region, n.range);
          open_region("} else", i.else_region, n.range);
          line("}");
        },
        [&](const Choose& c) {
          for (std::size_t k = 0; k < c.regions.size(); ++k)
            open_region(fmt::format("{} {}", k == 0 ? fmt::format("{}choose{} either", head, place) : "} or",
                                    quoted(k < c.names.size() ? c.names[k] : "")),
                        c.regions[k], n.range);
          line("}");
        },
        [&](const Fused& f) {
          const std::string at = joined(f.labels, [](const std::vector<std::int32_t>& of) {
            return fmt::format("[{}]", joined(of, [](std::int32_t label) { return fmt::format("{}", label); }));
          });
          open_region(fmt::format("{}{} [{}] at ({}){}", head, f.epilogue ? "epilogue" : "fused",
                                  joined(f.shared, label_text), at, place),
                      f.body, n.range);
          line("}");
        },
        [&](const Print& p) {
          plain("print " + joined(p.items, [](const auto& item) {
                  return match(
                      item, [](const std::string& s) { return quoted(s); }, [](ValueId v) { return value_text(v); });
                }));
        },
        [&](const Assert& a) {
          plain(fmt::format("assert {} {}{}", value_text(a.condition), quoted(a.message), a.implied ? " implied" : ""));
        },
        [&](const Check& c) {
          const std::string guard = c.guard ? " if " + value_text(*c.guard) : "";
          plain(fmt::format("check {} {} {}{} {}", extent_text(c.left),
                            c.relation == Check::Relation::kEqual ? "==" : "<=", extent_text(c.right), guard,
                            quoted(c.message)));
        },
        [&](const Output& o) {
          plain(fmt::format("output {} {}{}{}", quoted(o.name), value_text(o.value),
                            o.record ? " record " + value_text(*o.record) : "", o.begins ? " begins" : ""));
        },
        [&](const Gradient& g) {
          plain(fmt::format("gradient {} ({})", value_text(g.loss), joined(g.wrt, value_text)));
        });
  }

  const Program& program_;
  std::string text_;
  std::size_t depth_;
};

}  // namespace

std::string print(const Type& type) { return ProgramPrinter::type_text(type); }
std::string print(const Label& label) { return label_text(label); }
std::string print(const Compute& compute) { return ProgramPrinter::compute_text(compute); }
std::string print(const SourceRange& range) { return range_text(range); }
std::string constant_text(const Literal& literal) { return literal_text(Scalar::kF64, literal); }

std::string definition_text(const Program& program, ValueId v, const SourceRange& place) {
  return ProgramPrinter(program).definition(v, place);
}

std::string print(const Program& program, const Node& node, std::size_t depth) {
  return ProgramPrinter(program, depth).run(node);
}

std::string print(const Program& program) { return ProgramPrinter(program).run(); }

std::string print(const Program& /*program*/, const Expr& e, const std::vector<std::string>& labels) {
  return ExprPrinter(labels).text(e);
}

std::string declared_type(const Program& program, const Type& type, bool series) {
  std::string dimensions;
  for (std::size_t d = 0; d < type.rank(); ++d) {
    dimensions += std::string(d == 0 ? "" : ", ") + (type.format.is_sparse(d) ? "sparse " : "") +
                  (series && d == 0 ? "r" : type.shape[d].to_string([&](ValueId v) {
                    return program.info(v).name.empty() ? "?" : program.info(v).name;
                  }));
  }
  return std::string(name_of(type.scalar)) + (dimensions.empty() ? "" : "[" + dimensions + "]");
}

}  // namespace tdsl::ir
