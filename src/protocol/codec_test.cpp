#include "protocol/codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>

#include "base/files.h"
#include "base/text.h"
#include "protocol/refusals.h"
#include "protocol/verb.h"

namespace assay::protocol {
namespace {

using ::testing::HasSubstr;

std::vector<std::string> lines_of(std::string_view name) {
  const auto bytes = read_file(cat(ASSAY_SOURCE_DIR, "/tests/conformance/protocol/", name));
  std::vector<std::string> lines;
  EXPECT_TRUE(bytes);
  if (!bytes) return lines;
  for (const std::string_view line : split(*bytes, '\n')) {
    if (!line.empty()) lines.emplace_back(line);
  }
  return lines;
}

std::string request_problem(std::string_view line) {
  const auto read = read_request(line);
  if (read) return "accepted";
  EXPECT_EQ(read.refusal().code, kJson.code);
  return read.refusal().detail;
}
std::string response_problem(std::string_view line) {
  const auto read = read_response(line);
  if (read) return "accepted";
  EXPECT_EQ(read.refusal().code, kJson.code);
  return read.refusal().detail;
}

TEST(Codec, WritesEveryCanonicalRequestAsItWasRead) {
  const auto lines = lines_of("requests.ndjson");
  ASSERT_GE(lines.size(), 12u);
  for (const std::string& line : lines) {
    const auto request = read_request(line);
    ASSERT_TRUE(request) << request.refusal().text() << "\n" << line;
    EXPECT_EQ(write_request(*request), line);
  }
}

TEST(Codec, WritesEveryCanonicalResponseAsItWasRead) {
  const auto lines = lines_of("responses.ndjson");
  ASSERT_GE(lines.size(), 12u);
  for (const std::string& line : lines) {
    const auto response = read_response(line);
    ASSERT_TRUE(response) << response.refusal().text() << "\n" << line;
    EXPECT_EQ(write_response(*response), line);
  }
}

TEST(Codec, CanonicalRequestsCoverEveryVerb) {
  const auto lines = lines_of("requests.ndjson");
  for (const std::string_view verb : kVerbNames) {
    EXPECT_TRUE(std::any_of(lines.begin(), lines.end(), [&](const std::string& line) {
      return line.find(cat("\"kind\":\"", verb, "\"")) != std::string::npos;
    })) << verb;
  }
}

TEST(Codec, ReadsTheMembersNamedLikeTheKeys) {
  const auto request = read_request(
      R"({"id":8,"kind":"free_decode_begin","seed_tokens":[151,-9],"spec":{"mode":"mtp","mtp":{"depth":2}}})");
  ASSERT_TRUE(request);
  EXPECT_EQ(request->id, 8);
  EXPECT_EQ(request->kind, "free_decode_begin");
  EXPECT_EQ(request->seed_tokens, (std::vector<int64_t>{151, -9}));
  EXPECT_EQ(request->spec->mode, "mtp");
  EXPECT_EQ(request->spec->mtp->depth, 2u);
  EXPECT_FALSE(request->prompt_tokens);
  EXPECT_FALSE(request->batch_size);

  const auto response = read_response(
      R"({"id":6,"nonce":"k","ok":true,"top_logits":[{"token":77,"logit":21}],"depth_clamp_reasons":{"b":1,"a":2},"natural_accepted_by_stream":[[2,1],[]]})");
  ASSERT_TRUE(response);
  EXPECT_EQ(response->top_logits, (std::vector<TopLogit>{{77, 21.0}}));
  EXPECT_EQ(response->depth_clamp_reasons, (std::map<std::string, uint32_t>{{"a", 2}, {"b", 1}}));
  EXPECT_EQ(response->natural_accepted_by_stream, (std::vector<std::vector<uint32_t>>{{2, 1}, {}}));
}

TEST(Codec, KeyOrderIsFreeAndWhiteSpaceAllowed) {
  const auto response = read_response(
      " {\t\"ok\" : true , \"spec_modes\":[\"serial\"], \"capabilities\":[], \"nonce\":\"k\", "
      "\"id\":0 } \r");
  ASSERT_TRUE(response) << response.refusal().text();
  EXPECT_EQ(write_response(*response),
            R"({"id":0,"nonce":"k","ok":true,"capabilities":[],"spec_modes":["serial"]})");
}

TEST(Codec, EmptyListsAndZeroesDifferFromAbsence) {
  EXPECT_EQ(write_response({.id = 3, .ok = true, .tokens = std::vector<int64_t>{}}),
            R"({"id":3,"ok":true,"tokens":[]})");
  EXPECT_EQ(write_response({.id = 3, .ok = true, .cache_memory = 0}),
            R"({"id":3,"ok":true,"cache_memory":0})");
  EXPECT_EQ(write_request({.id = 1, .kind = "phase_diagnostics"}),
            R"({"id":1,"kind":"phase_diagnostics"})");
}

TEST(Codec, UnknownKeysAreRefusedInEveryClosedObject) {
  EXPECT_THAT(request_problem(R"({"id":1,"kind":"prefill","extra":1})"), HasSubstr("`extra`"));
  EXPECT_THAT(response_problem(R"({"id":1,"ok":true,"resident_weights":"/w"})"),
              HasSubstr("`resident_weights`"));
  EXPECT_THAT(request_problem(R"({"id":1,"kind":"x","spec":{"mode":"serial","eagle":{}}})"),
              HasSubstr("`spec.eagle`"));
  EXPECT_THAT(request_problem(R"({"id":1,"kind":"x","spec":{"mode":"mtp","mtp":{"k":1}}})"),
              HasSubstr("`spec.mtp.k`"));
  EXPECT_THAT(response_problem(R"({"id":1,"ok":true,"top_logits":[{"token":1,"logit":1,"p":1}]})"),
              HasSubstr("`top_logits[0].p`"));
  EXPECT_THAT(
      response_problem(
          R"({"id":1,"ok":true,"head_provenance":{"sha256":"a","bytes":1,"file_count":1,"x":1}})"),
      HasSubstr("`head_provenance.x`"));
  EXPECT_THAT(response_problem(R"({"id":1,"ok":true,"runner":{"id":"a","version":"1"}})"),
              HasSubstr("`runner.version`"));
  EXPECT_THAT(response_problem(R"({"id":1,"ok":true,"resident":{"pid":1,"load_epoch":1,"x":1}})"),
              HasSubstr("`resident.x`"));
  EXPECT_THAT(response_problem(R"({"id":1,"ok":true,"expert_stats":{"hits":1}})"),
              HasSubstr("`expert_stats.hits`"));
  EXPECT_THAT(response_problem(R"({"id":1,"ok":true,"effective_spec":{"mode":"serial","x":1}})"),
              HasSubstr("`effective_spec.x`"));
}

TEST(Codec, TheReplayReportIsOpen) {
  const auto response = read_response(
      R"({"id":1,"ok":true,"cohort_reference_replay":{"note":{"a":[1,{"b":null}]},"streams":[{"slot":0,"x":"y","z":null,"positions":[{"committed_token":1,"w":1.5,"sequential_argmax":2,"v":[[]]}]},{"slot":1,"x":true,"positions":[]}]}})");
  ASSERT_TRUE(response) << response.refusal().text();
  const ReplayReport& report = *response->cohort_reference_replay;
  ASSERT_EQ(report.streams.size(), 2u);
  EXPECT_EQ(report.streams[0].positions[0].sequential_argmax, 2);
  // Open, yet no key may stand twice, at any level.
  const std::string head = R"({"id":1,"ok":true,"cohort_reference_replay":{"streams":[],)";
  EXPECT_THAT(response_problem(head + R"("x":1,"x":2}})"), HasSubstr("`x` stands twice"));
  EXPECT_THAT(response_problem(head + R"("x":{"y":1,"y":2}}})"), HasSubstr("`y` stands twice"));
  EXPECT_THAT(response_problem(head + R"("streams":[]}})"), HasSubstr("`streams` stands twice"));
}

TEST(Codec, DuplicateKeysAreRefused) {
  EXPECT_THAT(request_problem(R"({"id":1,"kind":"prefill","id":1})"),
              HasSubstr("`id` stands twice"));
  EXPECT_THAT(response_problem(R"({"id":1,"ok":true,"ok":true})"), HasSubstr("`ok` stands twice"));
  EXPECT_THAT(response_problem(R"({"id":1,"ok":true,"depth_clamp_reasons":{"a":1,"a":1}})"),
              HasSubstr("`a` stands twice"));
  EXPECT_THAT(response_problem(R"({"id":1,"ok":true,"top_logits":[{"token":1,"token":1}]})"),
              HasSubstr("`token` stands twice"));
  EXPECT_THAT(
      request_problem(R"({"id":1,"kind":"x","spec":{"mode":"dflash","dflash":{"a":1,"a":1}}})"),
      HasSubstr("`a` stands twice"));
  EXPECT_THAT(request_problem(R"({"id":1,"kind":"x","\u006bind":"x"})"), HasSubstr("twice"));
}

TEST(Codec, NullIsRefused) {
  EXPECT_THAT(request_problem(R"({"id":1,"kind":"prefill","token":null})"),
              HasSubstr("`token` is null"));
  EXPECT_THAT(request_problem(R"({"id":null,"kind":"prefill"})"), HasSubstr("`id` is null"));
  EXPECT_THAT(response_problem(R"({"id":1,"ok":true,"tokens":[null]})"), HasSubstr("`tokens`"));
  EXPECT_THAT(response_problem(R"({"id":1,"ok":true,"runner":null})"), HasSubstr("`runner`"));
}

TEST(Codec, IntegersCarryNoFractionExponentOrMinusZero) {
  for (const std::string_view number : {"1.0", "1e3", "1E0", "-0", "0.5", "-0.0", "10e-1"}) {
    EXPECT_THAT(request_problem(cat(R"({"id":1,"kind":"x","token":)", number, "}")),
                HasSubstr("`token` must be a signed 64-bit integer"))
        << number;
    EXPECT_THAT(request_problem(cat(R"({"id":1,"kind":"x","prompt_tokens":[7,)", number, "]}")),
                HasSubstr("`prompt_tokens` must hold only"))
        << number;
    EXPECT_THAT(request_problem(cat(R"({"id":1,"kind":"x","count":)", number, "}")),
                HasSubstr("`count`"))
        << number;
  }
}

TEST(Codec, IntegersStayInTheRangeOfTheirMember) {
  const auto token = [](std::string_view n) {
    return cat(R"({"id":1,"kind":"x","token":)", n, "}");
  };
  EXPECT_TRUE(read_request(token("9223372036854775807")));
  EXPECT_TRUE(read_request(token("-9223372036854775808")));
  EXPECT_FALSE(read_request(token("9223372036854775808")));
  EXPECT_FALSE(read_request(token("-9223372036854775809")));
  const auto count = [](std::string_view n) {
    return cat(R"({"id":1,"kind":"x","count":)", n, "}");
  };
  EXPECT_TRUE(read_request(count("4294967295")));
  EXPECT_FALSE(read_request(count("4294967296")));
  EXPECT_FALSE(read_request(count("-1")));
  const auto total = [](std::string_view n) {
    return cat(R"({"id":1,"ok":true,"drafted_total":)", n, "}");
  };
  EXPECT_TRUE(read_response(total("18446744073709551615")));
  EXPECT_FALSE(read_response(total("18446744073709551616")));
  EXPECT_FALSE(read_response(total("-1")));
}

TEST(Codec, ListsAreReadTheSameHoweverTheyAreWritten) {
  const auto tokens = [](std::string_view list) {
    return read_request(cat(R"({"id":1,"kind":"x","prompt_tokens":)", list, "}"));
  };
  const std::vector<int64_t> expected = {0,
                                         -1,
                                         10,
                                         999999999999999999,
                                         1000000000000000000,
                                         std::numeric_limits<int64_t>::max(),
                                         std::numeric_limits<int64_t>::min(),
                                         7};
  for (const std::string_view list :
       {"[0,-1,10,999999999999999999,1000000000000000000,9223372036854775807,-9223372036854775808,"
        "7]",
        "[ 0,-1,10,999999999999999999,1000000000000000000,9223372036854775807,-9223372036854775808,"
        "7]",
        "[0 ,-1, 10,999999999999999999\t,1000000000000000000,9223372036854775807 , "
        "-9223372036854775808,7 ]"}) {
    const auto read = tokens(list);
    ASSERT_TRUE(read) << list;
    EXPECT_EQ(read->prompt_tokens, expected) << list;
  }
  EXPECT_EQ(tokens("[]")->prompt_tokens, std::vector<int64_t>{});
  for (const std::string_view list : {"[1,]",
                                      "[,1]",
                                      "[,]",
                                      "[1,,2]",
                                      "[1,2",
                                      "[1,2,",
                                      "[01,2]",
                                      "[-0,2]",
                                      "[00,1]",
                                      "[1,-]",
                                      "[-,1]",
                                      "[1,-,2]",
                                      "[1.0,2]",
                                      "[1,2.0,3]",
                                      "[1e1,2]",
                                      "[9223372036854775808,1]",
                                      "[-9223372036854775809,1]",
                                      "[99999999999999999999,1]",
                                      "[1,\"2\",3]",
                                      "[1,null,2]",
                                      "[1 2,3]",
                                      "[--1,2]",
                                      "[+1,2]"}) {
    EXPECT_FALSE(tokens(list)) << list;
  }
  const auto lengths = [](std::string_view list) {
    return read_response(cat(R"({"id":1,"ok":true,"acceptance_lengths":)", list, "}"));
  };
  EXPECT_EQ(lengths("[4294967295,0,1]")->acceptance_lengths,
            (std::vector<uint32_t>{4294967295u, 0, 1}));
  for (const std::string_view list : {"[4294967296,1]", "[-1,1]", "[1,-1,1]", "[-0,1]"}) {
    EXPECT_FALSE(lengths(list)) << list;
  }
}

TEST(Codec, FloatsMayBeWrittenAsIntegersAndStayFinite) {
  const auto peak = [](std::string_view n) {
    return cat(R"({"id":1,"ok":true,"peak_ram_gb":)", n, "}");
  };
  EXPECT_EQ(read_response(peak("20"))->peak_ram_gb, 20.0);
  EXPECT_EQ(read_response(peak("1e-400"))->peak_ram_gb, 0.0);
  EXPECT_EQ(read_response(peak("1e+16"))->peak_ram_gb, 1e16);
  EXPECT_FALSE(read_response(peak("1e999")));
  EXPECT_FALSE(read_response(peak("-1e400")));
  EXPECT_FALSE(read_response(peak("NaN")));
  EXPECT_FALSE(read_response(peak("Infinity")));
  EXPECT_FALSE(read_response(peak("01")));
  EXPECT_FALSE(read_response(peak("+1")));
  EXPECT_FALSE(read_response(peak(".5")));
  EXPECT_FALSE(read_response(peak("\"1\"")));
}

TEST(Codec, FloatsAreWrittenInTheirShortestForm) {
  // 10^k for the limits of the plain layout, and the two examples that other printers differ in.
  const std::pair<double, std::string_view> cases[] = {{0.0, "0.0"},
                                                       {10.0, "10.0"},
                                                       {1e16, "1e16"},
                                                       {1e15, "1000000000000000.0"},
                                                       {1.5e-7, "1.5e-7"},
                                                       {0.00001, "0.00001"},
                                                       {123456.789, "123456.789"},
                                                       {18.5, "18.5"},
                                                       {0.000001, "1e-6"}};
  for (const auto& [value, text] : cases) {
    EXPECT_EQ(write_response({.id = 0, .ok = true, .peak_ram_gb = value}),
              cat(R"({"id":0,"ok":true,"peak_ram_gb":)", text, "}"));
  }
}

TEST(Codec, NineDigitsCarryAFloatExactly) {
  // A logit that went through a resident's text ("%.9g") must come out as the same double.
  std::mt19937_64 random(20261129);
  int checked = 0;
  while (checked < 100000) {
    const uint32_t bits = static_cast<uint32_t>(random());
    float logit = 0;
    std::memcpy(&logit, &bits, sizeof logit);
    if (!std::isfinite(logit)) continue;
    ++checked;
    char text[40];
    std::snprintf(text, sizeof text, "%.9g", static_cast<double>(logit));
    const auto read = read_response(cat(R"({"id":1,"ok":true,"top_logit_margin":)", text, "}"));
    ASSERT_TRUE(read) << text;
    ASSERT_EQ(static_cast<float>(*read->top_logit_margin), logit) << text;
    const double widened = static_cast<double>(logit);
    const auto again =
        read_response(write_response({.id = 1, .ok = true, .top_logit_margin = widened}));
    ASSERT_TRUE(again);
    ASSERT_EQ(again->top_logit_margin, widened);
  }
}

TEST(Codec, WrongTypesAreRefused) {
  EXPECT_THAT(request_problem(R"({"id":"1","kind":"x"})"), HasSubstr("`id` must be"));
  EXPECT_THAT(request_problem(R"({"id":1,"kind":7})"), HasSubstr("`kind` must be a string"));
  EXPECT_THAT(response_problem(R"({"id":1,"ok":1})"), HasSubstr("`ok` must be true or false"));
  EXPECT_THAT(request_problem(R"({"id":1,"kind":"x","prompt_tokens":7})"),
              HasSubstr("`prompt_tokens` must be an array"));
  EXPECT_THAT(request_problem(R"({"id":1,"kind":"x","prompt_tokens":{}})"),
              HasSubstr("`prompt_tokens` must be an array"));
  EXPECT_THAT(request_problem(R"({"id":1,"kind":"x","prompt_tokens":[[1]]})"),
              HasSubstr("`prompt_tokens`"));
  EXPECT_THAT(request_problem(R"({"id":1,"kind":"x","prompt_tokens":["1"]})"),
              HasSubstr("`prompt_tokens`"));
  EXPECT_THAT(request_problem(R"({"id":1,"kind":"x","seed_tokens_by_stream":[1]})"),
              HasSubstr("`seed_tokens_by_stream`"));
  EXPECT_THAT(request_problem(R"({"id":1,"kind":"x","seed_tokens_by_stream":[[1.0]]})"),
              HasSubstr("`seed_tokens_by_stream`"));
  EXPECT_THAT(request_problem(R"({"id":1,"kind":"x","token":true})"), HasSubstr("`token`"));
  EXPECT_THAT(request_problem(R"({"id":1,"kind":"x","spec":"serial"})"), HasSubstr("`spec`"));
  EXPECT_THAT(request_problem(R"({"id":1,"kind":"x","spec":[]})"), HasSubstr("`spec`"));
  EXPECT_THAT(request_problem(R"({"id":1,"kind":"x","spec":{"mode":"dflash","dflash":7}})"),
              HasSubstr("`spec.dflash`"));
  EXPECT_THAT(response_problem(R"({"id":1,"ok":true,"top_logits":[1]})"), HasSubstr("top_logits"));
  EXPECT_THAT(response_problem(R"({"id":1,"ok":true,"top_logits":[{"token":1,"logit":"1"}]})"),
              HasSubstr("`top_logits[0].logit`"));
  EXPECT_THAT(response_problem(R"({"id":1,"ok":true,"capabilities":[1]})"),
              HasSubstr("`capabilities`"));
  EXPECT_THAT(response_problem(R"({"id":1,"ok":true,"depth_clamp_reasons":{"a":-1}})"),
              HasSubstr("`depth_clamp_reasons`"));
  EXPECT_THAT(response_problem(R"({"id":1,"ok":true,"depth_clamp_reasons":{"a":[]}})"),
              HasSubstr("`depth_clamp_reasons`"));
  for (const std::string_view line : {"[]", "1", "\"x\"", "true", "null", "[{}]"}) {
    EXPECT_FALSE(read_request(line)) << line;
    EXPECT_FALSE(read_response(line)) << line;
  }
}

TEST(Codec, RequiredKeysMustBeThere) {
  EXPECT_THAT(request_problem(R"({"id":1})"), HasSubstr("`kind` is missing"));
  EXPECT_THAT(request_problem(R"({"kind":"x"})"), HasSubstr("`id` is missing"));
  EXPECT_THAT(response_problem(R"({"id":1})"), HasSubstr("`ok` is missing"));
  EXPECT_THAT(response_problem("{}"), HasSubstr("`id` is missing"));
  EXPECT_THAT(request_problem(R"({"id":1,"kind":"x","spec":{}})"), HasSubstr("`spec.mode`"));
  EXPECT_THAT(
      response_problem(R"({"id":1,"ok":true,"top_logits":[{"token":1,"logit":1},{"token":1}]})"),
      HasSubstr("`top_logits[1].logit` is missing"));
  EXPECT_THAT(response_problem(R"({"id":1,"ok":true,"resident":{"pid":1}})"),
              HasSubstr("`resident.load_epoch` is missing"));
  EXPECT_THAT(response_problem(R"({"id":1,"ok":true,"cohort_reference_replay":{}})"),
              HasSubstr("`cohort_reference_replay.streams` is missing"));
}

TEST(Codec, BrokenTextIsRefused) {
  const std::string good = R"({"id":1,"kind":"prefill","prompt_tokens":[1,2]})";
  ASSERT_TRUE(read_request(good));
  // Every proper prefix is a truncated line, also in memory that ends where the line ends.
  for (size_t size = 0; size < good.size(); ++size) {
    const std::string_view prefix(good.data(), size);
    EXPECT_FALSE(read_request(prefix)) << prefix;
  }
  EXPECT_FALSE(read_request(good + "x"));
  EXPECT_FALSE(read_request(good + good));
  EXPECT_FALSE(read_request(good + std::string("\0", 1)));
  EXPECT_FALSE(read_request(good + std::string("\0x", 2)));
  EXPECT_TRUE(read_request(good + " \t\r"));
  EXPECT_FALSE(read_request("\xEF\xBB\xBF" + good));
  EXPECT_FALSE(read_request(R"({"id":1,"kind":"x",})"));
  EXPECT_FALSE(read_request(R"({"id":1,"kind":"x","prompt_tokens":[1,]})"));
  EXPECT_FALSE(read_request(R"({'id':1,"kind":"x"})"));
  EXPECT_FALSE(read_request(R"({"id":1,"kind":"x"} // why)"));
  EXPECT_FALSE(read_request("{\"id\":1,\"kind\":\"a\tb\"}"));
}

TEST(Codec, TextMustBeUnicode) {
  const auto kind = [](std::string_view text) { return cat(R"({"id":1,"kind":")", text, "\"}"); };
  EXPECT_EQ(read_request(kind("\\ud83d\\ude42"))->kind, "\xF0\x9F\x99\x82");
  EXPECT_FALSE(read_request(kind("\\ud83d")));
  EXPECT_FALSE(read_request(kind("\\ud83dx")));
  EXPECT_FALSE(read_request(kind("\\ud83d\\u0041")));
  EXPECT_FALSE(read_request(kind("\\ude42")));         // a low half alone
  EXPECT_FALSE(read_request(kind("\\ude42\\ud83d")));  // the halves swapped
  EXPECT_FALSE(read_request(kind("\xED\xA0\xBD")));    // a half as raw bytes
  EXPECT_FALSE(read_request(kind("\xC0\xAF")));        // overlong
  EXPECT_FALSE(read_request(kind("\xFF")));
  EXPECT_FALSE(read_request(kind("\xE6\xBC")));          // cut short
  EXPECT_FALSE(read_request(kind("\xF4\x90\x80\x80")));  // beyond U+10FFFF
  EXPECT_FALSE(read_request(R"({"id":1,"kind":"x","\ude42":1})"));
  EXPECT_TRUE(read_request(kind("\xED\x9F\xBF")));  // U+D7FF, the last before the halves
}

TEST(Codec, NestingIsBoundedAtSixteen) {
  // The message is level 1, `spec` 2, `dflash` 3; n arrays inside reach level 3 + n.
  const auto nested = [](size_t n) {
    return cat(R"({"id":1,"kind":"x","spec":{"mode":"dflash","dflash":{"a":)", std::string(n, '['),
               std::string(n, ']'), "}}}");
  };
  EXPECT_TRUE(read_request(nested(13)));
  EXPECT_THAT(request_problem(nested(14)), HasSubstr("deeper than 16"));
  EXPECT_THAT(request_problem(nested(200000)), HasSubstr("deeper than 16"));
  EXPECT_FALSE(read_request(std::string(1000000, '[')));
}

TEST(Codec, AnEngineMayReadSpecsFromTheFuture) {
  std::string unknown;
  Request request;
  const std::string_view line =
      R"({"id":7,"kind":"free_decode_begin","seed_tokens":[1],"spec":{"mode":"eagle","eagle":{"k":[1,null]}}})";
  ASSERT_TRUE(read_request(line, request, &unknown));
  EXPECT_EQ(request.id, 7);
  EXPECT_EQ(request.spec->mode, "eagle");
  EXPECT_EQ(unknown, "eagle");
  EXPECT_FALSE(read_request(line, request));
  // Only the spec itself is read so: the envelope and the mtp block stay closed.
  EXPECT_FALSE(read_request(R"({"id":7,"kind":"x","eagle":1})", request, &unknown));
  EXPECT_FALSE(read_request(R"({"id":7,"kind":"x","spec":{"mode":"mtp","mtp":{"k":1}}})", request,
                            &unknown));
  ASSERT_TRUE(read_request(R"({"id":7,"kind":"x"})", request, &unknown));
  EXPECT_EQ(unknown, "");
}

TEST(Codec, OpaqueBlocksKeepTheirContent) {
  const auto request = read_request(
      R"({"id":1,"kind":"x","spec":{"mode":"dflash","dflash": { "b" : 1.50 , "a" : "\u0041\/" } }})");
  ASSERT_TRUE(request) << request.refusal().text();
  EXPECT_EQ(json::write(*request->spec->dflash), R"({"b":1.50,"a":"A/"})");
}

TEST(Codec, RefusalsNeverShowAToken) {
  EXPECT_EQ(request_problem(R"({"id":1,"kind":"x","token":4242.0})").find("4242"),
            std::string::npos);
  EXPECT_EQ(request_problem(R"({"id":1,"kind":"x","prompt_tokens":[4242.0]})").find("4242"),
            std::string::npos);
}

}  // namespace
}  // namespace assay::protocol
