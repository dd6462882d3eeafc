#include "load/campaign_cell.h"

#include <algorithm>
#include <atomic>

#include "base/build_info.h"
#include "base/files.h"
#include "base/secrets.h"
#include "base/text.h"
#include "load/campaign_admission.h"
#include "load/campaign_sides.h"
#include "load/probe.h"
#include "load/refusals.h"

namespace assay::load {

std::optional<Gate> gate_of(const Cell& cell, const Profile& profile) {
  if (profile.outcome &&
      profile.outcome->target_tokens.value_or(cell.target_tokens) == cell.target_tokens) {
    return Gate{profile.outcome->status, Refusal(kDeclaredOutcome, profile.outcome->reason)};
  }
  if (!admits(cell.target_tokens, cell.output_tokens, cell.configured_window)) {
    return Gate{CellStatus::not_applicable,
                Refusal(kNotAdmitted,
                        cat("target ", cell.target_tokens, " + reservation ", cell.output_tokens,
                            " exceeds the window ", cell.configured_window))};
  }
  return std::nullopt;
}

std::optional<Gate> preflight(const Cell& cell, const Profile& profile, const Guards& guards,
                              const MemoryFacts& memory, json::Value& facts) {
  if (auto gate = gate_of(cell, profile)) return gate;
  facts.set("memory_bytes", memory.total_bytes);
  facts.set("swap_used_bytes", memory.swap_used_bytes);
  if (memory.swap_used_bytes > guards.swap_bytes_max) {
    return Gate{CellStatus::capacity_gated,
                Refusal(kSwapInUse, cat(memory.swap_used_bytes, " bytes are swapped out, at most ",
                                        guards.swap_bytes_max, " are allowed"))};
  }
  if (!profile.kv_bytes_per_token && !profile.weights_bytes) return std::nullopt;
  const auto cache = kv_cache_bytes(profile.kv_bytes_per_token.value_or(0), cell.target_tokens,
                                    cell.output_tokens, cell.concurrency);
  const int64_t weights = profile.weights_bytes.value_or(0);
  facts.set("weights_bytes", weights);
  if (cache) facts.set("kv_cache_bytes", *cache);
  facts.set("memory_utilisation", guards.memory_utilisation);
  if (!cache || (memory.total_bytes > 0 &&
                 !fits_memory(weights, *cache, memory.total_bytes, guards.memory_utilisation))) {
    return Gate{CellStatus::capacity_gated,
                Refusal(kCapacity, cat("weights ", weights, " + caches ",
                                       cache ? cat(*cache) : "beyond counting", " bytes against ",
                                       memory.total_bytes, " bytes of memory at utilisation ",
                                       guards.memory_utilisation))};
  }
  return std::nullopt;
}

namespace {

constexpr std::string_view kControlMetric = "throughput_total_toks_per_s";

json::Value limits_of(const Profile& profile, const Cell& cell) {
  json::Value context = json::Value::object();
  const std::pair<const char*, const std::optional<int64_t>*> limits[] = {
      {"model_max_tokens", &profile.model_max_tokens},
      {"catalog_max_tokens", &profile.catalog_max_tokens},
      {"proxy_max_tokens", &profile.proxy_max_tokens},
      {"worker_max_tokens", &profile.worker_max_tokens}};
  for (const auto& [key, limit] : limits) {
    if (*limit) context.set(key, **limit);
  }
  context.set("configured_window_tokens", cell.configured_window);
  context.set("requested_prompt_tokens", cell.target_tokens);
  context.set("output_reservation_tokens", cell.output_tokens);
  return context;
}

// The last lines of a log, for people.
std::vector<std::string> tail_of(const std::filesystem::path& path) {
  const auto bytes = read_file(path, uint64_t{256} << 20);
  if (!bytes) return {};
  const std::string_view text = trim(*bytes);
  std::vector<std::string> out;
  const auto lines = split(text, '\n');
  for (size_t i = lines.size() > 8 ? lines.size() - 8 : 0; i < lines.size(); ++i) {
    if (!lines[i].empty() && is_utf8(lines[i])) out.emplace_back(lines[i].substr(0, 400));
  }
  return out;
}

/// The run of one cell. Members are in the order in which they come to be.
class CellRun {
 public:
  CellRun(CampaignShared& shared, CellRecord record, const std::filesystem::path& folder)
      : shared_(shared),
        cell_(record.cell),
        profile_(*shared.manifest.find_profile(record.cell.profile_id)),
        folder_(folder),
        record_(std::move(record)),
        slot_(folder / "server.log", shared.options.interrupted) {}

