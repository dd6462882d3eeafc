#include "runner/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/text.h"
#include "protocol/refusals.h"
#include "protocol/spec.h"
#include "protocol/verb.h"
#include "runner/refusals.h"
#include "scoring/refusals.h"
#include "support/fake_world.h"
#include "support/mock_replies.h"
#include "support/scripted_transport.h"

namespace assay::runner {
namespace {

using protocol::Request;
using protocol::Response;
using support::MockReplies;
using support::ScriptedTransport;
using support::TransportLog;
using Kind = LineRead::Kind;

const std::vector<int64_t> kPrompt = {1, 2, 3};

class SessionTest : public ::testing::Test {
 protected:
  /// `adjust` may break the transport before the session gets it.
  Result<Session> open(const std::function<void(ScriptedTransport&)>& adjust = {}) {
    auto transport = std::make_unique<ScriptedTransport>(
        std::vector<std::string>{replies.hello_line()},
        [this](const std::string& line) { return replies.answer(line); }, log);
    if (adjust) adjust(*transport);
    return Session::open(world, std::move(transport));
  }
  Session opened(const std::function<void(ScriptedTransport&)>& adjust = {}) {
    auto session = open(adjust);
    EXPECT_TRUE(session);
    return *std::move(session);
  }

  support::FakeWorld world;
  MockReplies replies;
  std::shared_ptr<TransportLog> log = std::make_shared<TransportLog>();
};

/// The session refuses by this name, is discarded, and writes nothing more.
template <class T>
void expect_fault(const Result<T>& result, const RefusalInfo& info, Session& session,
                  const TransportLog& log) {
  ASSERT_FALSE(result);
  EXPECT_EQ(result.refusal().code, info.code) << result.refusal().detail;
  EXPECT_TRUE(session.discarded());
  EXPECT_TRUE(log.closed.has_value());
  const size_t written = log.written.size();
  auto later = session.prefill(kPrompt);
  ASSERT_FALSE(later);
  EXPECT_EQ(later.refusal().code, kSessionDiscarded.code);
  EXPECT_EQ(log.written.size(), written);
}

// --- hello

TEST_F(SessionTest, AcceptsAMinimalHello) {
  replies.hello = {};
  replies.hello.id = 0;
  replies.hello.ok = true;
  replies.hello.nonce = "n";
  replies.hello.protocol_version = 1;
  auto session = open();
  ASSERT_TRUE(session);
  EXPECT_TRUE(session->hello().capabilities.empty());
}

TEST_F(SessionTest, RefusesEachBrokenHello) {
  const std::vector<std::function<void(Response&)>> breaks = {
      [](Response& hello) { hello.id = 1; },
      [](Response& hello) { hello.ok = false; },
      [](Response& hello) { hello.nonce.reset(); },
      [](Response& hello) { hello.nonce = ""; },
      [](Response& hello) { hello.protocol_version.reset(); },
      [](Response& hello) { hello.protocol_version = 2; }};
  for (const auto& break_it : breaks) {
    replies = MockReplies();
    break_it(replies.hello);
    log = std::make_shared<TransportLog>();
    auto session = open();
    ASSERT_FALSE(session);
    EXPECT_EQ(session.refusal().code, protocol::kProtocol.code);
    EXPECT_TRUE(log->closed.has_value());
    EXPECT_TRUE(log->written.empty());
  }
}

TEST_F(SessionTest, AHelloThatNeverComesIsATimeoutAndTheEngineIsKilled) {
  auto session = open([](ScriptedTransport& t) { t.failing_read = {1, Kind::deadline_passed}; });
  ASSERT_FALSE(session);
  EXPECT_EQ(session.refusal().code, kHelloTimeout.code);
  EXPECT_EQ(log->closed, LineTransport::Ending::at_once);
}

TEST_F(SessionTest, AHelloThatIsNoJsonCarriesThePostMortem) {
  auto transport =
      std::make_unique<ScriptedTransport>(std::vector<std::string>{"{\"id\":0,"}, nullptr, log);
  auto session = Session::open(world, std::move(transport));
  ASSERT_FALSE(session);
  EXPECT_EQ(session.refusal().code, protocol::kJson.code);
  EXPECT_THAT(session.refusal().detail, ::testing::HasSubstr("response line undecodable"));
  EXPECT_THAT(session.refusal().detail, ::testing::HasSubstr("(the engine exited by itself"));
}

// --- ids, nonce, order of checks

TEST_F(SessionTest, NumbersRequestsFromOne) {
  Session session = opened();
  ASSERT_TRUE(session.prefill(kPrompt));
  ASSERT_TRUE(session.prefill(kPrompt));
  ASSERT_TRUE(session.close_phase());
  EXPECT_EQ(log->written[0], "{\"id\":1,\"kind\":\"prefill\",\"prompt_tokens\":[1,2,3]}\n");
  EXPECT_EQ(log->written[2], "{\"id\":3,\"kind\":\"phase_diagnostics\"}\n");
}

TEST_F(SessionTest, TheEnginesOwnErrorComesBeforeItsWrongNonce) {
  replies.change = [](const Request&, Response& response) {
    response.id = -1;
    response.ok = false;
    response.nonce = "other";
    response.error = "cannot parse /home/u/x/y.json";
  };
  Session session = opened();
  auto token = session.prefill(kPrompt);
  EXPECT_THAT(token.refusal().detail, ::testing::HasSubstr("cannot parse <path>/y.json"));
  expect_fault(token, protocol::kEngine, session, *log);
}

TEST_F(SessionTest, NonceComesBeforeIdAndIdBeforeOk) {
  struct Case {
    bool nonce, id, ok;
    const RefusalInfo* info;
  };
  const Case cases[] = {{false, false, false, &protocol::kNonceMismatch},
                        {true, false, false, &protocol::kProtocol},
                        {true, true, false, &protocol::kEngine}};
  for (const auto& c : cases) {
    replies = MockReplies();
    log = std::make_shared<TransportLog>();
    replies.change = [c](const Request&, Response& response) {
      if (!c.nonce) response.nonce = *response.nonce + "-WRONG";
      if (!c.id) ++response.id;
      response.ok = c.ok;
    };
    Session session = opened();
    expect_fault(session.prefill(kPrompt), *c.info, session, *log);
  }
}

TEST_F(SessionTest, AnErrorWithoutTextIsUnknown) {
  replies.change = [](const Request&, Response& response) { response.ok = false; };
  Session session = opened();
  EXPECT_THAT(session.prefill(kPrompt).refusal().detail, ::testing::HasSubstr("unknown error"));
}

// --- lines

TEST_F(SessionTest, SkipsNoiseAndNothingElse) {
  replies.change_lines = [](const Request&, std::vector<std::string>& lines) {
    lines.insert(lines.begin(), {"", "loading", "[1,2]", " \t\r", "\xEF\xBB\xBF{\"id\":1}"});
  };
  Session session = opened();
  EXPECT_TRUE(session.prefill(kPrompt));
}

TEST_F(SessionTest, AnUnknownKeyIsUndecodable) {
  replies.change_lines = [](const Request&, std::vector<std::string>& lines) {
    lines[0].insert(lines[0].size() - 1, ",\"tok_per_s\":9000");
  };
  Session session = opened();
  auto token = session.prefill(kPrompt);
  EXPECT_THAT(token.refusal().detail, ::testing::HasSubstr("response line undecodable"));
  expect_fault(token, protocol::kJson, session, *log);
}

TEST_F(SessionTest, ASecondAnswerIsFoundBeforeTheNextRequestIsSent) {
  replies.change_lines = [](const Request&, std::vector<std::string>& lines) {
    lines.push_back(lines[0]);
  };
  Session session = opened();
  ASSERT_TRUE(session.prefill(kPrompt));
  expect_fault(session.prefill(kPrompt), kUnsolicitedLine, session, *log);
  EXPECT_EQ(log->written.size(), 1U);
}

TEST_F(SessionTest, ALogLineBetweenRequestsIsNoMessage) {
  replies.change_lines = [](const Request&, std::vector<std::string>& lines) {
    lines.push_back("prefill took 12 ms");
  };
  Session session = opened();
  ASSERT_TRUE(session.prefill(kPrompt));
  EXPECT_TRUE(session.prefill(kPrompt));
}

TEST_F(SessionTest, EachWayAReadCanFailHasItsName) {
  const std::map<Kind, const RefusalInfo*> names = {{Kind::end_of_stream, &protocol::kProtocol},
                                                    {Kind::deadline_passed, &kRunTimeout},
                                                    {Kind::too_long, &protocol::kLineTooLong},
                                                    {Kind::interrupted, &kRunInterrupted},
                                                    {Kind::failed, &kIo}};
  for (const auto& [kind, info] : names) {
    for (int nth = 2; nth <= 4; ++nth) {  // the hello was read 1
      replies = MockReplies();
      log = std::make_shared<TransportLog>();
      const Kind fault = kind;
      Session session = opened([&](ScriptedTransport& t) { t.failing_read = {nth, fault}; });
      Result<int64_t> last = session.prefill(kPrompt);
      for (int done = 2; done < nth; ++done) {
        ASSERT_TRUE(last);
        last = session.prefill(kPrompt);
      }
      expect_fault(last, *info, session, *log);
    }
  }
}

TEST_F(SessionTest, EachWayAWriteCanFailHasItsName) {
  const RefusalInfo* names[] = {&kIo, &kRunTimeout, &kRunInterrupted};
  for (const auto* info : names) {
    for (int nth = 1; nth <= 3; ++nth) {
      replies = MockReplies();
      log = std::make_shared<TransportLog>();
      Session session = opened(
          [&](ScriptedTransport& t) { t.failing_write.emplace(nth, Refusal(*info, "test")); });
      Result<int64_t> last = session.prefill(kPrompt);
      for (int done = 1; done < nth; ++done) {
        ASSERT_TRUE(last);
        last = session.prefill(kPrompt);
      }
      expect_fault(last, *info, session, *log);
    }
  }
}

TEST_F(SessionTest, TheTwoLeadingClausesStayStable) {
  Session session = opened([](ScriptedTransport& t) { t.failing_read = {2, Kind::end_of_stream}; });
  EXPECT_EQ(session.prefill(kPrompt).refusal().detail,
            "prefill: stream ended without a response (the engine exited by itself with code 3; "
            "stderr was empty)");
}

// --- deadlines

TEST_F(SessionTest, EveryWaitHasADeadline) {
  ScriptedTransport* transport = nullptr;
  Session session = opened([&](ScriptedTransport& t) { transport = &t; });
  EXPECT_EQ(transport->read_deadlines.at(0), world.clock + std::chrono::seconds(900));
  ASSERT_TRUE(session.prefill(kPrompt));
  EXPECT_EQ(transport->read_deadlines.at(1), world.clock + std::chrono::seconds(900));
  const Instant deadline = world.clock + std::chrono::milliseconds(5);
  session.arm(deadline, std::chrono::milliseconds(5));
  ASSERT_TRUE(session.prefill(kPrompt));
  EXPECT_EQ(transport->read_deadlines.at(2), deadline);
  session.disarm();
  ASSERT_TRUE(session.close_phase());
  EXPECT_EQ(transport->read_deadlines.at(3), world.clock + std::chrono::seconds(900));
  EXPECT_EQ(world.readings, 0);  // no reading of a measurement
}

// --- verbs

TEST_F(SessionTest, EightLogitsOrNothing) {
  for (const size_t count : {size_t{7}, size_t{9}, size_t{0}}) {
    replies = MockReplies();
    log = std::make_shared<TransportLog>();
    replies.change = [count](const Request&, Response& response) {
      response.top_logits->resize(count);
    };
    Session session = opened();
    expect_fault(session.correctness_begin(kPrompt), protocol::kProtocol, session, *log);
  }
}

TEST_F(SessionTest, AMissingFieldIsAProtocolFault) {
  replies.change = [](const Request&, Response& response) {
    response.token.reset();
    response.seed_token.reset();
    response.tokens.reset();
    response.top_logits.reset();
  };
  const std::vector<std::function<Status(Session&)>> verbs = {
      [](Session& s) -> Status {
        TRY_DO(s.prefill(kPrompt));
        return {};
      },
      [](Session& s) -> Status {
        TRY_DO(s.decode_begin(kPrompt, std::nullopt));
        return {};
      },
      [](Session& s) -> Status {
        TRY_DO(s.decode_step(1));
        return {};
      },
      [](Session& s) -> Status {
        TRY_DO(s.correctness(kPrompt, 2));
        return {};
      },
      [](Session& s) -> Status {
        TRY_DO(s.correctness_begin(kPrompt));
        return {};
      },
      [](Session& s) -> Status {
        TRY_DO(s.correctness_step(1));
        return {};
      },
      [](Session& s) -> Status {
        TRY_DO(s.free_decode_begin(kPrompt, std::nullopt));
        return {};
      },
      [](Session& s) -> Status {
        TRY_DO(s.free_decode_run(2));
        return {};
      }};
  for (const auto& verb : verbs) {
    log = std::make_shared<TransportLog>();
    Session session = opened();
    auto status = verb(session);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.refusal().code, protocol::kProtocol.code);
    EXPECT_TRUE(session.discarded());
  }
}

TEST_F(SessionTest, MissingCountersOfAFreeRunAreAProtocolFault) {
  const std::vector<std::function<void(Response&)>> drops = {
      [](Response& r) { r.acceptance_lengths.reset(); },
      [](Response& r) { r.drafted_total.reset(); }, [](Response& r) { r.accepted_total.reset(); },
      [](Response& r) { r.committed_total.reset(); }};
  for (const auto& drop : drops) {
    log = std::make_shared<TransportLog>();
    Session session = opened();
    ASSERT_TRUE(session.free_decode_begin(kPrompt, std::nullopt));
    auto response = session.free_decode_run(3);
    ASSERT_TRUE(response);
    drop(*response);
    expect_fault(session.account_of(*std::move(response)), protocol::kProtocol, session, *log);
  }
}

TEST_F(SessionTest, WhatTheHelloDoesNotOfferIsRefusedWithoutAByte) {
  replies.hello.capabilities.reset();
  {
    Session session = opened();
    expect_fault(session.free_decode_begin(kPrompt, std::nullopt),
                 protocol::kCapabilityNotAdvertised, session, *log);
    EXPECT_TRUE(log->written.empty());
  }
  replies = MockReplies();
  replies.hello.spec_modes = {{"serial"}};
  for (const bool free_run : {false, true}) {
    log = std::make_shared<TransportLog>();
    Session session = opened();
    const auto spec = protocol::mtp_spec(2);
    auto seed =
        free_run ? session.free_decode_begin(kPrompt, spec) : session.decode_begin(kPrompt, spec);
    expect_fault(seed, protocol::kSpecModeNotRunnable, session, *log);
    EXPECT_TRUE(log->written.empty());
  }
}

TEST_F(SessionTest, AskingAheadLeavesTheSessionUsable) {
  replies.hello.capabilities.reset();
  replies.hello.spec_modes = {{"serial"}};
  Session session = opened();
  EXPECT_EQ(session.require_capability(protocol::kFreeRunDecode).refusal().code,
            protocol::kCapabilityNotAdvertised.code);
  EXPECT_EQ(session.require_spec(protocol::mtp_spec(2)).refusal().code,
            protocol::kSpecModeNotRunnable.code);
  EXPECT_TRUE(session.require_spec(protocol::serial_spec()));
  EXPECT_TRUE(session.prefill(kPrompt));
}

TEST_F(SessionTest, ASpecThatIsNotConfirmedEndsTheSession) {
  const std::vector<std::function<void(Response&)>> echoes = {
      [](Response& r) { r.effective_spec.reset(); },
      [](Response& r) { r.effective_spec = protocol::mtp_spec(3); },
      [](Response& r) { r.effective_spec = protocol::serial_spec(); }};
  for (const auto& echo : echoes) {
    for (const bool free_run : {false, true}) {
      replies = MockReplies();
      log = std::make_shared<TransportLog>();
      replies.change = [&](const Request&, Response& response) { echo(response); };
      Session session = opened();
      const auto spec = protocol::mtp_spec(2);
      auto seed =
          free_run ? session.free_decode_begin(kPrompt, spec) : session.decode_begin(kPrompt, spec);
      expect_fault(seed, protocol::kSpecEchoDivergence, session, *log);
    }
  }
}

TEST_F(SessionTest, AnEchoThatNobodyAskedForIsIgnored) {
  replies.change = [](const Request& request, Response& response) {
    if (request.kind == "free_decode_begin") response.effective_spec = protocol::mtp_spec(6);
  };
  Session session = opened();
  EXPECT_TRUE(session.free_decode_begin(kPrompt, std::nullopt));
}

// --- barrier

/// Runs one phase of a kind and returns how many timed steps it issued.
int64_t run_phase(Session& session, const std::string& kind) {
  if (kind == "prefill") {
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(session.prefill(kPrompt));
    return 0;
  }
  if (kind == "correctness") {
    EXPECT_TRUE(session.correctness(kPrompt, 4));
    return 0;
  }
  const bool decode = kind == "decode";
  if (decode) {
    EXPECT_TRUE(session.decode_begin(kPrompt, std::nullopt));
  } else {
    EXPECT_TRUE(session.correctness_begin(kPrompt));
  }
  for (int i = 0; i < 5; ++i) {
    if (decode) {
      EXPECT_TRUE(session.decode_step(i));
    } else {
      EXPECT_TRUE(session.correctness_step(i));
    }
  }
  return 6;
}

TEST_F(SessionTest, CountsTimedStepsOfEachKindOfPhase) {
  Session session = opened();
  for (const bool begin : {true, false}) {  // a successful close resets the counter too
    for (const auto* kind : {"prefill", "decode", "correctness", "anchor"}) {
      if (begin) session.begin_phase();
      const int64_t issued = run_phase(session, kind);
      EXPECT_EQ(session.issued_steps(), issued) << kind;
      auto close = session.close_phase();
      ASSERT_TRUE(close) << kind << close.refusal().detail;
      EXPECT_EQ(session.issued_steps(), 0);
    }
  }
}

TEST_F(SessionTest, AWrongOrMissingCountIsAMismatch) {
  for (const auto* kind : {"prefill", "decode", "correctness", "anchor"}) {
    for (const int error : {-1, 1, 0}) {  // 0: not reported
      replies = MockReplies();
      log = std::make_shared<TransportLog>();
      replies.change = [error](const Request& request, Response& response) {
        if (request.kind != "phase_diagnostics") return;
        if (error == 0) response.completed_work.reset();
        if (error != 0) *response.completed_work += error;
      };
      Session session = opened();
      session.begin_phase();
      run_phase(session, kind);
      expect_fault(session.close_phase(), kCompletedWorkMismatch, session, *log);
    }
  }
}

TEST_F(SessionTest, StepsAreCountedEvenWhenTheSessionIsGone) {
  Session session = opened([](ScriptedTransport& t) { t.failing_read = {2, Kind::failed}; });
  session.begin_phase();
  EXPECT_FALSE(session.decode_step(1));
  EXPECT_FALSE(session.decode_step(1));
  EXPECT_EQ(session.issued_steps(), 2);
}

TEST_F(SessionTest, CacheMemoryMayBeZeroOrAbsentAndNothingElse) {
  for (const auto& cache : {std::optional<int64_t>(0), std::optional<int64_t>()}) {
    replies = MockReplies();
    log = std::make_shared<TransportLog>();
    replies.change = [&](const Request& request, Response& response) {
      if (request.kind == "phase_diagnostics") response.cache_memory = cache;
    };
    Session session = opened();
    ASSERT_TRUE(session.prefill(kPrompt));
    auto close = session.close_phase();
    ASSERT_TRUE(close);
    EXPECT_EQ(close->drain_reported, cache.has_value());
    EXPECT_EQ(close->peak_ram_gb, 20.25);
  }
}

TEST_F(SessionTest, TheDrainIsCheckedBeforeTheCounterAndAtEachClose) {
  int closes = 0;
  replies.change = [&](const Request& request, Response& response) {
    if (request.kind != "phase_diagnostics" || ++closes < 3) return;
    response.cache_memory = 4096;
    response.completed_work = 77;
  };
  Session session = opened();
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(session.prefill(kPrompt));
    ASSERT_TRUE(session.close_phase());
  }
  ASSERT_TRUE(session.prefill(kPrompt));
  expect_fault(session.close_phase(), kAllocatorCacheNotDrained, session, *log);
}

