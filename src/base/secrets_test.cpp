#include "base/secrets.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace assay {
namespace {

TEST(SecretKeys, NameWhatOpensADoor) {
  for (const char* key : {"api_key",
                          "API_KEY",
                          "apiKey",
                          "apikey",
                          "APIKey",
                          "X-Api-Key",
                          "openai-api-key",
                          "OPENAI_API_KEY",
                          "api_key_2",
                          "api_keys",
                          "authorization",
                          "Authorization",
                          "proxy-authorization",
                          "password",
                          "db_password",
                          "dbPassword",
                          "PASSWORD",
                          "passwd",
                          "pwd",
                          "DB_PWD",
                          "passphrase",
                          "sshPassphrase",
                          "credential",
                          "credentials",
                          "awsCredentials",
                          "private_key",
                          "privateKey",
                          "secret",
                          "secret_key",
                          "secretKey",
                          "client-secret",
                          "aws_secret_access_key",
                          "access_key",
                          "AWS_ACCESS_KEY_ID",
                          "cookie",
                          "Set-Cookie",
                          "session_id",
                          "sessionId",
                          "sessionid",
                          "session_token",
                          "sessionToken",
                          "bearer",
                          "bearer_token",
                          "token",
                          "TOKEN",
                          "hf_token",
                          "hfToken",
                          "hftoken",
                          "HF-Token",
                          "auth_token",
                          "accessToken",
                          "access_tokens",
                          "github.token",
                          "token1",
                          "basic_auth",
                          "X-Amz-Signature",
                          "sig",
                          "auth",
                          "authorization_header",
                          "secret_value",
                          "super_token",
                          "refresh-token"}) {
    EXPECT_TRUE(is_secret_key(key)) << key;
  }
}

TEST(SecretKeys, AreNoCountsMeasuresOrOrdinaryWords) {
  for (const char* key : {"max_tokens",
                          "maxTokens",
                          "tokens",
                          "n_tokens",
                          "token_count",
                          "tokenCount",
                          "tokenizer",
                          "tokenizer_id",
                          "tokenizer_eos_token",
                          "cost_per_token",
                          "seconds_per_token",
                          "ms_per_output_token",
                          "time_to_first_token",
                          "time_per_output_token",
                          "TimeToFirstToken",
                          "prompt_tokens",
                          "cached_tokens",
                          "eos_token",
                          "bos_token",
                          "eot_token_id",
                          "pad_token",
                          "token_source",
                          "token_limit",
                          "sessions",
                          "session_count",
                          "same_session",
                          "session",
                          "keys",
                          "key",
                          "primary_key_columns",
                          "monkey",
                          "pass_at_1",
                          "passed",
                          "key_value_heads",
                          "kv_cache",
                          "tokens_per_second",
                          "author",
                          "authority",
                          "compass",
                          "design",
                          "sigma",
                          "cookies_eaten",
                          "hash",
                          "model",
                          "",
                          "_",
                          "2",
                          "-token-count-"}) {
    EXPECT_FALSE(is_secret_key(key)) << key;
  }
}

struct Case {
  const char* text;
  const char* masked;
};

std::string masked(std::string_view text) {
  return mask_text(text).value_or(std::string(text));
}

TEST(SecretTexts, AreMaskedWhereTheyStand) {
  for (const Case& c : std::initializer_list<Case>{
           // URLs
           {"http://ann:hunter2@host:8000/v1", "http://***@host:8000/v1"},
           {"see https://ghtoken@github.com/a/b.git now", "see https://***@github.com/a/b.git now"},
           {"postgres://u:p@ss@db/x", "postgres://***@db/x"},
           {"http://u:pa/ss@host/v1", "http://***@host/v1"},
           {R"("base_url":"http:\/\/u:p@h\/v1")", R"("base_url":"http:\/\/***@h\/v1")"},
           {"https://h/v1?api_key=abc123&n=5&token=t-9#top",
            "https://h/v1?api_key=***&n=5&token=***"},
           {"https://h/x?sv=2&sig=aB%2F&se=2026", "https://h/x?sv=2&sig=***&se=2026"},
           // schemes
           {"Authorization: Bearer abc.def-123", "Authorization: Bearer ***"},
           {"authorization: Basic YW5uOmh1bnRlcjI=", "authorization: Basic ***"},
           {"got 'Bearer xyz' back", "got 'Bearer ***' back"},
           {"Basic YW5uOmh1bnRlcjI=", "Basic ***"},  // ann:hunter2
           {"Authorization: AWS4-HMAC-SHA256 Credential=A/b, Signature=c", "Authorization: ***"},
           {"Cookie: a=b; session=c\nHost: h", "Cookie: ***\nHost: h"},
           {"X-Api-Key: k-1, Accept: */*", "X-Api-Key: ***, Accept: */*"},
           // command lines
           {"serve --api-key s3cret --port 80", "serve --api-key *** --port 80"},
           {"serve --api-key=s3cret --port 80", "serve --api-key=*** --port 80"},
           {"serve --api-key 's3 cret' --port 80", "serve --api-key '***' --port 80"},
           {"serve --api-key = s3cret", "serve --api-key = ***"},
           {"HF_TOKEN=abc OPENAI_API_KEY='a b' run", "HF_TOKEN=*** OPENAI_API_KEY='***' run"},
           {"-token abc -n 5", "-token *** -n 5"},
           {"curl -u ann:hunter2 http://h", "curl -u *** http://h"},
           {"password=a,b;c&d", "password=***"},
           {"pretrained=x,token=abc,dtype=half", "pretrained=x,token=***,dtype=half"},
           {"--password=ab\"cd", "--password=***"},
           // documents in texts
           {R"({"api_key": "s3 \"cret\"", "n": 5})", R"({"api_key": "***", "n": 5})"},
           {R"("{\"api_key\":\"s3cret\",\"n\":5}")", R"("{\"api_key\":\"***\",\"n\":5}")"},
           {R"({'password': 'x', 'a': 1})", R"({'password': '***', 'a': 1})"},
           {R"({"credentials": {"user": "a", "b": "c"}, "n": 5})",
            R"({"credentials": ***, "n": 5})"},
           {"Incorrect API key: abc", "Incorrect API key: ***"},
           {"password: hunter2", "password: ***"},
           {"token: abc12345", "token: ***"},
           // tokens by their beginning
           {"hf_abcdefghijKLMNOPqrst1234567890abcd", "***"},
           {"used sk-proj-abcDEF123456ghi_789-xyz for it", "used *** for it"},
           {"sk-1234567890abcdef1234", "***"},
           {"(ghp_0123456789abcdefghij0123456789abcdef)", "(***)"},
           {"github_pat_11ABCDEFG0aaaaaaaaaaaa_bbbbbbbb", "***"},
           {"xoxb-123456789012-abcdefGHIJ", "***"},
           {"key AKIAIOSFODNN7EXAMPLE.", "key ***."},
           {"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln", "***"},
           {"-----BEGIN RSA PRIVATE KEY-----\nMIIE\nab\n-----END RSA PRIVATE KEY-----",
            "-----BEGIN RSA PRIVATE KEY-----***-----END RSA PRIVATE KEY-----"},
           {"-----BEGIN PRIVATE KEY-----MIIE", "-----BEGIN PRIVATE KEY-----***"}}) {
    EXPECT_EQ(masked(c.text), c.masked) << c.text;
    EXPECT_EQ(mask_text(c.masked), std::nullopt) << c.masked;  // nothing is left to find
  }
}

TEST(SecretTexts, OrdinaryTextsStay) {
  for (const char* text : {"",
                           "512",
                           "mlx-community/Qwen3.5-9B-MLX-4bit",
                           "sk-learn",
                           "sk-learn-pipeline-for-something-quite-long",
                           "scikit-learn and task-1234567890abcdef1234",
                           "hf_hub",
                           "hf_hub_download and hf_transfer",
                           "hf_tokenizer_internal_testing",
                           "AKIA",
                           "NOAKIAIOSFODNN7EXAMPLE",
                           "http://127.0.0.1:8000/v1/chat/completions",
                           "http://host:8000/a@b?x=1",
                           "https://host/users/@ann",
                           "oci://registry/vllm:v0.6@sha256:0123",
                           "hf://datasets/OWNER/NAME@main",
                           "llama-server --max-tokens 512 --tokenizer x --port 80",
                           "serve --api-key --port 80",
                           "max_tokens=512,temperature=0.7",
                           "n_tokens: 5, tokens: 7, time_to_first_token: 0.5",
                           "unexpected token: }",
                           "12 of 100 requests failed: HTTP 429",
                           "basic arithmetic, Basic LlamaForCausalLM",
                           "the bearer token is missing",
                           "docker run --user 1000:1000 x",
                           "acc,none",
                           "ttft_p50_ms",
                           "2026-04-24T18:30:00Z",
                           "~/models/x.gguf",
                           "-----BEGIN PUBLIC KEY-----",
                           "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}) {
    EXPECT_EQ(mask_text(text), std::nullopt) << text;
  }
}

// A megabyte in which something seems to begin everywhere is read in one go: each of these would
// take hours where a look ahead is not bounded.
TEST(SecretTexts, NoTextCostsMoreThanAMultipleOfItsSize) {
  for (const char* piece : {"sk-", "://a:b/", "eyJ-", "token:", "Basic ", "-----BEGIN", "a=", "\"",
                            "key ", "hf_", "api_key: ", "AKIA", "--token ", "password=\\"}) {
    std::string text;
    while (text.size() < 1'000'000) text += piece;
    EXPECT_LE(masked(text).size(), text.size() * 2) << piece;
  }
}

TEST(SecretDocuments, AreMaskedAtEveryDepth) {
  json::Value value = *json::parse(
      R"({"api_key":"k","nested":[{"Authorization":"Bearer x","max_tokens":5,"hf_token":"t",)"
      R"("db_password":7,"cookie":{"a":"b"},"secret":null}],"tokens":3,)"
      R"("url":"http://a:b@h/","argv":["run","--api-key","abc","--n","5","--token","--x"]})");
  mask_secrets(value);
  EXPECT_EQ(json::write(value),
            R"({"api_key":"***","nested":[{"Authorization":"***","max_tokens":5,"hf_token":"***",)"
            R"("db_password":"***","cookie":"***","secret":null}],"tokens":3,)"
            R"("url":"http://***@h/","argv":["run","--api-key","***","--n","5","--token","--x"]})");
}

}  // namespace
}  // namespace assay