  MeasuredCell run() {
    json::Value facts = json::Value::object();
    const MemoryFacts memory = shared_.options.memory();
    swap_at_start_ = memory.swap_used_bytes;
    const auto gate = preflight(cell_, profile_, shared_.manifest.guards, memory, facts);
    if (!facts.members().empty()) record_.facts.set("preflight", facts);
    if (gate) return close(gate->status, "preflight", gate->why);
    auto candidate = make_side(shared_.manifest, profile_, cell_, shared_.options);
    if (!candidate) return close(CellStatus::aborted, "server", candidate.refusal());
    candidate_ = *std::move(candidate);
    if (const auto started = slot_.use(candidate_); !started)
      return close(CellStatus::aborted, "server", started.refusal());
    if (const auto gate_of_model = check_inventory())
      return close(gate_of_model->status, "inventory", gate_of_model->why);
    return measure();
  }

 private:
  // Also what the probe asks while it waits.
  Status guard() {
    if (shared_.options.interrupted) TRY_DO(shared_.options.interrupted());
    TRY_DO(slot_.check());
    // Reading the memory's state costs more than the rest: once a second is enough.
    const int64_t second = std::chrono::duration_cast<std::chrono::seconds>(now()).count();
    if (swap_checked_.exchange(second) != second) return check_swap();
    return {};
  }

  Status check_swap() const {
    const int64_t used = shared_.options.memory().swap_used_bytes;
    if (used - swap_at_start_ > shared_.manifest.guards.swap_growth_bytes_max) {
      return Refusal(kSwapGrowth,
                     cat("swap grew from ", swap_at_start_, " to ", used, " bytes, at most ",
                         shared_.manifest.guards.swap_growth_bytes_max, " more are allowed"));
    }
    return {};
  }

  std::optional<Gate> check_inventory() {
    const std::string& url = candidate_.endpoint.base_url;
    const auto known = shared_.inventories.find(url);
    std::vector<std::string> models;
    if (known != shared_.inventories.end()) {
      models = known->second;
    } else {
      const auto listed = list_models(candidate_.endpoint, Limits{}, [this] { return guard(); });
      if (!listed) return Gate{CellStatus::aborted, listed.refusal()};
      models = *listed;
      if (!candidate_.server) shared_.inventories[url] = models;
    }
    if (std::find(models.begin(), models.end(), cell_.model) == models.end()) {
      return Gate{CellStatus::unsupported,
                  Refusal(kModelNotServed, cat("`", url, "` lists ",
                                               models.empty() ? "no model" : join(models, ", "),
                                               ", not \"", cell_.model, "\""))};
    }
    return std::nullopt;
  }

  ProbeOptions options_for(const Side& side) {
    ProbeOptions options;
    options.endpoint = side.endpoint;
    options.model = side.profile->model;
    options.max_tokens = cell_.output_tokens;
    options.prompt_tokens = cell_.target_tokens;
    options.prompt_tolerance_tokens = cell_.prompt_tolerance_tokens;
    options.configured_window_tokens = cell_.configured_window;
    options.repeats = static_cast<int>(cell_.repeats);
    options.width = cell_.concurrency > 1 ? static_cast<int>(cell_.concurrency) : 0;
    options.check_tool_call = shared_.manifest.assertions.tool_call;
    options.initial_model_state = side.server ? "cold" : "unknown";
    options.dedicated = side.server.has_value();
    options.context = limits_of(*side.profile, cell_);
    options.campaign = json::Value::object(
        {{"id", cell_.campaign_id}, {"cell_id", cell_id(cell_)}, {"profile", side.profile->id}});
    options.serving = json::Value::object(
        {{"endpoint_port", int64_t{side.endpoint.port}}, {"served_model", side.profile->model}});
    if (side.profile->stack) options.serving.set("stack", *side.profile->stack);
    options.retries_max = shared_.options.retries_max;
    options.retry_interval = shared_.options.retry_interval;
    options.limits.request = std::chrono::seconds(shared_.manifest.guards.request_timeout_seconds);
    options.max_error_rate = shared_.manifest.guards.max_error_rate;
    options.guard = [this] { return guard(); };
    return options;
  }

