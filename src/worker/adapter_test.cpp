// The state machine, line by line. Expected tokens follow from the mock's definition: forward over
// p gives 100000 + |p|, decode_begin and free_decode_begin over s 200000 + |s|, a step t + 1.
#include "worker/adapter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "base/text.h"
#include "protocol/codec.h"
#include "protocol/line.h"
#include "worker/mock.h"
#include "worker/refusals.h"

namespace assay::worker {
namespace {

using protocol::Response;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Phase = Adapter::Phase;

class Machine {
 public:
  explicit Machine(MockOptions mock = {}, ServeOptions serve = {.nonce = "k7", .speculative = true})
      : engine_(std::move(mock)), adapter_(engine_, serve) {}

  Response hello() {
    std::string out;
    adapter_.hello(out);
    return read(out);
  }
  // `fields` is what stands between the id and the closing brace.
  Response ask(std::string_view fields) { return raw(cat("{\"id\":", ++id_, ",", fields, "}")); }
  Response raw(std::string_view line) {
    std::string out;
    adapter_.answer(line, out);
    return read(out);
  }
  // Refused by name, with the request's own id; the phase is over.
  void expect_refused(std::string_view fields, const RefusalInfo& info,
                      const std::string& text = "") {
    const Response response = ask(fields);
    EXPECT_EQ(response.id, id_) << fields;
    EXPECT_EQ(response.nonce, "k7");
    EXPECT_FALSE(response.ok) << fields;
    EXPECT_THAT(response.error.value_or(""), HasSubstr(cat(info.code, ": "))) << fields;
    EXPECT_THAT(response.error.value_or(""), HasSubstr(text)) << fields;
    EXPECT_EQ(adapter_.phase(), Phase::idle);
    EXPECT_EQ(adapter_.completed_work(), 0);
  }
  int64_t close() {
    const Response response = ask(R"("kind":"phase_diagnostics")");
    EXPECT_TRUE(response.ok) << response.error.value_or("");
    EXPECT_EQ(response.cache_memory, 0);
    EXPECT_EQ(adapter_.phase(), Phase::idle);
    return response.completed_work.value_or(-1);
  }

  Adapter& adapter() { return adapter_; }

 private:
  static Response read(const std::string& out) {
    EXPECT_EQ(out.back(), '\n');
    EXPECT_EQ(out.find('\n'), out.size() - 1) << "more than one line";
    auto response = protocol::read_response(std::string_view(out).substr(0, out.size() - 1));
    EXPECT_TRUE(response) << out;
    return response ? *response : Response{};
  }

