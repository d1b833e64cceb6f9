#include "passes/schedule/distribute.h"

#include <algorithm>
#include <set>

#include "ir/graph/computes.h"

// Allen and Kennedy's algorithm: at each level, statements are grouped into strongly connected components of their
// dependences, which become loops one after the other. Within a loop, the dependences that it carries are satisfied.

namespace tdsl::passes {

using namespace ir;

namespace {

using Statements = std::vector<std::size_t>;

class Distributor {
 public:
  explicit Distributor(const Scop& scop) : scop_(scop) {}

  std::optional<std::vector<Step>> run(const std::vector<Dependence>& all) {
    Statements statements;
    for (std::size_t s = 0; s < scop_.statements.size(); ++s) statements.push_back(s);
    std::vector<Step> steps = order(statements, all, {});
    if (failed_) return std::nullopt;
    return steps;
  }

 private:
  /// `open`: the loops around the steps.
  std::vector<Step> order(const Statements& statements, const std::vector<Dependence>& all,
                          const std::set<std::size_t>& open) {
    std::vector<Step> steps;
    for (const Statements& group : components(statements, all)) {
      std::vector<Dependence> own;
      for (const Dependence& d : all) {
        if (std::ranges::count(group, d.from) > 0 && std::ranges::count(group, d.to) > 0) own.push_back(d);
      }
      steps.push_back(is_independent(group, own) ? alone(group.front(), open) : cycle(group, own, open));
    }
    return steps;
  }

  /// True for a statement no instance of which needs a value of another one. If it overwrites elements that earlier
  /// instances read, they may read the version before; unless it is spelled `x = x + value`, which reads the current
  /// one.
  [[nodiscard]] bool is_independent(const Statements& group, const std::vector<Dependence>& own) const {
    if (own.empty()) return true;
    const ScopStatement& s = scop_.statements[group.front()];
    const bool current = s.accumulation && !s.compute.combine;
    return group.size() == 1 && !current && std::ranges::all_of(own, &Dependence::reads_first);
  }

  /// A statement in its own loops.
  [[nodiscard]] Step alone(std::size_t statement, const std::set<std::size_t>& open) const {
    Step step{std::nullopt, statement};
    const std::vector<std::size_t>& loops = scop_.statements[statement].loops;
    for (std::size_t d = loops.size(); d-- > 0;) {
      if (open.contains(loops[d])) continue;
      Step around{loops[d]};
      around.inner.push_back(std::move(step));
      step = std::move(around);
    }
    step.independent = step.loop.has_value();
    return step;
  }

  Step cycle(const Statements& group, const std::vector<Dependence>& own, std::set<std::size_t> open) {
    std::optional<std::size_t> loop;
    // A loop that carries nothing goes inside, unless ranges of loops that would be around it depend on its index.
    for (const std::size_t l : common(group)) {
      if (open.contains(l)) continue;
      const bool carries = std::ranges::any_of(own, [&](const Dependence& d) { return d.loop == l; });
      if (!carries && !bounds_use(l)) continue;
      loop = l;
      break;
    }
    if (!loop) {
      failed_ = true;
      return {};
    }
    open.insert(*loop);
    std::vector<Dependence> rest;
    for (const Dependence& d : own) {
      if (d.loop != loop) rest.push_back(d);
    }
    return {loop, 0, order(group, rest, open)};
  }

  [[nodiscard]] std::vector<std::size_t> common(const Statements& group) const {
    const ScopStatement& first = scop_.statements[group.front()];
    std::size_t n = first.loops.size();
    for (const std::size_t s : group) n = std::min(n, common_loops(first, scop_.statements[s]));
    return {first.loops.begin(), first.loops.begin() + static_cast<std::ptrdiff_t>(n)};
  }

  /// True if the range of a loop mentions the index of loop `l`.
  [[nodiscard]] bool bounds_use(std::size_t l) const {
    const ValueId index = scop_.loops[l].index;
    return std::ranges::any_of(scop_.loops, [&](const ScopLoop& loop) {
      const auto uses = [&](const Expr& e) { return any_read(e, [&](const Read& r) { return r.tensor == index; }); };
      return uses(loop.begin) || uses(loop.end);
    });
  }

  /// Strongly connected components, each behind those that it depends on, otherwise in program order.
  [[nodiscard]] static std::vector<Statements> components(const Statements& statements,
                                                          const std::vector<Dependence>& all) {
    std::set<std::pair<std::size_t, std::size_t>> reaches;
    for (const Dependence& d : all) reaches.insert({d.from, d.to});
    for (const std::size_t via : statements) {
      for (const std::size_t a : statements) {
        for (const std::size_t b : statements) {
          if (reaches.contains({a, via}) && reaches.contains({via, b})) reaches.insert({a, b});
        }
      }
    }
    std::vector<Statements> found;
    std::set<std::size_t> done;
    while (done.size() < statements.size()) {
      const auto ready = std::ranges::find_if(statements, [&](std::size_t s) {
        return !done.contains(s) && std::ranges::all_of(statements, [&](std::size_t other) {
          return done.contains(other) || !reaches.contains({other, s}) || reaches.contains({s, other});
        });
      });
      Statements group;
      for (const std::size_t s : statements) {
        if (s == *ready || (reaches.contains({s, *ready}) && reaches.contains({*ready, s}))) group.push_back(s);
      }
      done.insert(group.begin(), group.end());
      found.push_back(std::move(group));
    }
    return found;
  }

  const Scop& scop_;
  bool failed_ = false;
};

}  // namespace

std::optional<std::vector<Step>> distributed(const Scop& scop, const std::vector<Dependence>& all) {
  return Distributor(scop).run(all);
}

std::string text_of(const std::vector<Step>& steps) {
  std::string text;
  for (const Step& s : steps) {
    if (!text.empty()) text += "; ";
    text +=
        s.loop ? "for " + std::to_string(*s.loop) + " { " + text_of(s.inner) + " }" : "S" + std::to_string(s.statement);
  }
  return text;
}

}  // namespace tdsl::passes
