// The committed schema is the one the table gives, and an independent validator agrees with the
// codec about legal and illegal lines.
#include "protocol/schema.h"

#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include <valijson/adapters/rapidjson_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include "base/files.h"
#include "base/text.h"
#include "protocol/codec.h"

namespace assay::protocol {
namespace {

std::string file(std::string_view path) {
  const auto bytes = read_file(cat(ASSAY_SOURCE_DIR, "/", path));
  EXPECT_TRUE(bytes) << path;
  return bytes ? *bytes : std::string();
}

TEST(Schema, TheCommittedFileIsWhatTheTableGives) {
  EXPECT_EQ(file("schema/engine-protocol-v1.json"),
            json::write(json_schema(), {.indent = 2}) + "\n")
      << "run bin/protocol_schema > schema/engine-protocol-v1.json";
}

class Validator {
 public:
  Validator() {
    const std::string text = file("schema/engine-protocol-v1.json");
    schema_document_.Parse(text.data(), text.size());
    EXPECT_FALSE(schema_document_.HasParseError());
    const valijson::adapters::RapidJsonAdapter adapter(schema_document_);
    valijson::SchemaParser(valijson::SchemaParser::kDraft7).populateSchema(adapter, schema_);
  }
  bool accepts(std::string_view line) {
    rapidjson::Document document;
    document.Parse<rapidjson::kParseFullPrecisionFlag>(line.data(), line.size());
    EXPECT_FALSE(document.HasParseError()) << line;
    const valijson::adapters::RapidJsonAdapter adapter(document);
    valijson::ValidationResults problems;
    const bool accepted = valijson::Validator().validate(schema_, adapter, &problems);
    why.clear();
    for (const auto& problem : problems) {
      why += "\n  ";
      for (const std::string& step : problem.context) why += step;
      why += ": " + problem.description;
    }
    return accepted;
  }

  std::string why;  // what the last line broke

 private:
  rapidjson::Document schema_document_;
  valijson::Schema schema_;
};

TEST(Schema, AnIndependentValidatorAcceptsEveryCanonicalLine) {
  Validator validator;
  int lines = 0;
  for (const std::string_view name :
       {"requests.ndjson", "responses.ndjson", "m1_requests.ndjson", "m1_responses.ndjson"}) {
    const std::string bytes = file(cat("tests/conformance/protocol/", name));
    for (const std::string_view line : split(bytes, '\n')) {
      if (line.empty()) continue;
      EXPECT_TRUE(validator.accepts(line)) << line << validator.why;
      ++lines;
    }
  }
  EXPECT_GE(lines, 50);
}

TEST(Schema, BothRefuseTheSameFaults) {
  Validator validator;
  const std::string_view faults[] = {
      R"({"id":1,"kind":"prefill","extra":1})",
      R"({"id":1,"ok":true,"extra":1})",
      R"({"id":1,"kind":"prefill","token":null})",
      R"({"id":1,"ok":true,"runner":null})",
      R"({"id":1,"kind":"decode_step","token":"7"})",
      R"({"id":1,"kind":"decode_step","token":7.5})",
      R"({"id":1,"kind":"decode_step","token":true})",
      R"({"id":1,"kind":"free_decode_run","count":4294967296})",
      R"({"id":1,"kind":"free_decode_run","count":-1})",
      R"({"id":1,"kind":"prefill","prompt_tokens":7})",
      R"({"id":1,"kind":"prefill","prompt_tokens":[[7]]})",
      R"({"id":1,"kind":"prefill","prompt_tokens":["7"]})",
      R"({"id":1})",
      R"({"kind":"prefill"})",
      R"({"ok":true})",
      R"({"id":1,"ok":1})",
      R"({"id":1,"ok":true,"kind":"prefill"})",
      R"({"id":1,"kind":"x","spec":{"mode":"serial","eagle":{}}})",
      R"({"id":1,"kind":"decode_begin","spec":{"mtp":{}}})",
      R"({"id":1,"kind":"decode_begin","spec":{"mode":"mtp","mtp":{"k":1}}})",
      R"({"id":1,"kind":"decode_begin","spec":{"mode":"dflash","dflash":1}})",
      R"({"id":1,"ok":true,"resident":{"pid":1}})",
      R"({"id":1,"ok":true,"head_provenance":{"sha256":"a","bytes":1,"file_count":1,"x":1}})",
      R"({"id":1,"ok":true,"expert_stats":{"expert_cache_hits":1}})",
      R"({"id":1,"ok":true,"depth_clamp_reasons":{"a":-1}})",
      R"({"id":1,"ok":true,"cohort_reference_replay":{}})",
      R"([])",
      R"("x")"};
  for (const std::string_view line : faults) {
    EXPECT_FALSE(validator.accepts(line)) << line;
    EXPECT_FALSE(read_request(line) || read_response(line)) << line;
  }
}

TEST(Schema, SaysWhatTheVerbsChecksDemand) {
  Validator validator;
  // The codec leaves these to the state machine and the session.
  for (const std::string_view line :
       {R"({"id":1,"kind":"Prefill"})", R"({"id":1,"kind":"prefill","prompt_tokens":[]})",
        R"({"id":1,"kind":"free_decode_run","count":0})",
        R"({"id":1,"kind":"correctness","prompt_tokens":[1],"steps":-1})",
        R"({"id":1,"kind":"free_decode_run","count":1,"batch_size":0})",
        R"({"id":1,"kind":"decode_begin","spec":{"mode":"eagle"}})",
        R"({"id":1,"ok":true,"top_logits":[{"token":1,"logit":1.0}]})",
        R"({"id":1,"ok":true,"completed_work":-1})"}) {
    EXPECT_FALSE(validator.accepts(line)) << line;
    EXPECT_TRUE(read_request(line) || read_response(line)) << line;
  }
  // Open objects stay open.
  EXPECT_TRUE(validator.accepts(
      R"({"id":1,"ok":true,"cohort_reference_replay":{"x":1,"streams":[{"slot":0,"x":1,"positions":[{"committed_token":1,"sequential_argmax":1,"x":1}]}]}})"));
}

}  // namespace
}  // namespace assay::protocol