  AdapterMock engine_;
  Adapter adapter_;
  int64_t id_ = 0;
};

constexpr std::string_view kPrefill = R"("kind":"prefill","prompt_tokens":[11,12,13])";
constexpr std::string_view kDecodeBegin = R"("kind":"decode_begin","seed_tokens":[1,2])";
constexpr std::string_view kStep = R"("kind":"decode_step","token":7)";
constexpr std::string_view kAnchor = R"("kind":"correctness_begin","prompt_tokens":[1])";
constexpr std::string_view kAnchorStep = R"("kind":"correctness_step","token":7)";
constexpr std::string_view kCorrectness = R"("kind":"correctness","prompt_tokens":[1],"steps":2)";
constexpr std::string_view kFreeBegin = R"("kind":"free_decode_begin","seed_tokens":[1,2,3])";
constexpr std::string_view kFreeRun = R"("kind":"free_decode_run","count":4)";
constexpr std::string_view kDiagnostics = R"("kind":"phase_diagnostics")";

TEST(Adapter, HelloAdvertisesV11OnlyWhenAskedTo) {
  const Response v11 = Machine().hello();
  EXPECT_EQ(v11.id, 0);
  EXPECT_EQ(v11.protocol_version, 1u);
  EXPECT_EQ(v11.backend, "mock");
  EXPECT_THAT(*v11.capabilities, ElementsAre("free_run_decode"));
  EXPECT_THAT(*v11.spec_modes, ElementsAre("serial", "mtp"));

  const Response v1 = Machine({}, {.nonce = "k7"}).hello();
  EXPECT_EQ(v1.protocol_version, 1u);
  EXPECT_FALSE(v1.capabilities);
  EXPECT_FALSE(v1.spec_modes);
  EXPECT_FALSE(v1.max_batch_size);
}

// The table of completed work, one phase kind after the other in one session.
TEST(Adapter, CountsCompletedWork) {
  Machine machine;
  machine.ask(kPrefill);
  EXPECT_EQ(machine.close(), 0);
  machine.ask(kPrefill);
  machine.ask(kPrefill);  // repeated inside its phase
  EXPECT_EQ(machine.close(), 0);
  machine.ask(kCorrectness);
  EXPECT_EQ(machine.close(), 0);
  machine.ask(kDecodeBegin);
  EXPECT_EQ(machine.close(), 1);
  machine.ask(kDecodeBegin);
  for (int i = 0; i < 5; ++i) machine.ask(kStep);
  EXPECT_EQ(machine.close(), 1 + 5);
  machine.ask(kAnchor);
  for (int i = 0; i < 3; ++i) machine.ask(kAnchorStep);
  EXPECT_EQ(machine.close(), 1 + 3);
  machine.ask(kFreeBegin);
  EXPECT_EQ(machine.close(), 1);
  machine.ask(kFreeBegin);
  machine.ask(kFreeRun);  // serial: 4 rounds
  EXPECT_EQ(machine.close(), 4 + 1);
  machine.ask(kFreeBegin);
  machine.ask(kFreeRun);
  machine.ask(kFreeRun);  // a second run continues the phase
  EXPECT_EQ(machine.close(), 4 + 4 + 1);
}

struct FreeRunVector {
  size_t seed;
  std::string spec;
  uint32_t count;
  std::vector<uint32_t> acceptance;
  uint64_t drafted;
  uint64_t accepted;
  int64_t completed_work;
};

TEST(Adapter, FreeRunsFollowTheMocksDefinition) {
  // Round r accepts all d drafts when r is even, none when odd, and the last round is cut: for
  // d = 2 and 10 tokens the rounds commit 3,1,3,1 and 2 of 3.
  const FreeRunVector vectors[] = {
      {3, R"(,"spec":{"mode":"mtp","mtp":{"depth":2}})", 10, {3, 1, 3, 1, 2}, 10, 6, 6},
      {2, R"(,"spec":{"mode":"mtp","mtp":{"depth":3}})", 10, {4, 1, 4, 1}, 12, 6, 5},
      {4, R"(,"spec":{"mode":"mtp","mtp":{"depth":1}})", 7, {2, 1, 2, 1, 1}, 5, 3, 6},
      {4, R"(,"spec":{"mode":"mtp","mtp":{"depth":6}})", 20, {7, 1, 7, 1, 4}, 30, 18, 6},
      {2, "", 4, {1, 1, 1, 1}, 0, 0, 5},
      {2, R"(,"spec":{"mode":"serial"})", 4, {1, 1, 1, 1}, 0, 0, 5}};
  for (const FreeRunVector& vector : vectors) {
    Machine machine;
    const std::string seed = json::write(json::Value::array_of(std::vector<int>(vector.seed, 5)));
    const Response begin =
        machine.ask(cat(R"("kind":"free_decode_begin","seed_tokens":)", seed, vector.spec));
    const int64_t seed_token = 200000 + static_cast<int64_t>(vector.seed);
    EXPECT_EQ(begin.seed_token, seed_token);
    EXPECT_FALSE(begin.tokens);  // nothing but the seed token is committed yet
    const Response run = machine.ask(cat(R"("kind":"free_decode_run","count":)", vector.count));
    ASSERT_TRUE(run.ok) << run.error.value_or("");
    std::vector<int64_t> tokens;
    for (uint32_t i = 0; i < vector.count; ++i) tokens.push_back(seed_token + 1 + i);
    EXPECT_EQ(run.tokens, tokens);
    EXPECT_EQ(run.acceptance_lengths, vector.acceptance);
    EXPECT_EQ(run.drafted_total, vector.drafted);
    EXPECT_EQ(run.accepted_total, vector.accepted);
    EXPECT_EQ(run.committed_total, vector.count);
    EXPECT_FALSE(run.verify_replay_disagreements);
    EXPECT_EQ(machine.close(), vector.completed_work);
  }
}

TEST(Adapter, EchoesTheSpecThatRuns) {
  Machine machine;
  EXPECT_FALSE(machine.ask(kDecodeBegin).effective_spec);  // none was sent
  machine.close();
  EXPECT_EQ(machine.ask(cat(kDecodeBegin, R"(,"spec":{"mode":"serial"})")).effective_spec->mode,
            "serial");
  machine.close();
  EXPECT_EQ(machine.ask(kFreeBegin).effective_spec->mode, "serial");  // also when none was sent
  machine.close();
  const Response open = machine.ask(cat(kFreeBegin, R"(,"spec":{"mode":"mtp","mtp":{}})"));
  EXPECT_EQ(open.effective_spec->mtp->depth, 2u);  // the depth it chose
  machine.close();
  const Response bare = machine.ask(cat(kFreeBegin, R"(,"spec":{"mode":"mtp"})"));
  EXPECT_EQ(bare.effective_spec->mode, "mtp");
  EXPECT_FALSE(bare.effective_spec->mtp);  // no block may appear
}

TEST(Adapter, ASecondOpenerIsRefused) {
  for (const std::string_view first : {kPrefill, kDecodeBegin, kAnchor, kCorrectness, kFreeBegin}) {
    for (const std::string_view second :
         {kPrefill, kDecodeBegin, kAnchor, kCorrectness, kFreeBegin}) {
      Machine machine;
      ASSERT_TRUE(machine.ask(first).ok);
      if (first == kPrefill && second == kPrefill) {
        EXPECT_TRUE(machine.ask(second).ok);
        continue;
      }
      machine.expect_refused(second, kPhaseAlreadyOpen, "double-open");
      EXPECT_TRUE(machine.ask(second).ok);  // the refusal has closed the phase
    }
  }
}

TEST(Adapter, StepsNeedTheirOpener) {
  struct Step {
    std::string_view request;
    std::string_view opener;
  };
  const Step steps[] = {{kStep, kDecodeBegin}, {kAnchorStep, kAnchor}, {kFreeRun, kFreeBegin}};
  for (const Step& step : steps) {
    Machine idle;
    idle.expect_refused(step.request, kPhaseNotOpen, "open phase: none");
    for (const std::string_view opener :
         {kPrefill, kDecodeBegin, kAnchor, kCorrectness, kFreeBegin}) {
      Machine machine;
      ASSERT_TRUE(machine.ask(opener).ok);
      if (opener == step.opener) {
        EXPECT_TRUE(machine.ask(step.request).ok);
      } else {
        machine.expect_refused(step.request, kPhaseNotOpen);
      }
    }
  }
}

TEST(Adapter, DiagnosticsNeedAnOpenPhase) {
  Machine machine;
  machine.expect_refused(kDiagnostics, kPhaseNotOpen);
  machine.ask(kPrefill);
  machine.close();
  machine.expect_refused(kDiagnostics, kPhaseNotOpen);
}

TEST(Adapter, AnyRefusalEndsThePhaseAndTheCounter) {
  Machine machine;
  machine.ask(kDecodeBegin);
  machine.ask(kStep);
  EXPECT_EQ(machine.adapter().completed_work(), 2);
  machine.expect_refused(R"("kind":"decode_step")", kFieldMissing, "`token`");
  machine.expect_refused(kStep, kPhaseNotOpen);
  machine.ask(kDecodeBegin);
  EXPECT_EQ(machine.close(), 1);
}

TEST(Adapter, MalformedLinesAreAnsweredWithIdMinusOne) {
  for (const std::string_view line :
       {"hello", "[1,2]", "{", R"({"id":5})", R"({"id":5,"kind":"prefill","x":1})",
        R"({"id":5,"kind":"prefill","prompt_tokens":null})", R"({"id":5.0,"kind":"prefill"})"}) {
    Machine machine;
    machine.ask(kDecodeBegin);
    const Response response = machine.raw(line);
    EXPECT_EQ(response.id, -1) << line;
    EXPECT_EQ(response.nonce, "k7");
    EXPECT_FALSE(response.ok);
    EXPECT_THAT(*response.error, HasSubstr("WORKER-REQUEST-MALFORMED: "));
    EXPECT_EQ(machine.adapter().phase(), Phase::idle);
  }
}

TEST(Adapter, UnknownVerbsAndModesKeepTheRequestsId) {
  Machine machine;
  machine.expect_refused(R"("kind":"Prefill")", kKindUnknown, "`Prefill`");
  machine.expect_refused(R"("kind":"")", kKindUnknown);
  machine.expect_refused(R"("kind":"hello")", kKindUnknown);
  machine.expect_refused(cat(kFreeBegin, R"(,"spec":{"mode":"eagle","eagle":{"k":3}})"),
                         kModeNotRunnable, "runnable: serial, mtp");
  machine.expect_refused(cat(kFreeBegin, R"(,"spec":{"mode":"dflash","dflash":{}})"),
                         kModeNotRunnable);
  machine.expect_refused(cat(kFreeBegin, R"(,"spec":{"mode":"serial","eagle":{}})"), kSpecMalformed,
                         "spec.eagle");
  machine.expect_refused(cat(kFreeBegin, R"(,"spec":{"mode":"serial","mtp":{"depth":1}})"),
                         kSpecMalformed);
}

TEST(Adapter, DecodeBeginRunsSerialOnly) {
  Machine machine;
  machine.expect_refused(cat(kDecodeBegin, R"(,"spec":{"mode":"mtp","mtp":{"depth":1}})"),
                         kModeNotRunnable, "runnable: serial");
}

TEST(Adapter, ModesThatAreNotLoadedAreRefused) {
  Machine machine({.spec_modes = {"serial"}});
  EXPECT_THAT(*machine.hello().spec_modes, ElementsAre("serial"));
  machine.expect_refused(cat(kFreeBegin, R"(,"spec":{"mode":"mtp","mtp":{"depth":1}})"),
                         kModeNotRunnable, "runnable: serial");
}

TEST(Adapter, DepthsAreHonouredOrRefusedNeverClamped) {
  Machine machine;
  for (const int depth : {0, 7, 4000000}) {
    machine.expect_refused(cat(kFreeBegin, R"(,"spec":{"mode":"mtp","mtp":{"depth":)", depth, "}}"),
                           kDepthOutOfRange, "1 to 6");
  }
  for (const uint32_t depth : {1u, 6u}) {
    const Response begin =
        machine.ask(cat(kFreeBegin, R"(,"spec":{"mode":"mtp","mtp":{"depth":)", depth, "}}"));
    EXPECT_EQ(begin.effective_spec->mtp->depth, depth);
    machine.close();
  }
}

TEST(Adapter, CountsAreBounded) {
  Machine machine;
  for (const std::string_view count : {"0", "1537", "4294967295"}) {
    machine.ask(kFreeBegin);
    machine.expect_refused(cat(R"("kind":"free_decode_run","count":)", count), kCountOutOfRange,
                           "1 to 1536");
  }
  machine.ask(kFreeBegin);
  EXPECT_EQ(machine.ask(R"("kind":"free_decode_run","count":1536)").tokens->size(), 1536u);
  machine.close();
  machine.ask(kFreeBegin);
  machine.expect_refused(R"("kind":"free_decode_run")", kFieldMissing, "`count`");
  machine.expect_refused(R"("kind":"correctness","prompt_tokens":[1],"steps":-1)",
                         kCountOutOfRange);
  machine.expect_refused(R"("kind":"correctness","prompt_tokens":[1],"steps":65537)",
                         kCountOutOfRange);
  machine.expect_refused(R"("kind":"correctness","prompt_tokens":[1])", kFieldMissing, "`steps`");
  EXPECT_TRUE(machine.ask(R"("kind":"correctness","prompt_tokens":[1],"steps":0)").tokens->empty());

  Machine wide({}, {.nonce = "k7", .speculative = true, .count_max = 4096});
  wide.ask(kFreeBegin);
  EXPECT_TRUE(wide.ask(R"("kind":"free_decode_run","count":4096)").ok);
}

TEST(Adapter, EmptyAndMissingTokensAreRefused) {
  Machine machine;
  for (const std::string_view kind : {"prefill", "correctness_begin"}) {
    machine.expect_refused(cat(R"("kind":")", kind, "\""), kFieldMissing, "`prompt_tokens`");
    machine.expect_refused(cat(R"("kind":")", kind, R"(","prompt_tokens":[])"), kFieldMissing);
  }
  for (const std::string_view kind : {"decode_begin", "free_decode_begin"}) {
    machine.expect_refused(cat(R"("kind":")", kind, "\""), kFieldMissing, "`seed_tokens`");
    machine.expect_refused(cat(R"("kind":")", kind, R"(","seed_tokens":[])"), kFieldMissing);
  }
}

