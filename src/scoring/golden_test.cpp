#include "scoring/golden.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "base/sha256.h"

namespace assay::scoring {
namespace {

using json::Value;

constexpr uint32_t kVocab = 100;
constexpr uint32_t kPrompt = 4;
constexpr uint32_t kSteps = 3;
constexpr uint32_t kDecode = 2;
const std::string kRevision(40, 'c');

GoldenRequirements requirements() {
  GoldenRequirements out;
  out.required_steps = kSteps;
  out.required_prompt_tokens = kPrompt;
  out.vocab_size = kVocab;
  out.seed_tokens = kPrompt;
  out.benchmark_decode_steps = kDecode;
  out.required_model_type = "llama";
  return out;
}

// A valid document with every kind of case; tests change one thing in it.
Value valid() {
  return *json::parse(R"({
    "version": 1, "model_type": "llama",
    "model_provenance": {"repository": "o/m", "revision": "cccccccccccccccccccccccccccccccccccccccc"},
    "cases": [{"name": "c1", "prompt_tokens": [1,2,3,4], "expected_tokens": [5,6,7]},
              {"name": "c2", "prompt_tokens": [4,3,2,1], "expected_tokens": [9,9,9,9]}],
    "correctness_gates": {
      "anchors": [{"name": "a1", "context_tokens": [1], "expected_token": 2, "accepted_tokens": [3],
                   "max_expected_rank": 2, "max_top_logit_delta": 0.5},
                  {"name": "a2", "context_tokens": [1], "expected_token": 2, "accepted_tokens": null,
                   "max_expected_rank": null, "max_top_logit_delta": null}],
      "free_run": [{"name": "f1", "prompt_tokens": [1,2,3,4], "expected_tokens": [5,6],
                    "exact_prefix_tokens": 1}],
      "behavior": [{"name": "b1", "prompt_tokens": [1], "accepted_token_sequences": [[1,2],[3]],
                    "max_new_tokens": 2, "semantic_prompt": "what?"}]},
    "benchmark": {"prefill_prompt_tokens": [1,2,3,4], "expected_prefill_token": 5,
                  "decode_seed_tokens": [1,2,3,4], "expected_decode_seed_token": 5,
                  "expected_decode_tokens": [6,7],
                  "baseline_prefill_seconds_per_token": 0.01, "baseline_decode_seconds_per_token": 0.1}})");
}

// Walks "cases[0].name"-like paths: keys and indices apart.
using Path = std::vector<const char*>;
Value& at(Value& root, const Path& path) {
  Value* value = &root;
  for (const char* part : path) {
    value =
        value->is_array() ? &value->items()[static_cast<size_t>(part[0] - '0')] : value->find(part);
  }
  return *value;
}
void erase(Value& object, std::string_view key) {
  std::erase_if(object.members(), [key](const json::Member& m) { return m.first == key; });
}
Value ints(std::initializer_list<int> values) {
  return Value::array_of(values);
}
Value repeated(int value, size_t count) {
  return Value::array_of(std::vector<int>(count, value));
}

using Change = std::function<void(Value&)>;
Result<LoadedGolden> load(const Change& change,
                          const GoldenRequirements& required = requirements()) {
  Value document = valid();
  change(document);
  return load_golden(json::write(document), required);
}
std::string code(const Change& change, const GoldenRequirements& required = requirements()) {
  const auto loaded = load(change, required);
  return loaded ? "accepted" : std::string(loaded.refusal().code);
}

TEST(Golden, AValidDocumentLoads) {
  const std::string bytes = json::write(valid());
  const auto loaded = load_golden(bytes, requirements());
  ASSERT_TRUE(loaded) << loaded.refusal().text();
  EXPECT_EQ(loaded->sha256, sha256_hex(bytes));
  EXPECT_EQ(loaded->size_bytes, bytes.size());
  const Golden& golden = loaded->golden;
  EXPECT_EQ(golden.total_correctness_case_count(), 6u);
  EXPECT_EQ(golden.cases[1].expected_tokens, (Tokens{9, 9, 9, 9}));
  EXPECT_EQ(golden.correctness_gates->anchors[0].max_top_logit_delta, 0.5);
  EXPECT_EQ(golden.correctness_gates->anchors[1].accepted_tokens, std::nullopt);
  EXPECT_EQ(golden.correctness_gates->behavior[0].semantic_prompt, "what?");
  EXPECT_EQ(golden.benchmark->baseline->decode_seconds_per_token, 0.1);
}

TEST(Golden, NullTable) {
  const auto null_at = [](const Path& parent, const char* key) {
    return [=](Value& d) { at(d, parent).set(key, Value()); };
  };
  // Refused as a type…
  EXPECT_EQ(code(null_at({}, "model_type")), "JSON-TYPE");
  EXPECT_EQ(code(null_at({}, "model_provenance")), "JSON-TYPE");
  EXPECT_EQ(code(null_at({}, "correctness_gates")), "JSON-TYPE");
  EXPECT_EQ(code(null_at({}, "benchmark")), "JSON-TYPE");
  EXPECT_EQ(code(null_at({"correctness_gates"}, "anchors")), "JSON-TYPE");
  EXPECT_EQ(code(null_at({"correctness_gates"}, "free_run")), "JSON-TYPE");
  EXPECT_EQ(code(null_at({"correctness_gates"}, "behavior")), "JSON-TYPE");
  // …as a version…
  EXPECT_EQ(code(null_at({}, "version")), "GOLDEN-VERSION");
  // …and the same as no key.
  for (const char* key : {"accepted_tokens", "max_top_logit_delta"}) {
    EXPECT_EQ(code(null_at({"correctness_gates", "anchors", "0"}, key)), "accepted");
  }
  EXPECT_EQ(code(null_at({"correctness_gates", "free_run", "0"}, "exact_prefix_tokens")),
            "accepted");
  EXPECT_EQ(code(null_at({"correctness_gates", "behavior", "0"}, "semantic_prompt")), "accepted");
  EXPECT_EQ(code([](Value& d) {
              at(d, {"benchmark"}).set("baseline_prefill_seconds_per_token", Value());
              at(d, {"benchmark"}).set("baseline_decode_seconds_per_token", Value());
            }),
            "accepted");
}

TEST(Golden, ClosedAtEveryLevel) {
  for (const Path& path : {Path{},
                           {"model_provenance"},
                           {"cases", "0"},
                           {"correctness_gates"},
                           {"correctness_gates", "anchors", "0"},
                           {"correctness_gates", "free_run", "0"},
                           {"correctness_gates", "behavior", "0"},
                           {"benchmark"}}) {
    EXPECT_EQ(code([&](Value& d) { at(d, path).set("extra", 1); }), "JSON-UNKNOWN-KEY");
  }
}

TEST(Golden, RequiredKeys) {
  EXPECT_EQ(code([](Value& d) { erase(d, "cases"); }), "JSON-MISSING-KEY");
  EXPECT_EQ(code([](Value& d) { erase(at(d, {"cases", "0"}), "name"); }), "JSON-MISSING-KEY");
  EXPECT_EQ(code([](Value& d) { erase(at(d, {"model_provenance"}), "revision"); }),
            "JSON-MISSING-KEY");
  EXPECT_EQ(code([](Value& d) { erase(at(d, {"benchmark"}), "expected_prefill_token"); }),
            "JSON-MISSING-KEY");
  // These have no required keys of their own.
  EXPECT_EQ(code([](Value& d) { erase(d, "benchmark"); }), "accepted");
  EXPECT_EQ(code([](Value& d) { erase(d, "correctness_gates"); }), "accepted");
  EXPECT_EQ(code([](Value& d) { erase(d, "model_provenance"); }), "accepted");
}

TEST(Golden, VersionIsOne) {
  EXPECT_EQ(code([](Value& d) { erase(d, "version"); }), "GOLDEN-VERSION");
  EXPECT_EQ(code([](Value& d) { d.set("version", 2); }), "GOLDEN-VERSION");
  EXPECT_EQ(code([](Value& d) { d.set("version", Value::number("1.0")); }), "JSON-TYPE");
  EXPECT_EQ(code([](Value& d) { d.set("version", "1"); }), "JSON-TYPE");
}

TEST(Golden, ModelTypeAndProvenance) {
  EXPECT_EQ(code([](Value& d) { d.set("model_type", ""); }), "GOLDEN-MODEL-TYPE");
  EXPECT_EQ(code([](Value& d) { d.set("model_type", "llama "); }), "GOLDEN-MODEL-TYPE");
  EXPECT_EQ(code([](Value& d) { d.set("model_type", "qwen2"); }), "GOLDEN-MODEL-TYPE");
  EXPECT_EQ(code([](Value& d) { erase(d, "model_type"); }), "GOLDEN-MODEL-TYPE");
  GoldenRequirements any = requirements();
  any.required_model_type.reset();
  EXPECT_EQ(code([](Value& d) { erase(d, "model_type"); }, any), "accepted");

  EXPECT_EQ(code([](Value& d) { at(d, {"model_provenance"}).set("repository", ""); }),
            "GOLDEN-PROVENANCE-INVALID");
  EXPECT_EQ(code([](Value& d) { at(d, {"model_provenance"}).set("revision", "main"); }),
            "GOLDEN-PROVENANCE-INVALID");

  GoldenRequirements pinned = requirements();
  pinned.reference_model_pin = ReferenceModelPin{"o/m", kRevision};
  EXPECT_EQ(code([](Value&) {}, pinned), "accepted");
  EXPECT_EQ(code([](Value& d) { erase(d, "model_provenance"); }, pinned), "accepted");
  pinned.reference_model_pin->revision = std::string(40, 'd');
  const auto refused = load([](Value&) {}, pinned);
  EXPECT_EQ(refused.refusal().code, "GOLDEN-PROVENANCE-MISMATCH");
  // Both sides are quoted.
  EXPECT_NE(refused.refusal().detail.find(kRevision), std::string::npos);
  EXPECT_NE(refused.refusal().detail.find(std::string(40, 'd')), std::string::npos);
  EXPECT_NE(
      refused.refusal().detail.find("model_provenance does not match the pinned reference model"),
      std::string::npos);
}

TEST(Golden, OrderOfTheRules) {
  GoldenRequirements pinned = requirements();
  pinned.reference_model_pin = ReferenceModelPin{"o/m", std::string(40, 'd')};
  // Wrong model type and wrong provenance identity: the model type is reported.
  EXPECT_EQ(code([](Value& d) { d.set("model_type", "qwen2"); }, pinned), "GOLDEN-MODEL-TYPE");
  // Shape of the provenance comes before the required model type.
  EXPECT_EQ(code([](Value& d) {
              d.set("model_type", "qwen2");
              at(d, {"model_provenance"}).set("revision", "x");
            }),
            "GOLDEN-PROVENANCE-INVALID");
  EXPECT_EQ(code([](Value& d) {
              d.set("version", 3);
              d.set("model_type", "");
            }),
            "GOLDEN-VERSION");
  EXPECT_EQ(code([](Value& d) {
              d.set("version", 3);
              d.set("extra", 1);
            }),
            "JSON-UNKNOWN-KEY");
  // Identity before cases, cases before gates, gates before the benchmark.
  EXPECT_EQ(code([](Value& d) { d.set("cases", Value::array()); }, pinned),
            "GOLDEN-PROVENANCE-MISMATCH");
  const Change bad_gates = [](Value& d) {
    at(d, {"correctness_gates"}).set("anchors", Value::array());
  };
  const Change bad_benchmark = [](Value& d) {
    at(d, {"benchmark"}).set("expected_decode_tokens", ints({1}));
  };
  EXPECT_EQ(code([&](Value& d) {
              d.set("cases", Value::array());
              bad_gates(d);
            }),
            "GOLDEN-CASE-INVALID");
  EXPECT_EQ(code([&](Value& d) {
              bad_gates(d);
              bad_benchmark(d);
            }),
            "GOLDEN-GATE-INVALID");
  EXPECT_EQ(code(bad_benchmark), "GOLDEN-BENCHMARK-INVALID");
  // The caller's own numbers come before the document.
  GoldenRequirements none = requirements();
  none.required_steps = 0;
  EXPECT_EQ(load_golden("not json", none).refusal().code, "GOLDEN-REQUIREMENTS-INVALID");
  none = requirements();
  none.required_prompt_tokens = 0;
  EXPECT_EQ(load_golden("not json", none).refusal().code, "GOLDEN-REQUIREMENTS-INVALID");
}

TEST(Golden, PinIsCheckedBeforeParsing) {
  GoldenRequirements pinned = requirements();
  const std::string bytes = json::write(valid());
  std::string upper = sha256_hex(bytes);
  for (char& c : upper) c = static_cast<char>(std::toupper(c));
  pinned.integrity_pin = IntegrityPin{" " + upper + "\n", bytes.size()};
  EXPECT_TRUE(load_golden(bytes, pinned));
  // Size before digest, both before JSON.
  pinned.integrity_pin = IntegrityPin{std::string(64, '0'), 3};
  EXPECT_EQ(load_golden("{{", pinned).refusal().code, "GOLDEN-PIN-BYTES-MISMATCH");
  EXPECT_EQ(load_golden("{{{", pinned).refusal().code, "GOLDEN-PIN-DIGEST-MISMATCH");
}

TEST(Golden, BaseCases) {
  EXPECT_EQ(code([](Value& d) {
              at(d, {"cases", "0"}).set("prompt_tokens", ints({1, 2, 3}));
            }),
            "GOLDEN-CASE-INVALID");
  EXPECT_EQ(code([](Value& d) {
              at(d, {"cases", "1"}).set("prompt_tokens", repeated(1, 5));
            }),
            "GOLDEN-CASE-INVALID");
  EXPECT_EQ(code([](Value& d) {
              at(d, {"cases", "0"}).set("expected_tokens", ints({1, 2}));
            }),
            "GOLDEN-CASE-INVALID");
  for (const int token : {-1, 100}) {
    const auto refused = load([token](Value& d) {
      at(d, {"cases", "1"}).set("prompt_tokens", ints({1, 2, token, 4}));
    });
    EXPECT_EQ(refused.refusal().code, "GOLDEN-TOKEN-OUT-OF-RANGE");
    EXPECT_NE(refused.refusal().detail.find("cases[1].prompt_tokens[2]"), std::string::npos);
  }
  EXPECT_EQ(code([](Value& d) {
              at(d, {"cases", "0", "expected_tokens"}).items()[0] = Value::number("5.0");
            }),
            "JSON-TYPE");
  EXPECT_EQ(code([](Value& d) {
              at(d, {"cases", "0", "expected_tokens"}).items()[0] = Value();
            }),
            "JSON-TYPE");
}

TEST(Golden, NameRulesHoldForEveryKind) {
  for (const auto& [path, other] : {std::pair<Path, const char*>{{"cases", "1"}, "c1"},
                                    {{"correctness_gates", "anchors", "1"}, "a1"}}) {
    for (const char* name : {"", "  ", " x", "x\u00a0", "a\tb", "a\u0085b"}) {
      EXPECT_EQ(code([&](Value& d) { at(d, path).set("name", name); }), "GOLDEN-NAME-INVALID")
          << name;
    }
    EXPECT_EQ(code([&](Value& d) { at(d, path).set("name", other); }), "GOLDEN-NAME-DUPLICATE");
  }
  EXPECT_EQ(code([](Value& d) {
              at(d, {"correctness_gates", "free_run", "0"}).set("name", " ");
            }),
            "GOLDEN-NAME-INVALID");
  EXPECT_EQ(code([](Value& d) {
              at(d, {"correctness_gates", "behavior", "0"}).set("name", "\x01");
            }),
            "GOLDEN-NAME-INVALID");
  // Across kinds: a base case's name in each section.
  for (const char* section : {"anchors", "free_run", "behavior"}) {
    EXPECT_EQ(code([&](Value& d) {
                at(d, {"correctness_gates", section, "0"}).set("name", "c1");
              }),
              "GOLDEN-NAME-DUPLICATE");
  }
  EXPECT_EQ(code([](Value& d) {
              at(d, {"correctness_gates", "behavior", "0"}).set("name", "f1");
            }),
            "GOLDEN-NAME-DUPLICATE");
  // A duplicate within the kind is found before the body of the second case.
  EXPECT_EQ(code([](Value& d) {
              at(d, {"cases", "1"}).set("name", "c1");
              at(d, {"cases", "1"}).set("prompt_tokens", ints({1}));
            }),
            "GOLDEN-NAME-DUPLICATE");
}

TEST(Golden, Sections) {
  EXPECT_EQ(code([](Value& d) { d.set("correctness_gates", Value::object()); }),
            "GOLDEN-GATE-INVALID");
  for (const char* section : {"anchors", "free_run", "behavior"}) {
    EXPECT_EQ(code([&](Value& d) { at(d, {"correctness_gates"}).set(section, Value::array()); }),
              "GOLDEN-GATE-INVALID");
    EXPECT_EQ(code([&](Value& d) { erase(at(d, {"correctness_gates"}), section); }), "accepted");
  }
}

TEST(Golden, Anchors) {
  const auto set = [](const char* key, Value value) {
    return code([key, &value](Value& d) {
      at(d, {"correctness_gates", "anchors", "0"}).set(key, value);
    });
  };
  EXPECT_EQ(set("context_tokens", Value::array()), "GOLDEN-GATE-INVALID");
  EXPECT_EQ(set("context_tokens", repeated(1, 1024)), "accepted");
  EXPECT_EQ(set("context_tokens", repeated(1, 1025)), "GOLDEN-GATE-INVALID");
  EXPECT_EQ(set("context_tokens", ints({100})), "GOLDEN-TOKEN-OUT-OF-RANGE");
  EXPECT_EQ(set("expected_token", 100), "GOLDEN-TOKEN-OUT-OF-RANGE");
  EXPECT_EQ(set("accepted_tokens", Value::array()), "GOLDEN-GATE-INVALID");
  EXPECT_EQ(set("accepted_tokens", ints({-1})), "GOLDEN-TOKEN-OUT-OF-RANGE");
  EXPECT_EQ(set("max_expected_rank", 0), "GOLDEN-GATE-INVALID");
  EXPECT_EQ(set("max_expected_rank", 8), "accepted");
  EXPECT_EQ(set("max_expected_rank", 9), "GOLDEN-GATE-INVALID");
  EXPECT_EQ(set("max_top_logit_delta", -0.1), "GOLDEN-GATE-INVALID");
  EXPECT_EQ(set("max_top_logit_delta", Value::number("1e999")), "JSON-SYNTAX");
  EXPECT_EQ(set("max_top_logit_delta", 0), "accepted");
  EXPECT_EQ(set("max_expected_rank", Value()), "GOLDEN-GATE-INVALID");  // delta without rank
}

TEST(Golden, FreeRunsAndBehavior) {
  const auto free_run = [](const char* key, Value value) {
    return code([key, &value](Value& d) {
      at(d, {"correctness_gates", "free_run", "0"}).set(key, value);
    });
  };
  EXPECT_EQ(free_run("prompt_tokens", ints({1})), "GOLDEN-GATE-INVALID");
  EXPECT_EQ(free_run("expected_tokens", Value::array()), "GOLDEN-GATE-INVALID");
  EXPECT_EQ(free_run("expected_tokens", repeated(1, 256)), "accepted");
  EXPECT_EQ(free_run("expected_tokens", repeated(1, 257)), "GOLDEN-GATE-INVALID");
  EXPECT_EQ(free_run("exact_prefix_tokens", 0), "GOLDEN-GATE-INVALID");
  EXPECT_EQ(free_run("exact_prefix_tokens", 2), "accepted");
  EXPECT_EQ(free_run("exact_prefix_tokens", 3), "GOLDEN-GATE-INVALID");
  EXPECT_EQ(free_run("prompt_tokens", ints({1, 2, 3, 100})), "GOLDEN-TOKEN-OUT-OF-RANGE");

  const auto behavior = [](const char* key, Value value) {
    return code([key, &value](Value& d) {
      at(d, {"correctness_gates", "behavior", "0"}).set(key, value);
    });
  };
  EXPECT_EQ(behavior("prompt_tokens", Value::array()), "GOLDEN-GATE-INVALID");
  EXPECT_EQ(behavior("prompt_tokens", repeated(1, 2048)), "accepted");
  EXPECT_EQ(behavior("prompt_tokens", repeated(1, 2049)), "GOLDEN-GATE-INVALID");
  EXPECT_EQ(behavior("max_new_tokens", 0), "GOLDEN-GATE-INVALID");
  EXPECT_EQ(behavior("max_new_tokens", 64), "accepted");
  EXPECT_EQ(behavior("max_new_tokens", 65), "GOLDEN-GATE-INVALID");
  EXPECT_EQ(behavior("accepted_token_sequences", Value::array()), "GOLDEN-GATE-INVALID");
  EXPECT_EQ(behavior("accepted_token_sequences", Value::array({Value::array()})),
            "GOLDEN-GATE-INVALID");
  EXPECT_EQ(behavior("accepted_token_sequences", Value::array({ints({1, 2, 3})})),
            "GOLDEN-GATE-INVALID");
  EXPECT_EQ(behavior("accepted_token_sequences", Value::array({ints({100})})),
            "GOLDEN-TOKEN-OUT-OF-RANGE");
  EXPECT_EQ(behavior("semantic_domain", 1), "JSON-TYPE");
}

TEST(Golden, BenchmarkBlock) {
  const auto set = [](const char* key, Value value) {
    return code([key, &value](Value& d) { at(d, {"benchmark"}).set(key, value); });
  };
  EXPECT_EQ(set("prefill_prompt_tokens", ints({1, 2, 3})), "GOLDEN-BENCHMARK-INVALID");
  EXPECT_EQ(set("decode_seed_tokens", repeated(1, 5)), "GOLDEN-BENCHMARK-INVALID");
  EXPECT_EQ(set("expected_decode_tokens", ints({1})), "GOLDEN-BENCHMARK-INVALID");
  EXPECT_EQ(set("expected_decode_tokens", ints({1, 2, 3})), "accepted");
  for (const char* key :
       {"prefill_prompt_tokens", "decode_seed_tokens", "expected_decode_tokens"}) {
    EXPECT_EQ(set(key, ints({1, 2, 3, 100})), "GOLDEN-TOKEN-OUT-OF-RANGE") << key;
  }
  EXPECT_EQ(set("expected_prefill_token", 100), "GOLDEN-TOKEN-OUT-OF-RANGE");
  EXPECT_EQ(set("expected_decode_seed_token", -1), "GOLDEN-TOKEN-OUT-OF-RANGE");
  EXPECT_EQ(set("baseline_prefill_seconds_per_token", Value()), "GOLDEN-BENCHMARK-INVALID");
  EXPECT_EQ(set("baseline_decode_seconds_per_token", Value()), "GOLDEN-BENCHMARK-INVALID");
  EXPECT_EQ(set("baseline_decode_seconds_per_token", 0.0), "GOLDEN-BENCHMARK-INVALID");
  EXPECT_EQ(set("baseline_prefill_seconds_per_token", -1.0), "GOLDEN-BENCHMARK-INVALID");
}

TEST(Golden, NoRefusalShowsATokenValue) {
  const auto refused = load([](Value& d) {
    at(d, {"cases", "0"}).set("expected_tokens", ints({5, 6, 777777}));
  });
  EXPECT_EQ(refused.refusal().detail.find("777777"), std::string::npos);
}

TEST(Golden, BenchmarkAndBaselineRulesOfConsumers) {
  const auto whole = load([](Value&) {});
  EXPECT_TRUE(require_benchmark(whole->golden));
  EXPECT_EQ(refuse_stored_baseline(whole->golden).refusal().code, "GOLDEN-CARRIES-STORED-BASELINE");
  const auto bare = load([](Value& d) { erase(d, "benchmark"); });
  const Status missing = require_benchmark(bare->golden);
  EXPECT_EQ(missing.refusal().code, "GOLDEN-BENCHMARK-MISSING");
  EXPECT_NE(missing.refusal().detail.find("benchmark golden file must contain a benchmark oracle"),
            std::string::npos);
  EXPECT_TRUE(refuse_stored_baseline(bare->golden));
}

TEST(Golden, HiddenGoldenTruthTable) {
  const IntegrityPin pin{std::string(64, 'a'), 10};
  EXPECT_TRUE(check_hidden_golden(std::nullopt, std::nullopt));
  EXPECT_EQ(check_hidden_golden(std::nullopt, pin).refusal().code, "HIDDEN-GOLDEN-NOT-ATTESTED");
  EXPECT_EQ(check_hidden_golden(pin, std::nullopt).refusal().code, "HIDDEN-GOLDEN-NOT-PINNED");
  EXPECT_TRUE(check_hidden_golden(pin, pin));
  for (const IntegrityPin& other :
       {IntegrityPin{std::string(64, 'b'), 10}, IntegrityPin{pin.sha256, 11}}) {
    const Status wrong = check_hidden_golden(other, pin);
    EXPECT_EQ(wrong.refusal().code, "HIDDEN-GOLDEN-WRONG-DIGEST");
    EXPECT_NE(wrong.refusal().detail.find("wrong-digest"), std::string::npos);
  }
}

TEST(Golden, PromptNames) {
  EXPECT_EQ(prompt_name_of("botany.golden.json"), "botany");
  EXPECT_EQ(prompt_name_of("botany.mtp3.golden.json"), "botany");
  EXPECT_EQ(prompt_name_of("goldens/v1.2/botany.golden.json"), "botany");
  EXPECT_EQ(prompt_name_of("botany"), "botany");
  EXPECT_EQ(prompt_name_of(".golden.json"), "");
  EXPECT_EQ(prompt_name_of(""), "");
}

TEST(Golden, WritingIsCanonicalAndReadsBack) {
  const auto loaded = load([](Value&) {});
  const std::string text = write_golden(loaded->golden);
  const auto again = load_golden(text, requirements());
  ASSERT_TRUE(again) << again.refusal().text();
  EXPECT_EQ(write_golden(again->golden), text);

  Golden small;
  small.model_type = "llama";
  small.cases.push_back({"c", {1, 2}, {3}});
  EXPECT_EQ(write_golden(small), R"({
  "version": 1,
  "model_type": "llama",
  "cases": [
    {
      "name": "c",
      "prompt_tokens": [
        1,
        2
      ],
      "expected_tokens": [
        3
      ]
    }
  ]
}
)");
}

