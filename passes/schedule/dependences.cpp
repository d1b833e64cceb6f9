#include "passes/schedule/dependences.h"

#include <algorithm>
#include <set>

#include "ir/graph/affine.h"
#include "ir/graph/computes.h"

namespace tdsl::passes {

using namespace ir;

namespace {

bool same_operator(const ScopStatement& s, const ScopStatement& t) {
  return s.accumulation && t.accumulation && equal(*s.accumulation->combine, *t.accumulation->combine);
}

class DependenceFinder {
 public:
  DependenceFinder(const Scop& scop, const Resolve& resolve, IntegerSets& sets)
      : scop_(scop), points_(scop, resolve), sets_(sets) {
    for (const ScopStatement& s : scop.statements) accesses_.push_back(accesses_of(scop, s));
  }

  std::optional<std::vector<Dependence>> run() {
    std::vector<Dependence> found;
    for (std::size_t s = 0; s < scop_.statements.size(); ++s) {
      for (std::size_t t = 0; t < scop_.statements.size(); ++t) {
        const std::size_t common = common_loops(scop_.statements[s], scop_.statements[t]);
        for (std::size_t level = 0; level <= common; ++level) {
          if (level == common && s >= t) continue;
          const auto loop = level < common ? std::optional(scop_.statements[s].loops[level]) : std::nullopt;
          // One that needs the order of both statements, or else one that reads of an older version satisfy.
          for (const bool writes_first : {true, false}) {
            const auto here = depends(s, t, level, writes_first);
            if (!here) return std::nullopt;
            if (!*here) continue;
            found.push_back({s, t, loop, !writes_first});
            break;
          }
        }
      }
    }
    return found;
  }

  bool recurs() {
    for (std::size_t s = 0; s < scop_.statements.size(); ++s) {
      if (!scop_.arrays[scop_.statements[s].array].live) continue;
      for (std::size_t level = 0; level < scop_.statements[s].loops.size(); ++level) {
        if (depends(s, s, level, true).value_or(false)) return true;
      }
    }
    return false;
  }

 private:
  /// `writes_first`: the earlier access is a write.
  std::optional<bool> depends(std::size_t s, std::size_t t, std::size_t level, bool writes_first) {
    const bool free = same_operator(scop_.statements[s], scop_.statements[t]);
    for (const ScopAccess& a : accesses_[s]) {
      if (a.write != writes_first) continue;
      for (const ScopAccess& b : accesses_[t]) {
        if (a.array != b.array || (!a.write && !b.write) || (free && a.combined && b.combined)) continue;
        const std::string pairs = points_.conflicts(s, a, t, b, level);
        const auto none = sets_.is_empty(points_.with_parameters(pairs));
        if (!none) return std::nullopt;
        if (!*none) return true;
      }
    }
    return false;
  }

  const Scop& scop_;
  Points points_;
  IntegerSets& sets_;
  std::vector<std::vector<ScopAccess>> accesses_;
};

class Privatiser {
 public:
  Privatiser(const Program& program, Scop& scop, const Resolve& resolve, IntegerSets& sets)
      : scop_(scop), resolve_(resolve), points_(scop, resolve), sets_(sets) {
    for (const ScopStatement& s : scop.statements) accesses_.push_back(accesses_of(scop, s));
    for (const ScopArray& a : scop.arrays) operands_.push_back(shape_of(a.type));
    for (const ScopStatement& s : scop.statements) {
      for_each_read(s.compute, [&](const Read& r) {
        if (!scop.array_of(r.tensor)) operands_.push_back(shape_of(program.type(r.tensor)));
      });
    }
  }

  void run() {
    for (std::size_t a = 0; a < scop_.arrays.size(); ++a) {
      if (!scop_.arrays[a].live) expand(a);
    }
  }

 private:
  struct Use {
    std::size_t statement;
    const ScopAccess* access;
  };

  [[nodiscard]] std::vector<Extent> shape_of(const Type& type) const {
    std::vector<Extent> shape;
    for (const Extent& e : type.shape) shape.push_back(resolve_(e));
    return shape;
  }

  void expand(std::size_t a) {
    std::vector<Use> uses;
    for (std::size_t s = 0; s < accesses_.size(); ++s) {
      for (const ScopAccess& access : accesses_[s]) {
        if (access.array == a) uses.push_back({s, &access});
      }
    }
    if (uses.empty()) return;
    const ScopStatement& first = scop_.statements[uses.front().statement];
    std::size_t loops = first.loops.size();
    for (const Use& u : uses) loops = std::min(loops, common_loops(first, scop_.statements[u.statement]));
    while (loops > 0 && !overwritten_first(uses, loops)) --loops;
    std::vector<Extent> shape = shape_of(scop_.arrays[a].type);
    std::vector<std::size_t> expanded;
    for (std::size_t d = loops; d-- > 0;) {
      const ScopLoop& loop = scop_.loops[first.loops[d]];
      if (!loop.values) break;
      shape.push_back(*loop.values);
      if (!fits(shape)) break;
      expanded.insert(expanded.begin(), first.loops[d]);
    }
    scop_.arrays[a].expanded = std::move(expanded);
  }

  /// True if each iteration of the outermost `loops` loops writes every element before it reads it.
  bool overwritten_first(const std::vector<Use>& uses, std::size_t loops) {
    for (const Use& read : uses) {
      if (read.access->write && !read.access->combined) continue;
      std::vector<std::string> written;
      for (const Use& write : uses) {
        if (!write.access->write) continue;
        std::string set = points_.written_before(write.statement, *write.access, read.statement, loops);
        if (!set.empty()) written.push_back(std::move(set));
      }
      if (written.empty()) return false;
      const std::string needed = points_.accessed(read.statement, *read.access);
      const std::string all = Points::united(written);
      if (!sets_.is_subset(points_.with_parameters(needed), points_.with_parameters(all)).value_or(false)) return false;
    }
    return true;
  }

  /// True if some tensor of the nest has a dimension at least as large for each of these.
  [[nodiscard]] bool fits(const std::vector<Extent>& shape) const {
    return std::ranges::any_of(operands_, [&](const std::vector<Extent>& operand) {
      std::vector<bool> taken(operand.size(), false);
      return std::ranges::all_of(shape, [&](const Extent& e) {
        for (std::size_t d = 0; d < operand.size(); ++d) {
          const auto room = (operand[d] - e).constant();
          if (taken[d] || !room || *room < 0) continue;
          taken[d] = true;
          return true;
        }
        return false;
      });
    });
  }

  Scop& scop_;
  const Resolve& resolve_;
  Points points_;
  IntegerSets& sets_;
  std::vector<std::vector<ScopAccess>> accesses_;
  std::vector<std::vector<Extent>> operands_;
};

}  // namespace

std::optional<std::vector<Dependence>> dependences(const Scop& scop, const Resolve& resolve, IntegerSets& sets) {
  return DependenceFinder(scop, resolve, sets).run();
}

bool recurs(const Scop& scop, const Resolve& resolve, IntegerSets& sets) {
  return DependenceFinder(scop, resolve, sets).recurs();
}

void privatise(const Program& program, Scop& scop, const Resolve& resolve, IntegerSets& sets) {
  Privatiser(program, scop, resolve, sets).run();
}

}  // namespace tdsl::passes