TEST(Adapter, KeysOfOtherVerbsAreRefused) {
  Machine machine;
  machine.expect_refused(cat(kPrefill, R"(,"token":1)"), kFieldStray, "`token`");
  machine.expect_refused(cat(kPrefill, R"(,"spec":{"mode":"serial"})"), kFieldStray, "`spec`");
  machine.expect_refused(cat(kStep, R"(,"count":1)"), kFieldStray, "`count`");
  machine.expect_refused(cat(kDiagnostics, R"(,"steps":0)"), kFieldStray, "`steps`");
}

TEST(Adapter, TheCohortFormNeedsACapabilityThatIsNotAdvertised) {
  Machine machine;
  machine.expect_refused(
      R"("kind":"free_decode_begin","seed_tokens_by_stream":[[1],[2]],"batch_size":2)",
      kCapabilityAbsent, "batched_free_run_decode");
  machine.expect_refused(R"("kind":"free_decode_run","count":4,"batch_size":2)", kCapabilityAbsent);
  machine.expect_refused(
      R"("kind":"cohort_reference_replay","replay_seeds_by_stream":[[1]],"committed_by_stream":[[2]])",
      kCapabilityAbsent, "cohort_reference_replay");
}

TEST(Adapter, AStrictV1WorkerRefusesWhatIsNewer) {
  Machine machine({}, {.nonce = "k7"});
  machine.expect_refused(cat(kDecodeBegin, R"(,"spec":{"mode":"serial"})"), kNeedsV11);
  machine.expect_refused(kFreeBegin, kNeedsV11);
  machine.expect_refused(kFreeRun, kNeedsV11);
  machine.ask(kDecodeBegin);
  EXPECT_TRUE(machine.ask(kStep).ok);
  EXPECT_EQ(machine.close(), 2);
}