TEST(Golden, TimedOracleComesFromTheBenchmarkElseTheFirstCase) {
  const auto whole = load([](Value&) {});
  const auto block = timed_oracle(whole->golden, 2);
  ASSERT_TRUE(block);
  EXPECT_EQ(block->expected_decode_tokens, (Tokens{6, 7}));
  EXPECT_EQ(block->expected_decode_seed_token, 5);
  EXPECT_EQ(timed_oracle(whole->golden, 1)->expected_decode_tokens, Tokens{6});

  const auto bare = load([](Value& d) { erase(d, "benchmark"); });
  const auto from_case = timed_oracle(bare->golden, 2);
  ASSERT_TRUE(from_case);
  EXPECT_EQ(from_case->decode_seed_tokens, (Tokens{1, 2, 3, 4}));
  EXPECT_EQ(from_case->expected_prefill_token, 5);
  EXPECT_EQ(from_case->expected_decode_tokens, (Tokens{6, 7}));
  EXPECT_EQ(timed_oracle(bare->golden, 3).refusal().code, "GOLDEN-ORACLE-TOO-SHORT");
  // A benchmark that is too short leaves the longer first case.
  const auto long_case = load([](Value& d) {
    at(d, {"cases", "0"}).set("expected_tokens", ints({5, 6, 7, 8}));
  });
  EXPECT_EQ(timed_oracle(long_case->golden, 3)->expected_decode_tokens, (Tokens{6, 7, 8}));
}

TEST(Golden, PublicCaptureOfAnotherTrackLoads) {
  const std::filesystem::path path =
      std::filesystem::path(ASSAY_SOURCE_DIR) /
      "../shared/samples/scoring/public_longcopy_gate_english_512_256.json";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is missing";
  GoldenRequirements required;
  required.required_steps = 256;
  required.required_prompt_tokens = 512;
  required.vocab_size = 200000;
  required.seed_tokens = 512;
  const auto loaded = load_golden(*read_file(path), required);
  ASSERT_TRUE(loaded) << loaded.refusal().text();
  EXPECT_EQ(loaded->golden.model_provenance->repository, "poolside/Laguna-XS-2.1-NVFP4-mlx");
  required.required_prompt_tokens = 1024;
  EXPECT_EQ(load_golden(*read_file(path), required).refusal().code, "GOLDEN-CASE-INVALID");
}

}  // namespace
}  // namespace assay::scoring
