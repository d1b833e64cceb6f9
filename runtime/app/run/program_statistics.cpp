#include <cstdio>
#include <string>

#include "runtime/app/report/profile.h"
#include "runtime/app/report/statistics.h"
#include "runtime/app/run/program_run.h"
#include "runtime/app/session/together.h"
#include "runtime/io/text_file.h"

namespace tdsl::rt {

/// Not collective.
void ProgramRun::compare_counts(const EngineSink& sink) {
  try {
    check_counts(sink.predictions(), sink.engine().statistics(), sink.writes(),
                 [&](int line) { return info_.at(line); });
  } catch (const RunError& error) {
    if (world_.rank() != 0) print_error(error);
    throw;
  }
}

void ProgramRun::write_statistics(const EngineSink& sink) {
  if (!options_.stats_file && !options_.plan_file) return;
  RankStatistics mine;
  mine.sites = sink.engine().statistics();
  mine.writes = sink.writes();
  mine.predictions = sink.predictions();
  mine.traffic = world_.total_traffic();
  for (const SiteStatistics& site : mine.sites) {
    mine.traffic.bytes_received += site.bytes_in_place;
    mine.traffic.bytes_sent += site.bytes_lent;
  }
  mine.received_from = world_.received_from();
  phases_.total = phases_.start + phases_.read + phases_.plan + phases_.compute + phases_.write;
  mine.phases = phases_;
  mine.peak_block_bytes = store_.peak_bytes();
  mine.start_rss_bytes = start_rss_;
  mine.peak_rss_bytes = peak_rss();
  mine.blocks_at_exit = sink.engine().live_blocks();
  mine.disk = sink.engine().disk();
  mine.between = sink.engine().between_steps();
  mine.silence = sink.engine().silence();
  mine.packed_bytes = sink.engine().packed_bytes();
  mine.baseline = sink.baseline_cost();
  const plan::PlanInputs& inputs = sink.planner().inputs();
  if (survey_) survey_->unsurveyed = sink.unsurveyed();
  const RunDescription run{info_.declaration().name,
                           sink.planner().hash(),
                           survey_,
                           inputs.ranks_per_node,
                           inputs.threads,
                           inputs.machine,
                           info_.declaration().source_file,
                           start_up_,
                           warnings_,
                           limit_.bytes > 0 ? limit_.bytes : options_.memory_bytes.value_or(0),
                           world_.rank() == 0 ? sink.pictures().shown() : std::vector<ShownPicture>(),
                           {sink.repeats().kept, sink.repeats().repeated, sink.repeats().operations}};
  if (options_.stats_file) write_file(*options_.stats_file, statistics_json(world_, run, mine));
  mine.measured = false;
  if (options_.plan_file) write_file(*options_.plan_file, statistics_json(world_, run, mine));
}

void ProgramRun::draw_pictures(EngineSink& sink) {
  if (options_.pictures.empty() || options_.dry_run) return;
  sink.pictures().combine(world_);
  std::string captions;
  on_first_rank(world_, {}, [&] { captions = sink.pictures().write(); });
  if (options_.quiet || captions.empty()) return;
  std::fflush(stdout);
  std::fputs(captions.c_str(), stderr);
}

void ProgramRun::write_file(const std::string& path, const std::string& text) {
  on_first_rank(world_, {}, [&] { write_text_file(path, text); });
}

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