TEST(Adapter, StepsWrapAtTheEndOfTheIntegers) {
  Machine machine;
  machine.ask(kDecodeBegin);
  EXPECT_EQ(machine.ask(R"("kind":"decode_step","token":9223372036854775807)").token,
            std::numeric_limits<int64_t>::min());
}

TEST(Adapter, EveryPhaseStartsFresh) {
  std::vector<std::string> log;
  Machine machine({.log = &log});
  machine.ask(kDecodeBegin);
  machine.ask(kStep);
  machine.ask(kDiagnostics);
  EXPECT_THAT(log, ElementsAre("Dropped", "Drained", "Created", "Forward",  // decode_begin
                               "Forward",                                   // decode_step: no drain
                               "Dropped", "Drained"));                      // diagnostics
  for (const std::string_view opener :
       {kPrefill, kDecodeBegin, kAnchor, kCorrectness, kFreeBegin}) {
    log.clear();
    machine.ask(opener);
    EXPECT_THAT(log, ElementsAre("Dropped", "Drained", "Created", "Forward")) << opener;
    machine.close();
  }
  machine.ask(kPrefill);
  log.clear();
  machine.ask(kPrefill);  // repeated: drained again
  EXPECT_THAT(log, ElementsAre("Dropped", "Drained", "Created", "Forward"));
  machine.ask(kFreeRun);  // refused: the session is forgotten
  EXPECT_EQ(log.back(), "Dropped");
}

