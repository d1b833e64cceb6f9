#include <cstdio>

#include "runtime/app/report/profile.h"
#include "runtime/app/run/program_run.h"

namespace tdsl::rt {

void ProgramRun::print_profile(const EngineSink& sink) {
  if (!options_.profile || options_.dry_run) return;
  const Engine& engine = sink.engine();
  Profile profile = gather_profile(world_, engine.statistics(), engine.between_steps(), sink.planner().inputs().threads,
                                   [this](int line) { return info_.at(line); });
  if (world_.rank() != 0) return;
  profile.program = info_.declaration().name;
  std::fflush(stdout);
  std::fputs(profile_text(profile).c_str(), stderr);
}

void ProgramRun::write_trace(const EngineSink& sink) {
  if (!trace_) return;
  TraceDescription run;
  run.program = info_.declaration().name;
  for (const SiteStatistics& s : sink.engine().statistics()) {
    const SourceLine place = info_.at(s.line);
    run.sites.emplace(s.site, TracedSite{std::string(place.file), place.line, s.name, s.kind});
  }
  trace_->write(std::move(run));
}

}  // namespace tdsl::rt