  // The control's side, when this cell is to be measured beside it.
  void add_control() {
    const auto& id = shared_.manifest.control_profile;
    if (!id || *id == profile_.id) return;
    const Profile& incumbent = *shared_.manifest.find_profile(*id);
    std::string problem;
    if (incumbent.window_limit_tokens < cell_.configured_window) {
      problem = cat("the control's window ends at ", incumbent.window_limit_tokens);
    } else if (auto side = make_side(shared_.manifest, incumbent, cell_, shared_.options)) {
      control_ = *std::move(side);
      control_probe_.emplace(options_for(*control_));
    } else {
      problem = side.refusal().text();
    }
    if (!problem.empty()) control_problem_ = problem;
  }

  MeasuredCell measure() {
    add_control();
    ProbeOptions options = options_for(candidate_);
    options.save = [this](const json::Value& document) {
      if (const json::Value* phase = document.find("phase"); phase != nullptr && phase->is_string())
        record_.phase = phase->string();
      json::Value file = completed(document, candidate_);
      hide_secrets(file);
      return write_cell(folder_, record_, std::move(file));
    };
    Probe probe(std::move(options));
    const int64_t repeats = cell_.repeats;
    const int64_t first = control_probe_ ? repeats - repeats / 2 : repeats;
    bool going = probe.prepare();
    if (going) going = prove(probe, candidate_);
    for (int64_t i = 0; going && i < first; ++i) going = run_once(probe);
    if (going && control_probe_) {
      measure_control();
      going = back_to_candidate(probe);
      for (int64_t i = first; going && i < repeats; ++i) going = run_once(probe);
    }
    if (going) going = probe.measure_concurrent();
    if (going) going = prove(probe, candidate_);
    if (going) going = probe.check_tools();
    if (going) going = tools_are_served(probe);
    if (going) {
      if (const Status swap = check_swap(); !swap) probe.stop(CellStatus::aborted, swap.refusal());
    }
    add_control_result(probe);
    ProbeResult result = probe.finish();
    return close(std::move(result), first);
  }

  // A run that failed because the server died ends the cell there and then.
  bool run_once(Probe& probe) const {
    if (!probe.measure()) return false;
    const Status server = slot_.check();
    if (!server) probe.stop(CellStatus::aborted, server.refusal());
    return static_cast<bool>(server);
  }

  // An assertion that the server cannot even be asked is no failed assertion.
  bool tools_are_served(Probe& probe) const {
    if (!shared_.manifest.assertions.tool_call) return true;
    const json::Value document = probe.document();
    const json::Value* check = document.find("tool_check");
    const json::Value* run = check == nullptr ? nullptr : check->find("run");
    const json::Value* status = run == nullptr ? nullptr : run->find("http_status");
    const auto code = status == nullptr ? std::nullopt : parse_int64(status->literal());
    if (!code || *code < 400 || *code == 429 || (*code >= 500 && *code != 501)) return true;
    probe.stop(CellStatus::unsupported,
               Refusal(kNoToolParser, cat("a request with tools was answered with ", *code)));
    return false;
  }

  bool back_to_candidate(Probe& probe) {
    const auto started = slot_.use(candidate_);
    if (!started) {
      probe.stop(CellStatus::aborted, started.refusal());
      return false;
    }
    // A fresh process answers its first long prompt slower than the rest; the first half was warm.
    return !*started || probe.warm_up();
  }

