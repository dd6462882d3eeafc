#include "protocol/fields.h"

#include <concepts>
#include <type_traits>

namespace assay::protocol {

namespace {

template <class>
struct MemberOf;
template <class C, class M>
struct MemberOf<M C::*> {
  using Class = C;
  using Stored = M;
};
template <class T>
struct Unwrapped {
  using Value = T;
  static constexpr bool optional = false;
};
template <class T>
struct Unwrapped<std::optional<T>> {
  using Value = T;
  static constexpr bool optional = true;
};

// The shape of a nested struct; specialised beside each table below.
template <class T>
constexpr const Shape* shape_of = nullptr;

template <class T>
consteval Type type_of() {
  using Int64s = std::vector<int64_t>;
  using Uint32s = std::vector<uint32_t>;
  if constexpr (std::same_as<T, int64_t>)
    return Type::int64;
  else if constexpr (std::same_as<T, uint32_t>)
    return Type::uint32;
  else if constexpr (std::same_as<T, uint64_t>)
    return Type::uint64;
  else if constexpr (std::same_as<T, double>)
    return Type::float64;
  else if constexpr (std::same_as<T, bool>)
    return Type::boolean;
  else if constexpr (std::same_as<T, std::string>)
    return Type::string;
  else if constexpr (std::same_as<T, json::Value>)
    return Type::opaque;
  else if constexpr (std::same_as<T, Int64s>)
    return Type::int64s;
  else if constexpr (std::same_as<T, Uint32s>)
    return Type::uint32s;
  else if constexpr (std::same_as<T, std::vector<uint64_t>>)
    return Type::uint64s;
  else if constexpr (std::same_as<T, std::vector<double>>)
    return Type::float64s;
  else if constexpr (std::same_as<T, std::vector<std::string>>)
    return Type::strings;
  else if constexpr (std::same_as<T, std::vector<Int64s>>)
    return Type::int64_lists;
  else if constexpr (std::same_as<T, std::vector<Uint32s>>)
    return Type::uint32_lists;
  else if constexpr (std::same_as<T, std::map<std::string, uint32_t>>)
    return Type::counts;
  else if constexpr (requires { typename T::value_type; })
    return Type::objects;
  else
    return Type::object;
}

template <class T>
consteval const Shape* nested_shape() {
  if constexpr (type_of<T>() == Type::objects)
    return shape_of<typename T::value_type>;
  else if constexpr (type_of<T>() == Type::object)
    return shape_of<T>;
  else
    return nullptr;
}

template <auto Member>
constexpr Field field(std::string_view key, uint32_t verbs = ~0u) {
  using Owner = typename MemberOf<decltype(Member)>::Class;
  using Stored = typename MemberOf<decltype(Member)>::Stored;
  using Value = typename Unwrapped<Stored>::Value;
  constexpr bool is_optional = Unwrapped<Stored>::optional;
  return Field{.key = key,
               .type = type_of<Value>(),
               .required = !is_optional,
               .shape = nested_shape<Value>(),
               .set = [](void* message) -> void* {
                 Stored& stored = static_cast<Owner*>(message)->*Member;
                 if constexpr (is_optional)
                   return &stored.emplace();
                 else
                   return &stored;
               },
               .get = [](const void* message) -> const void* {
                 const Stored& stored = static_cast<const Owner*>(message)->*Member;
                 if constexpr (is_optional)
                   return stored ? &*stored : nullptr;
                 else
                   return &stored;
               },
               .verbs = verbs};
}

constexpr Field at_least(Field row, int64_t minimum) {
  row.minimum = minimum;
  return row;
}
constexpr Field one_of(Field row, std::span<const std::string_view> words) {
  row.words = words;
  return row;
}
constexpr Field of_length(Field row, size_t least, size_t most = ~size_t{0}) {
  row.length_min = least;
  row.length_max = most;
  return row;
}

template <class T>
constexpr Shape shape(std::string_view name, bool closed, std::span<const Field> fields) {
  return Shape{
      .name = name,
      .closed = closed,
      .fields = fields,
      .append = [](void* list) -> void* {
        return &static_cast<std::vector<T>*>(list)->emplace_back();
      },
      .size = [](const void* list) { return static_cast<const std::vector<T>*>(list)->size(); },
      .item = [](const void* list, size_t index) -> const void* {
        return &(*static_cast<const std::vector<T>*>(list))[index];
      }};
}

// clang-format off
constexpr Field kTopLogitFields[] = {
    field<&TopLogit::token>("token"),
    field<&TopLogit::logit>("logit"),
};
constexpr Shape kTopLogit = shape<TopLogit>("top_logit", true, kTopLogitFields);
template <> constexpr const Shape* shape_of<TopLogit> = &kTopLogit;

constexpr Field kExpertStatsFields[] = {
    field<&ExpertStats::expert_cache_hits>("expert_cache_hits"),
    field<&ExpertStats::expert_cache_misses>("expert_cache_misses"),
    field<&ExpertStats::expert_cache_evictions>("expert_cache_evictions"),
    field<&ExpertStats::expert_bytes_read>("expert_bytes_read"),
    field<&ExpertStats::expert_read_seconds>("expert_read_seconds"),
    field<&ExpertStats::expert_peak_cached_tensors>("expert_peak_cached_tensors"),
};
constexpr Shape kExpertStats = shape<ExpertStats>("expert_stats", true, kExpertStatsFields);
template <> constexpr const Shape* shape_of<ExpertStats> = &kExpertStats;

constexpr Field kMtpSpecFields[] = {
    field<&MtpSpec::depth>("depth"),
};
constexpr Shape kMtpSpec = shape<MtpSpec>("mtp_spec", true, kMtpSpecFields);
template <> constexpr const Shape* shape_of<MtpSpec> = &kMtpSpec;

constexpr std::string_view kModes[] = {kSerial, kMtp, kDflash, kDspark};
constexpr Field kSpecConfigFields[] = {
    one_of(field<&SpecConfig::mode>("mode"), kModes),
    field<&SpecConfig::mtp>("mtp"),
    field<&SpecConfig::dflash>("dflash"),
    field<&SpecConfig::dspark>("dspark"),
};
constexpr Shape kSpecConfig = shape<SpecConfig>("spec_config", true, kSpecConfigFields);
template <> constexpr const Shape* shape_of<SpecConfig> = &kSpecConfig;

constexpr Field kHeadProvenanceFields[] = {
    field<&HeadProvenance::sha256>("sha256"),
    field<&HeadProvenance::bytes>("bytes"),
    field<&HeadProvenance::file_count>("file_count"),
};
constexpr Shape kHeadProvenance = shape<HeadProvenance>("head_provenance", true, kHeadProvenanceFields);
template <> constexpr const Shape* shape_of<HeadProvenance> = &kHeadProvenance;

constexpr Field kRunnerIdentityFields[] = {
    field<&RunnerIdentity::id>("id"),
    field<&RunnerIdentity::model_type>("model_type"),
    field<&RunnerIdentity::manifest_sha256>("manifest_sha256"),
    field<&RunnerIdentity::build>("build"),
};
constexpr Shape kRunnerIdentity = shape<RunnerIdentity>("runner_identity", true, kRunnerIdentityFields);
template <> constexpr const Shape* shape_of<RunnerIdentity> = &kRunnerIdentity;

constexpr Field kResidentIdentityFields[] = {
    field<&ResidentIdentity::pid>("pid"),
    field<&ResidentIdentity::load_epoch>("load_epoch"),
};
constexpr Shape kResidentIdentity = shape<ResidentIdentity>("resident_identity", true, kResidentIdentityFields);
template <> constexpr const Shape* shape_of<ResidentIdentity> = &kResidentIdentity;

constexpr Field kReplayPositionFields[] = {
    field<&ReplayPosition::committed_token>("committed_token"),
    field<&ReplayPosition::sequential_argmax>("sequential_argmax"),
    field<&ReplayPosition::ranked_tokens>("ranked_tokens"),
    field<&ReplayPosition::ranked_logits>("ranked_logits"),
    field<&ReplayPosition::ranked_relative_gaps>("ranked_relative_gaps"),
    field<&ReplayPosition::committed_token_logit>("committed_token_logit"),
    field<&ReplayPosition::committed_relative_gap>("committed_relative_gap"),
    field<&ReplayPosition::within_envelope_depth>("within_envelope_depth"),
};
constexpr Shape kReplayPosition = shape<ReplayPosition>("replay_position", false, kReplayPositionFields);
template <> constexpr const Shape* shape_of<ReplayPosition> = &kReplayPosition;

constexpr Field kReplayStreamFields[] = {
    field<&ReplayStream::slot>("slot"),
    field<&ReplayStream::positions>("positions"),
};
constexpr Shape kReplayStream = shape<ReplayStream>("replay_stream", false, kReplayStreamFields);
template <> constexpr const Shape* shape_of<ReplayStream> = &kReplayStream;

constexpr Field kReplayReportFields[] = {
    field<&ReplayReport::logit_provenance>("logit_provenance"),
    field<&ReplayReport::logit_topk>("logit_topk"),
    field<&ReplayReport::rel_envelope>("rel_envelope"),
    field<&ReplayReport::replay_width>("replay_width"),
    field<&ReplayReport::streams>("streams"),
};
constexpr Shape kReplayReport = shape<ReplayReport>("replay_report", false, kReplayReportFields);
template <> constexpr const Shape* shape_of<ReplayReport> = &kReplayReport;

constexpr uint32_t kPrefill = bit(Verb::prefill);
constexpr uint32_t kDecodeBegin = bit(Verb::decode_begin);
constexpr uint32_t kDecodeStep = bit(Verb::decode_step);
constexpr uint32_t kCorrectness = bit(Verb::correctness);
constexpr uint32_t kAnchor = bit(Verb::correctness_begin);
constexpr uint32_t kAnchorStep = bit(Verb::correctness_step);
constexpr uint32_t kDiagnostics = bit(Verb::phase_diagnostics);
constexpr uint32_t kFreeBegin = bit(Verb::free_decode_begin);
constexpr uint32_t kFreeRun = bit(Verb::free_decode_run);
constexpr uint32_t kReplay = bit(Verb::cohort_reference_replay);
constexpr uint32_t kHello = bit(Verb::hello);
constexpr std::string_view kReplayWidths[] = {"cohort", "canonical"};

constexpr Field kRequestFields[] = {
    field<&Request::id>("id"),
    one_of(field<&Request::kind>("kind"), kVerbNames),
    of_length(field<&Request::prompt_tokens>("prompt_tokens", kPrefill | kCorrectness | kAnchor), 1),
    field<&Request::token>("token", kDecodeStep | kAnchorStep),
    of_length(field<&Request::seed_tokens>("seed_tokens", kDecodeBegin | kFreeBegin), 1),
    at_least(field<&Request::steps>("steps", kCorrectness), 0),
    at_least(field<&Request::count>("count", kFreeRun), 1),
    field<&Request::spec>("spec", kDecodeBegin | kFreeBegin),
    of_length(field<&Request::seed_tokens_by_stream>("seed_tokens_by_stream", kFreeBegin), 1),
    at_least(field<&Request::batch_size>("batch_size", kFreeBegin | kFreeRun), 1),
    of_length(field<&Request::replay_seeds_by_stream>("replay_seeds_by_stream", kReplay), 1),
    of_length(field<&Request::committed_by_stream>("committed_by_stream", kReplay), 1),
    at_least(field<&Request::logit_top_k>("logit_top_k", kReplay), 1),
    field<&Request::rel_envelope>("rel_envelope", kReplay),
    one_of(field<&Request::replay_width>("replay_width", kReplay), kReplayWidths),
};
constexpr Shape kRequest = shape<Request>("request", true, kRequestFields);

constexpr Field kResponseFields[] = {
    field<&Response::id>("id"),
    field<&Response::nonce>("nonce"),
    field<&Response::ok>("ok"),
    field<&Response::error>("error"),
    field<&Response::token>("token", kPrefill | kDecodeStep | kAnchor | kAnchorStep),
    of_length(field<&Response::top_logits>("top_logits", kAnchor | kAnchorStep), kTopLogitCount, kTopLogitCount),
    field<&Response::seed_token>("seed_token", kDecodeBegin | kFreeBegin),
    field<&Response::tokens>("tokens", kCorrectness | kFreeRun),
    field<&Response::expert_stats>("expert_stats", kHello | kAnchor | kAnchorStep | kDiagnostics),
    field<&Response::peak_ram_gb>("peak_ram_gb", kCorrectness | kAnchor | kAnchorStep | kDiagnostics),
    field<&Response::protocol_version>("protocol_version", kHello),
    field<&Response::backend>("backend", kHello),
    field<&Response::device>("device", kHello),
    at_least(field<&Response::completed_work>("completed_work", kDiagnostics), 0),
    field<&Response::cache_memory>("cache_memory", kDiagnostics),
    field<&Response::capabilities>("capabilities", kHello),
    field<&Response::acceptance_lengths>("acceptance_lengths", kFreeRun),
    field<&Response::drafted_total>("drafted_total", kFreeRun),
    field<&Response::accepted_total>("accepted_total", kFreeRun),
    field<&Response::committed_total>("committed_total", kFreeRun),
    field<&Response::effective_spec>("effective_spec", kDecodeBegin | kFreeBegin),
    field<&Response::spec_modes>("spec_modes", kHello),
    field<&Response::head_provenance>("head_provenance", kHello),
    field<&Response::mlx_active_memory_bytes>("mlx_active_memory_bytes", kDiagnostics),
    field<&Response::mlx_cache_memory_bytes>("mlx_cache_memory_bytes", kDiagnostics),
    field<&Response::mlx_peak_memory_bytes>("mlx_peak_memory_bytes", kDiagnostics),
    field<&Response::top_logit_margin>("top_logit_margin", kAnchor | kAnchorStep),
    field<&Response::expected_token_logit>("expected_token_logit", kAnchor | kAnchorStep),
    field<&Response::expected_token_rank>("expected_token_rank", kAnchor | kAnchorStep),
    field<&Response::spec_decoder>("spec_decoder", kFreeRun),
    at_least(field<&Response::max_batch_size>("max_batch_size", kHello), 1),
    field<&Response::seed_token_by_stream>("seed_token_by_stream", kFreeBegin),
    field<&Response::effective_batch_size>("effective_batch_size", kFreeBegin | kFreeRun | kReplay),
    field<&Response::tokens_by_stream>("tokens_by_stream", kFreeRun),
    field<&Response::natural_accepted_by_stream>("natural_accepted_by_stream", kFreeRun),
    field<&Response::rounds>("rounds", kFreeRun),
    field<&Response::active_streams_by_round>("active_streams_by_round", kFreeRun),
    field<&Response::depth_clamp_reasons>("depth_clamp_reasons", kFreeRun),
    field<&Response::prefill_ns_by_stream>("prefill_ns_by_stream", kFreeBegin),
    field<&Response::decode_ns_by_stream>("decode_ns_by_stream", kFreeRun),
    field<&Response::cohort_reference_replay>("cohort_reference_replay", kReplay),
    field<&Response::verify_replay_disagreements>("verify_replay_disagreements", kFreeRun),
    field<&Response::verification_mode>("verification_mode", kFreeRun),
    field<&Response::rectangular_verification_rounds>("rectangular_verification_rounds", kFreeRun),
    field<&Response::serial_verification_rounds>("serial_verification_rounds", kFreeRun),
    field<&Response::runner>("runner", kHello),
    field<&Response::resident>("resident", kHello),
};
constexpr Shape kResponse = shape<Response>("response", true, kResponseFields);
// clang-format on

static_assert(std::size(kRequestFields) == 15 && std::size(kResponseFields) == 47);

}  // namespace

const Shape& request_shape() {
  return kRequest;
}
const Shape& response_shape() {
  return kResponse;
}

std::string_view stray_key(const Request& request, Verb verb) {
  for (const Field& row : kRequestFields) {
    if ((row.verbs & bit(verb)) == 0 && row.get(&request) != nullptr) return row.key;
  }
  return {};
}

}  // namespace assay::protocol
