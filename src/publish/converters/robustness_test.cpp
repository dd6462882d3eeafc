// What comes in broken: ten thousand mutations of small files per kind, and the cases that really
// happen (a file cut off, another tool's file, NaN, a key twice, a byte order mark, no rows).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>

#include "base/text.h"
#include "publish/convert.h"
#include "publish/validate.h"

namespace assay::publish {
namespace {

namespace fs = std::filesystem;

const fs::path kCorpus = ASSAY_SOURCE_DIR "/tests/fuzz/corpus";
const fs::path kSamples = ASSAY_SOURCE_DIR "/../shared/samples";
constexpr uintmax_t kSampleMax = 12000;

std::string read(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::string folder_of(std::string_view kind) {
  std::string name = cat("convert_", kind);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

std::string document(std::string_view kind, std::string_view name) {
  return read(kCorpus / folder_of(kind) / name);
}

RunContext context_of(std::string_view kind) {
  RunContext context;
  context.suite = kind == "framework-eval" ? "framework-eval" : "throughput";
  context.git_sha = "0123abc";
  context.max_tokens = 64;
  if (kind == "framework-eval") context.model = "acme/tiny-1b";
  return context;
}

Result<std::vector<Envelope>> convert(std::string bytes, std::string_view kind) {
  TRY(file, parse_tool_file(std::move(bytes), "given", kind));
  return convert_file(file, kind, context_of(kind));
}

class PerKind : public testing::TestWithParam<std::string_view> {
 protected:
  [[nodiscard]] std::string_view kind() const { return GetParam(); }
};

std::string name_of(const testing::TestParamInfo<std::string_view>& info) {
  std::string name(info.param);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Kinds, PerKind,
                         testing::Values("aiperf", "bench-serve", "benchd-score", "framework-eval",
                                         "genai-perf", "guidellm", "llama-bench", "lm-eval",
                                         "throughput-probe", "vllm"),
                         name_of);

TEST_P(PerKind, AWholeFileConverts) {
  const auto envelopes = convert(document(kind(), "whole"), kind());
  ASSERT_TRUE(envelopes) << envelopes.refusal().text();
  ASSERT_EQ(envelopes->size(), 1u);
  EXPECT_FALSE(envelopes->at(0).results.empty());
  for (const Problem& problem : validate(to_json(envelopes->at(0)), {.legacy_regime = true}))
    EXPECT_TRUE(problem.is_warning()) << problem.path << " " << problem.message;
}

TEST_P(PerKind, ACutFileIsRefused) {
  const auto cut = convert(document(kind(), "truncated"), kind());
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.refusal().code, "CONVERT-INPUT") << cut.refusal().detail;
  // Cut anywhere: never half an answer from the first object.
  const std::string whole = document(kind(), "whole");
  if (kind() == "llama-bench") return;  // JSON lines: a whole line is a whole record
  for (size_t size = 0; size + 2 < whole.size(); size += 7) {
    const auto part = convert(whole.substr(0, size), kind());
    if (part) {
      ADD_FAILURE() << "accepted with " << size << " of " << whole.size() << " bytes";
      return;
    }
  }
}

TEST_P(PerKind, AnotherToolsFileIsRefused) {
  const auto wrong = convert(document(kind(), "wrong_kind"), kind());
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.refusal().code, "CONVERT-INPUT");
  const auto empty = convert("", kind());
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.refusal().code, "CONVERT-INPUT");
}

TEST_P(PerKind, AFigureThatIsNoNumberIsNoRow) {
  const auto whole = convert(document(kind(), "whole"), kind());
  const auto odd = convert(document(kind(), "not_finite"), kind());
  ASSERT_TRUE(whole && odd) << odd.refusal().text();
  // llama-bench's NaN is a duration beside the figure; the others lose the row.
  if (kind() == "llama-bench") {
    EXPECT_EQ(odd->at(0).results.size(), whole->at(0).results.size());
    EXPECT_FALSE(odd->at(0).results[0].duration_seconds);
  } else {
    EXPECT_LT(odd->at(0).results.size(), whole->at(0).results.size());
  }
  const std::string text = canonical_json(odd->at(0));
  EXPECT_TRUE(json::parse(text)) << "strict JSON, whatever the file held";
}

TEST_P(PerKind, TheLastOfTwoEqualKeysCounts) {
  const auto whole = convert(document(kind(), "whole"), kind());
  const auto twice = convert(document(kind(), "key_twice"), kind());
  ASSERT_TRUE(whole && twice) << twice.refusal().text();
  EXPECT_EQ(canonical_json(twice->at(0)), canonical_json(whole->at(0)));
}

TEST_P(PerKind, AByteOrderMarkIsSkipped) {
  const auto whole = convert(document(kind(), "whole"), kind());
  const auto marked = convert(document(kind(), "byte_order_mark"), kind());
  ASSERT_TRUE(whole && marked) << marked.refusal().text();
  EXPECT_EQ(canonical_json(marked->at(0)), canonical_json(whole->at(0)));
}

TEST_P(PerKind, NoRows) {
  if (kind() == "benchd-score") return;  // a sealed score always has its seal row
  const auto none = convert(document(kind(), "no_rows"), kind());
  if (!none) {
    EXPECT_EQ(none.refusal().code, "PUBLISH-NO-ROWS") << none.refusal().detail;
  } else {
    EXPECT_TRUE(none->at(0).results.empty());
    const auto problems = validate(to_json(none->at(0)), {});
    EXPECT_TRUE(std::any_of(problems.begin(), problems.end(), [](const Problem& problem) {
      return problem.code == "E-EMPTY" || problem.code == "E-STATUS-OK";
    }));
  }
}

// --- mutations

// Pieces that upset readers.
constexpr std::string_view kPieces[] = {"NaN",
                                        "-Infinity",
                                        "1e999",
                                        "-1e-999",
                                        "9223372036854775808",
                                        "-9223372036854775809",
                                        "null",
                                        "true",
                                        "{}",
                                        "[]",
                                        "\"\"",
                                        "\"\\u0000\"",
                                        "\"\\ud800\"",
                                        "[[[[[[[[[[[[[[[[",
                                        "{\"a\":",
                                        ",",
                                        ":",
                                        "\"",
                                        "\\",
                                        "\xff\xfe",
                                        "\xed\xa0\x80",
                                        "0",
                                        "-0",
                                        "1e308",
                                        "5e-324",
                                        "|",
                                        "\n",
                                        "\r\n",
                                        "\"value\": 1,",
                                        "t/s",
                                        "Metric",
                                        "999999999999999999999999999999999999999"};

void mutate(std::string& bytes, std::mt19937_64& random) {
  const auto below = [&random](size_t n) { return n == 0 ? 0 : static_cast<size_t>(random() % n); };
  const size_t edits = 1 + below(4);
  for (size_t i = 0; i < edits; ++i) {
    const size_t at = below(bytes.size() + 1);
    switch (below(7)) {
      case 0:
        if (at < bytes.size()) bytes[at] = static_cast<char>(random());
        break;
      case 1: bytes.erase(std::min(at, bytes.size()), below(40)); break;
      case 2: bytes.insert(at, std::string(bytes.substr(at, below(200)))); break;
      case 3: bytes.insert(at, kPieces[below(std::size(kPieces))]); break;
      case 4: bytes.resize(at); break;
      case 5: {  // one number or word becomes a piece
        const size_t from = bytes.find_first_of("0123456789tfn\"[{", at);
        if (from == std::string::npos) break;
        const size_t to = bytes.find_first_of(",}]\n", from);
        bytes.replace(from, std::min(to, bytes.size()) - from, kPieces[below(std::size(kPieces))]);
        break;
      }
      default: {  // two stretches change places
        const size_t other = below(bytes.size() + 1), size = below(60);
        const std::string a = bytes.substr(at, size), b = bytes.substr(other, size);
        if (a.size() != size || b.size() != size) break;
        bytes.replace(at, size, b);
        bytes.replace(other, size, a);
      }
    }
  }
}

TEST_P(PerKind, TenThousandMutations) {
  const char* given = std::getenv("ASSAY_SEED");
  const uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : 20261129;
  std::cout << "seed " << seed << " (ASSAY_SEED chooses another)\n";
  std::vector<std::string> sources;
  for (const auto& entry : fs::directory_iterator(kCorpus / folder_of(kind())))
    sources.push_back(read(entry.path()));
  std::error_code missing;
  const std::string folder(kind() == "benchd-score" ? "none" : kind());
  for (const auto& entry : fs::directory_iterator(kSamples / folder, missing)) {
    if (entry.file_size() <= kSampleMax) sources.push_back(read(entry.path()));
  }
  std::sort(sources.begin(), sources.end());
  std::mt19937_64 random(seed);
  size_t accepted = 0, refused = 0;
  for (int i = 0; i < 10000; ++i) {
    std::string bytes = sources[random() % sources.size()];
    mutate(bytes, random);
    const auto envelopes = convert(bytes, kind());
    if (!envelopes) {
      ++refused;
      ASSERT_FALSE(envelopes.refusal().detail.empty()) << "mutation " << i;
      continue;
    }
    ++accepted;
    for (const Envelope& envelope : *envelopes) {
      const std::string text = canonical_json(envelope);
      if (i % 50 == 0) {
        const auto again = json::parse(text, {.depth_max = 300});
        ASSERT_TRUE(again) << "mutation " << i << ": " << again.refusal().text();
        (void)validate(*again, {});
      } else {
        (void)check_semantics(envelope, {});
      }
    }
  }
  // A mutation that always refuses, or never, tests nothing.
  EXPECT_GT(accepted, 100u);
  EXPECT_GT(refused, 100u);
}

}  // namespace
}  // namespace assay::publish