/// A free run of 10 tokens in rounds [3,1,3,1,2] whose account `change` may break.
Result<PhaseClose> close_run(Session& session, const std::function<void(FreeRun&)>& change) {
  EXPECT_TRUE(session.free_decode_begin(kPrompt, std::nullopt));
  auto response = session.free_decode_run(10);
  EXPECT_TRUE(response);
  auto run = session.account_of(*std::move(response));
  EXPECT_TRUE(run);
  run->acceptance_lengths = {3, 1, 3, 1, 2};
  run->drafted_total = 10;
  run->accepted_total = 6;
  run->verify_replay_disagreements = 4;  // = drafted - accepted: the most that is possible
  change(*run);
  return session.close_free_run(*run, 10);
}

TEST_F(SessionTest, AFreeRunMustAddUp) {
  struct Case {
    std::string word;  // in the detail; empty = accepted
    std::function<void(FreeRun&)> change;
    std::optional<int64_t> work;  // completed_work; R + 1 = 6 when honest
  };
  const auto same = [](FreeRun&) {};
  const std::vector<Case> cases = {
      {"", same, 6},
      {"",
       [](FreeRun& r) {
         r.acceptance_lengths = {3, 1, 0, 4, 2};
       },
       6},  // a round of zero is legal
      {"token count", [](FreeRun& r) { r.tokens.pop_back(); }, 6},
      {"committed total", [](FreeRun& r) { ++r.committed_total; }, 6},
      {"drafted < accepted", [](FreeRun& r) { r.drafted_total = 5; }, 6},
      {"acceptance sum", [](FreeRun& r) { r.acceptance_lengths[0] = 4; }, 6},
      {"round counter", same, 5},
      {"round counter", same, 7},
      {"round counter", same, std::nullopt},
      {"disagreements", [](FreeRun& r) { r.verify_replay_disagreements = 5; }, 6}};
  for (const auto& c : cases) {
    replies = MockReplies();
    log = std::make_shared<TransportLog>();
    replies.change = [&](const Request& request, Response& response) {
      if (request.kind == "phase_diagnostics") response.completed_work = c.work;
    };
    Session session = opened();
    auto close = close_run(session, c.change);
    if (c.word.empty()) {
      EXPECT_TRUE(close) << close.refusal().detail;
    } else {
      EXPECT_THAT(close.refusal().detail, ::testing::HasSubstr(c.word));
      expect_fault(close, scoring::kFreeRunConsistency, session, *log);
    }
  }
}

TEST_F(SessionTest, TheDrainIsCheckedBeforeTheAccount) {
  replies.change = [](const Request& request, Response& response) {
    if (request.kind == "phase_diagnostics") response.cache_memory = 1;
  };
  Session session = opened();
  auto close = close_run(session, [](FreeRun& r) { r.committed_total = 1; });
  expect_fault(close, kAllocatorCacheNotDrained, session, *log);
}

TEST(SameResident, AbsentAndPresentDiffer) {
  protocol::Hello none, first, other;
  first.resident = {10, 99};
  other.resident = {10, 100};
  EXPECT_TRUE(check_same_resident(none, none));
  EXPECT_TRUE(check_same_resident(first, first));
  EXPECT_EQ(check_same_resident(none, first).refusal().code,
            "resident_identity_changed_within_window");
  EXPECT_EQ(check_same_resident(first, other).refusal().code,
            "resident_identity_changed_within_window");
}

}  // namespace
}  // namespace assay::runner
