// `score verify`: a seal holds on a copied folder, and breaks with any change of any of its four
// files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/sha256.h"
#include "base/text.h"
#include "judge_fixture.h"

namespace assay::e2e {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class JudgeVerify : public JudgeTest {
 protected:
  void SetUp() override {
    JudgeTest::SetUp();
    calibrate();
    ASSERT_EQ(benchd_until_quiet(paired_arguments()).exit_code, 0);
    out_ = candidate_ / "out";
  }
  ProcessResult verify(const std::string& score = "out/score.json") const {
    return benchd({"score", "verify", score});
  }
  // Changes one file, expects a named problem, and puts the file back.
  void expect_broken(const std::string& file, const std::string& bytes, const std::string& what) {
    const std::string before = read(out_ / file);
    ASSERT_NE(before, bytes) << what;
    write(out_ / file, bytes);
    const ProcessResult result = verify();
    EXPECT_EQ(result.exit_code, 1) << file << ": " << what;
    EXPECT_THAT(result.err, HasSubstr("SEAL-")) << file << ": " << what;
    EXPECT_THAT(result.out, HasSubstr("NOT VERIFIED")) << file << ": " << what;
    write(out_ / file, before);
  }
  fs::path out_;
};

TEST_F(JudgeVerify, ACopiedFolderVerifies) {
  EXPECT_EQ(verify().exit_code, 0);
  fs::copy(out_, top_ / "elsewhere");
  EXPECT_EQ(verify((top_ / "elsewhere/score.json").string()).exit_code, 0);
  const ProcessResult json = benchd({"score", "verify", "out/score.json", "--json"});
  EXPECT_THAT(json.out, HasSubstr("\"ok\":true"));
}

TEST_F(JudgeVerify, EveryKindOfChangeInEveryFileIsFound) {
  for (const std::string file : {"score.json", "score.json.sha256", "benchmark-integrity.json",
                                 "benchmark-integrity.json.sha256"}) {
    const std::string bytes = read(out_ / file);
    expect_broken(file, bytes + "\n", "a newline more");
    expect_broken(file, " " + bytes, "a space in front");
    expect_broken(file, bytes.substr(0, bytes.size() - 1), "a byte less");
    expect_broken(file, "", "empty");
    const size_t digit = bytes.find_first_of("0123456789");
    std::string changed = bytes;
    changed[digit] = changed[digit] == '1' ? '2' : '1';
    expect_broken(file, changed, "another digit");
    const size_t letter = bytes.find_first_of("abcdef");
    changed = bytes;
    changed[letter] = changed[letter] == 'a' ? 'b' : 'a';
    expect_broken(file, changed, "another letter");
  }
}

// Whoever changes the score can also make new digests; the arithmetic still disagrees.
TEST_F(JudgeVerify, AForgedScoreWithFreshDigestsIsFound) {
  std::string score = read(out_ / "score.json");
  const size_t begin = score.find("\"score\": ") + 9;
  score.replace(begin, score.find_first_of(",\n", begin) - begin, "2.5");
  write(out_ / "score.json", score);
  const std::string sha256 = sha256_hex(score);
  write(out_ / "score.json.sha256", sha256 + "  score.json\n");
  std::string integrity = read(out_ / "benchmark-integrity.json");
  const std::string key = "\"score_sha256\": \"";
  integrity.replace(integrity.find(key) + key.size(), 64, sha256);
  write(out_ / "benchmark-integrity.json", integrity);
  write(out_ / "benchmark-integrity.json.sha256",
        sha256_hex(integrity) + "  benchmark-integrity.json\n");
  const ProcessResult result = verify();
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("SEAL-ARITHMETIC: "));
}

TEST_F(JudgeVerify, AnotherContractIsFound) {
  TrackValues track;
  track.floor = 0.5;
  write(candidate_ / "other.json", contract_text(track));
  const ProcessResult result =
      benchd({"score", "verify", "out/score.json", "--contract", "other.json"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("SEAL-CONTRACT: "));
}

TEST_F(JudgeVerify, AMissingFileIsNotAVerdict) {
  for (const std::string file : {"score.json", "score.json.sha256", "benchmark-integrity.json",
                                 "benchmark-integrity.json.sha256"}) {
    fs::rename(out_ / file, top_ / "away");
    EXPECT_EQ(verify().exit_code, 3) << file;
    expect_refusal({"score", "verify", "out/score.json"}, "FILE-UNREADABLE", 3);
    fs::rename(top_ / "away", out_ / file);
  }
}

TEST_F(JudgeVerify, TheStandardToolReadsTheSidecars) {
  ProcessRequest request;
  request.argv = {"/usr/bin/sha256sum", "-c", "score.json.sha256",
                  "benchmark-integrity.json.sha256"};
  request.working_directory = out_;
  if (!fs::exists(request.argv[0])) GTEST_SKIP() << "/usr/bin/sha256sum is not there";
  EXPECT_EQ(run_process(request).exit_code, 0);
}

}  // namespace
}  // namespace assay::e2e