TEST(Adapter, AResidueAfterTheDrainRefusesTheOpener) {
  Machine machine({.residual_bytes = 4096});
  for (const std::string_view opener :
       {kPrefill, kDecodeBegin, kAnchor, kCorrectness, kFreeBegin}) {
    machine.expect_refused(opener, kDrainResidual, "4096 bytes");
  }
}

TEST(Adapter, AFaultInTheEngineEndsThePhase) {
  Machine machine({.fault_token = 666});
  machine.expect_refused(R"("kind":"prefill","prompt_tokens":[1,666])", kMockFault);
  machine.ask(kDecodeBegin);
  machine.expect_refused(R"("kind":"decode_step","token":666)", kMockFault);
  machine.expect_refused(kStep, kPhaseNotOpen);
  EXPECT_TRUE(machine.ask(kPrefill).ok);  // the session itself goes on
}

TEST(Adapter, CorrectnessAnswersCarryEightLogits) {
  Machine machine;
  const Response begin = machine.ask(kAnchor);
  ASSERT_EQ(begin.top_logits->size(), 8u);
  EXPECT_EQ(begin.token, 100001);
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ((*begin.top_logits)[static_cast<size_t>(i)].token, 100001 + i);
    EXPECT_EQ((*begin.top_logits)[static_cast<size_t>(i)].logit, 10.0 - i);
  }
  EXPECT_EQ(begin.peak_ram_gb, 18.5);
  EXPECT_EQ(begin.expert_stats, protocol::ExpertStats{});
  // Plain correctness and decode steps carry neither.
  machine.close();
  const Response plain = machine.ask(kCorrectness);
  EXPECT_FALSE(plain.expert_stats);
  EXPECT_FALSE(plain.top_logits);
  machine.close();
  machine.ask(kDecodeBegin);
  EXPECT_EQ(protocol::write_response(machine.ask(kStep)),
            R"({"id":6,"nonce":"k7","ok":true,"token":8})");
}