  void measure_control() {
    Probe& control = *control_probe_;
    const auto started = slot_.use(*control_);
    if (!started) {
      control.stop(CellStatus::aborted, started.refusal());
      return;
    }
    bool going = control.prepare();
    if (going) going = prove(control, *control_);
    for (int64_t i = 0; going && i < cell_.repeats; ++i) going = run_once(control);
    if (going) control.measure_concurrent();
  }

  // False when the probe was stopped for it.
  bool prove(Probe& probe, const Side& side) {
    const WeightProof proof =
        prove_weights({.host = side.endpoint.host,
                       .port = side.endpoint.port,
                       .requested_model = side.profile->model,
                       .responded_model = probe.responded_model().value_or(""),
                       .server_pid = slot_.pid(),
                       .checkpoint_sha256 = side.profile->checkpoint_sha256,
                       .now_seconds = WallAnchor::take().utc_ms / 1000},
                      shared_.processes, shared_.digests);
    // Once in doubt, a later proof does not take it away.
    const bool candidate = &side == &candidate_;
    if (!candidate || proof_problem_.empty()) probe.attach("provenance", provenance_json(proof));
    if (candidate && !proof.verified && proof_problem_.empty()) proof_problem_ = proof.why;
    if (!proof.mismatch) return true;
    probe.stop(CellStatus::failed, Refusal(kWeightMismatch, proof.why));
    return false;
  }

  void add_control_result(Probe& probe) {
    if (!control_probe_) return;
    control_result_ = control_probe_->finish();
    const auto value = control_result_->median("cumulative_tok_s");
    if (!value) {
      control_problem_ =
          control_result_->problem ? control_result_->problem->text() : "the control has no rate";
      return;
    }
    probe.attach("control", json::Value::object({{"incumbent_model", control_->profile->model},
                                                 {"same_session", true},
                                                 {"metric", kControlMetric},
                                                 {"value", *value},
                                                 {"unit", "tok/s"}}));
  }

  // What the campaign knows beside the probe.
  json::Value completed(json::Value document, const Side& side) const {
    const Profile& profile = *side.profile;
    document.set("env_class", cell_.environment_class);
    document.set("concurrency", cell_.concurrency);
    document.set("base_url", side.endpoint.base_url);
    if (profile.quantization) document.set("quantization", *profile.quantization);
    if (profile.model_revision) document.set("model_revision", *profile.model_revision);
    return document;
  }

  MeasuredCell close(CellStatus status, std::string phase, const Refusal& why) {
    slot_.stop();
    record_.status = status;
    record_.phase = std::move(phase);
    set_reason(why);
    if (record_.phase == "server") add_log();
    return finish(status_document(record_));
  }

  MeasuredCell close(ProbeResult result, int64_t first_half) {
    // Asked before our own stop ends it.
    const Status server = slot_.check();
    slot_.stop();
    record_.status = result.status;
    record_.phase = result.phase;
    record_.reason.clear();
    record_.reason_code.clear();
    if (result.problem) set_reason(*result.problem);
    if (result.status != CellStatus::success) {
      if (!server) {
        // Whatever the client saw, this is why.
        record_.status = CellStatus::aborted;
        if (result.problem) record_.diagnostics.push_back(result.problem->text());
        set_reason(server.refusal());
        add_log();
      } else if (record_.reason_code == kTimeout.code) {
        record_.status = CellStatus::aborted;
        if (!record_.reason.starts_with("transport: "))
          record_.reason = cat("transport: ", record_.reason);
      }
    }
    json::Value document = completed(result.document, candidate_);
    if (!proof_problem_.empty()) {
      record_.facts.set("weights_unproven", proof_problem_);
      document.set("weights_unproven", proof_problem_);
    }
    add_comparison(document, result, first_half);
    hide_secrets(document);
    if (record_.status == CellStatus::success) check_record(document);
    return finish(std::move(document));
  }

  void add_comparison(json::Value& document, const ProbeResult& result, int64_t first_half) {
    if (!control_problem_.empty()) record_.facts.set("control_problem", control_problem_);
    if (!control_result_) return;
    document.set("legs", json::Value::object({{"order", "A B B A"},
                                              {"candidate_first", first_half},
                                              {"control", cell_.repeats},
                                              {"candidate_second", cell_.repeats - first_half}}));
    json::Value ratio = json::Value::object();
    for (const char* figure : {"cumulative_tok_s", "decode_tok_s", "prefill_tok_s"}) {
      const auto ours = result.median(figure), theirs = control_result_->median(figure);
      if (ours && theirs && *theirs > 0 && record_.status == CellStatus::success)
        ratio.set(figure, *ours / *theirs);
    }
    if (!ratio.members().empty()) {
      document.set("control_ratio", ratio);
      record_.facts.set("control_ratio", ratio);
    }
    document.set("control_run", completed(std::move(control_result_->document), *control_));
  }

  // The publisher's own judgement of the file, on a copy: cell.json then tells the whole truth.
  void check_record(const json::Value& document) {
    if (shared_.options.publisher.empty()) return;
    const std::filesystem::path copy = folder_ / "candidate.json";
    const std::filesystem::path log = folder_ / "publisher.log";
    json::Value file = document;
    file.set("cell_status", name_of(CellStatus::success));
    std::error_code ignored;
    std::filesystem::remove(log, ignored);
    auto written = write_file_atomic(copy, json::write(file) + "\n");
    if (written) {
      std::string commit(build_commit());
      const auto publisher = ServerProcess::start(
          {.argv = {shared_.options.publisher.string(), "convert", copy.string(), "--suite",
                    "throughput", "--kind", "throughput-probe", "--git-sha", commit},
           .environment = {},
           .log = log});
      const int code = publisher ? (*publisher)->wait_for_exit() : 127;
      if (code != 0) {
        record_.status = CellStatus::failed;
        record_.phase = "record";
        record_.return_code = code;
        set_reason(publisher ? Refusal(kRecordRefused, cat("exit code ", code))
                             : publisher.refusal());
        for (std::string& line : tail_of(log)) record_.diagnostics.push_back(std::move(line));
      }
    }
    std::filesystem::remove(copy, ignored);
  }

  // A server, a proxy or the system may repeat what the servers were given. Texts that only look
  // like secrets are hidden where a server's words are repeated: in reason and diagnostics.
  void hide_secrets(json::Value& value) const {
    candidate_.secrets.hide(value);
    if (control_) control_->secrets.hide(value);
  }
  void hide_secrets(std::string& text) const {
    json::Value value(std::move(text));
    hide_secrets(value);
    text = mask_text(value.string()).value_or(value.string());
  }

  MeasuredCell finish(json::Value document) {
    hide_secrets(document);
    hide_secrets(record_.facts);
    hide_secrets(record_.reason);
    if (!slot_.log_problem().empty()) {
      record_.diagnostics.push_back(
          cat("server.log may hold a secret of the server's command: ", slot_.log_problem()));
    }
    for (std::string& line : record_.diagnostics) hide_secrets(line);
    record_.finished = true;
    const WallAnchor anchor = WallAnchor::take();
    record_.finished_utc = anchor.utc(anchor.at);
    // Figures of a run that is no success are not left to be read as if it were.
    if (record_.status != CellStatus::success && document.find("aborted") == nullptr)
      document.set("finished_utc", record_.finished_utc);
    return {std::move(record_), std::move(document)};
  }

  void set_reason(const Refusal& why) {
    record_.reason_code = why.code;
    record_.reason = why.detail;
  }
  void add_log() {
    for (std::string& line : tail_of(folder_ / "server.log"))
      record_.diagnostics.push_back(std::move(line));
  }

  CampaignShared& shared_;
  const Cell cell_;
  const Profile& profile_;
  const std::filesystem::path folder_;
  CellRecord record_;
  ServerSlot slot_;
  int64_t swap_at_start_ = 0;
  std::atomic<int64_t> swap_checked_ = 0;
  Side candidate_;
  std::optional<Side> control_;
  std::optional<Probe> control_probe_;
  std::optional<ProbeResult> control_result_;
  std::string control_problem_, proof_problem_;
};

}  // namespace

MeasuredCell measure_cell(CampaignShared& shared, CellRecord record,
                          const std::filesystem::path& folder) {
  return CellRun(shared, std::move(record), folder).run();
}

}  // namespace assay::load