// An engine whose answers break the protocol is stopped by the SDK, by name.
class Inconsistent final : public Engine {
 public:
  Facts facts() const override { return {.backend = "test", .device = "none"}; }
  void drop_session() override {}
  Result<uint64_t> drain() override { return uint64_t{0}; }
  Result<int64_t> forward(std::span<const int64_t>) override { return int64_t{1}; }
  Result<int64_t> step(int64_t) override { return int64_t{1}; }
  Result<std::vector<protocol::TopLogit>> top_logits(size_t) override { return logits; }
  Result<FreeRun> free_run(uint32_t) override { return run; }
  Result<std::vector<int64_t>> correctness_free(std::span<const int64_t>, int64_t) override {
    return std::vector<int64_t>{1};
  }

  std::vector<protocol::TopLogit> logits;
  FreeRun run;
};

TEST(Adapter, AnEngineThatContradictsItselfIsRefused) {
  Inconsistent engine;
  Adapter adapter(engine, {.nonce = "k7", .speculative = true});
  const auto error = [&](std::string_view line) {
    std::string out;
    adapter.answer(line, out);
    const auto response = protocol::read_response(out);
    return response ? response->error.value_or("accepted") : std::string("not a response");
  };
  const std::string anchor = R"({"id":1,"kind":"correctness_begin","prompt_tokens":[1]})";
  EXPECT_THAT(error(anchor), HasSubstr("WORKER-ENGINE-INCONSISTENT: top_logits returned 0"));
  engine.logits.assign(8, {2, 1.0});
  EXPECT_THAT(error(anchor), HasSubstr("WORKER-ENGINE-INCONSISTENT"));
  engine.logits.assign(8, {1, std::numeric_limits<double>::quiet_NaN()});
  EXPECT_THAT(error(anchor), HasSubstr("WORKER-LOGIT-NOT-FINITE"));
  EXPECT_THAT(error(R"({"id":1,"kind":"correctness","prompt_tokens":[1],"steps":2})"),
              HasSubstr("returned 1 tokens, expected 2"));
  const std::string begin = R"({"id":1,"kind":"free_decode_begin","seed_tokens":[1]})";
  const std::string run = R"({"id":2,"kind":"free_decode_run","count":2})";
  const std::pair<FreeRun, std::string_view> wrong[] = {
      {{.tokens = {1}, .acceptance_lengths = {1, 1}}, "one token too few"},
      {{.tokens = {1, 1}, .acceptance_lengths = {1}}, "rounds that do not add up"},
      {{.tokens = {1, 1}, .acceptance_lengths = {1, 1}, .drafted_total = 1, .accepted_total = 2},
       "more accepted than drafted"}};
  for (const auto& [result, why] : wrong) {
    EXPECT_EQ(error(begin), "accepted");
    engine.run = result;
    EXPECT_THAT(error(run), HasSubstr("WORKER-ENGINE-INCONSISTENT: free_run")) << why;
  }
}

TEST(Adapter, AnAnswerLongerThanALineIsRefused) {
  Machine machine({}, {.nonce = "k7", .speculative = true, .steps_max = 1000000});
  // 1,000,000 tokens of 6 or 7 digits and a comma are more than 4 MiB.
  const Response response =
      machine.ask(R"("kind":"correctness","prompt_tokens":[1],"steps":1000000)");
  EXPECT_FALSE(response.ok);
  EXPECT_EQ(response.id, 1);
  EXPECT_THAT(*response.error, HasSubstr("WORKER-COUNT-OUT-OF-RANGE"));
}

}  // namespace
}  // namespace assay::worker
