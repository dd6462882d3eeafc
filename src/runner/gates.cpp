#include "runner/gates.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "runner/refusals.h"

namespace assay::runner {
namespace {

using scoring::CoolRecord;
using scoring::Platform;
using scoring::QuiescenceRecord;

constexpr Duration kCoolPatience = std::chrono::seconds(180);   // before giving up is allowed
constexpr Duration kCoolStagnation = std::chrono::seconds(90);  // without a new minimum
constexpr double kCoolProgressC = 0.25;                         // a new minimum is this much lower
constexpr double kCoolNearC = 1.0;
constexpr int kFailedSamplesMax = 3;
constexpr Duration kFailedSampleWait = std::chrono::seconds(2);

std::string or_unread(const std::optional<double>& value, int decimals) {
  return value ? format_fixed(*value, decimals) : std::string("unread");
}

std::optional<double> sample(const Reader& reader) {
  if (!reader) return std::nullopt;
  const auto value = reader();
  return value && std::isfinite(*value) ? value : std::nullopt;
}

Result<QuiescenceRecord> wait_until_quiet(World& world, const GateReaders& readers,
                                          const GatePlan& plan) {
  const bool has_gpu = plan.platform != Platform::cpu;
  const Instant start = world.now();
  for (;;) {
    const auto load = sample(readers.load_1min);
    const auto gpu = has_gpu ? sample(readers.gpu_utilisation) : std::nullopt;
    const Duration waited = world.now() - start;
    const bool quiet = load && *load < plan.load_max && (!has_gpu || (gpu && *gpu < plan.gpu_max));
    if (quiet) return QuiescenceRecord{"passed", to_seconds(waited), load, gpu, std::nullopt};
    if (waited >= plan.quiescence_timeout) {
      return Refusal(
          kQuiescenceTimeout,
          cat("after ", format_fixed(to_seconds(waited), 0), " s the one-minute load is ",
              or_unread(load, 2), " (passes below ", format_fixed(plan.load_max, 2), ")",
              has_gpu ? cat(", GPU utilisation is ", or_unread(gpu, 2), " (passes below ",
                            format_fixed(plan.gpu_max, 2), ")")
                      : std::string()));
    }
    TRY_DO(world.sleep(std::min(plan.quiescence_interval, plan.quiescence_timeout - waited)));
  }
}

CoolRecord cool_skipped(std::string_view reason, Duration waited = Duration::zero()) {
  return {"skipped", to_seconds(waited), std::nullopt, std::string(reason)};
}

Result<CoolRecord> wait_until_cool(World& world, const GateReaders& readers, const GatePlan& plan) {
  const Instant start = world.now();
  Instant last_progress = start;
  std::optional<double> lowest;
  int failed = 0;
  for (;;) {
    const auto temperature = sample(readers.gpu_temp_c);
    const Instant now = world.now();
    const Duration waited = now - start;
    if (!temperature) {
      if (!readers.gpu_temp_c || ++failed >= kFailedSamplesMax) {
        if (!plan.official) return cool_skipped(kSkipNoTemperature, waited);
        return Refusal(
            kTemperatureReaderMissing,
            cat("official mode requires a GPU temperature reader; ",
                readers.gpu_temp_c ? "it gave no reading three times" : "there is none"));
      }
      TRY_DO(world.sleep(kFailedSampleWait));
      continue;
    }
    failed = 0;
    if (*temperature <= plan.cool_limit_c) {
      return CoolRecord{"passed", to_seconds(waited), temperature, std::nullopt};
    }
    if (!lowest || *temperature <= *lowest - kCoolProgressC) {
      lowest = temperature;
      last_progress = now;
    }
    const bool stagnant = waited >= kCoolPatience && now - last_progress >= kCoolStagnation;
    if (stagnant || waited >= plan.cool_ceiling) {
      return Refusal(kGateRejected,
                     cat("GPU is hot and not cooling down (", format_fixed(*temperature, 1),
                         " C, limit ", format_fixed(plan.cool_limit_c, 1), " C, waited ",
                         format_fixed(to_seconds(waited), 0), " s)"));
    }
    const bool near = *temperature - plan.cool_limit_c <= kCoolNearC;
    TRY_DO(world.sleep(near ? plan.cool_interval_near : plan.cool_interval));
  }
}

Result<CoolRecord> cool_gate(World& world, const GateReaders& readers, const GatePlan& plan) {
  if (plan.platform == Platform::cpu) return cool_skipped(kSkipCpuTrack);
  if (!plan.thermal_reader) return cool_skipped(kSkipNoThermalReader);
  auto first = wait_until_cool(world, readers, plan);
  if (first || first.refusal().code != kGateRejected.code) return first;
  return wait_until_cool(world, readers, plan);  // the one refusal that is tried again, once
}

/// The largest number among the lines of a program's output (one line a GPU).
std::optional<double> largest_line(World& world, std::vector<std::string> argv) {
  CommandRequest request;
  request.argv = std::move(argv);
  request.environment = world.environment();
  const auto result = world.run_command(request);
  if (!result || result->exit_code != 0) return std::nullopt;
  std::optional<double> largest;
  for (const auto line : split(result->out, '\n')) {
    const auto value = parse_double(trim(line));
    if (value && (!largest || *value > *largest)) largest = value;
  }
  return largest;
}

std::optional<double> macmon_temperature(World& world, const std::string& program) {
  CommandRequest request;
  request.argv = {program, "pipe", "-s", "1", "-i", "500"};
  request.environment = world.environment();
  const auto result = world.run_command(request);
  if (!result || result->exit_code != 0) return std::nullopt;
  const auto document = json::parse(trim(result->out));
  if (!document || !document->is_object()) return std::nullopt;
  const json::Value* temp = document->find("temp");
  if (temp == nullptr || !temp->is_object()) return std::nullopt;
  const json::Value* value = temp->find("gpu_temp_avg");
  if (value == nullptr || !value->is_number()) return std::nullopt;
  const auto celsius = value->as_double("temp.gpu_temp_avg");
  if (!celsius) return std::nullopt;
  return *celsius;
}

std::vector<std::string> nvidia_query(std::string_view field) {
  return {"nvidia-smi", cat("--query-gpu=", field), "--format=csv,noheader,nounits"};
}

}  // namespace

GateReaders machine_readers(World& world, Platform platform) {
  GateReaders readers;
  readers.load_1min = [&world]() -> std::optional<double> {
    const auto text = world.read_file("/proc/loadavg");
    if (!text) return std::nullopt;
    return parse_double(split(*text, ' ').front());
  };
  if (platform == Platform::cpu) return readers;

  readers.gpu_utilisation = [&world]() -> std::optional<double> {
    const auto percent = largest_line(world, nvidia_query("utilization.gpu"));
    if (!percent) return std::nullopt;
    return *percent / 100.0;
  };
  const Environment environment = world.environment();
  if (const auto command = find_variable(environment, "MLXFAST_GPU_TEMP_CMD");
      command && !trim(*command).empty()) {
    readers.gpu_temp_c = [&world, line = std::string(*command)] {
      return largest_line(world, {"/bin/sh", "-c", line});
    };
  } else if (const auto macmon = find_variable(environment, "MLXFAST_MACMON_BIN");
             macmon && !trim(*macmon).empty()) {
    readers.gpu_temp_c = [&world, program = std::string(*macmon)] {
      return macmon_temperature(world, program);
    };
  } else {
    readers.gpu_temp_c = [&world] { return largest_line(world, nvidia_query("temperature.gpu")); };
  }
  return readers;
}

Result<scoring::GateRecord> pass_gates(World& world, const GateReaders& readers,
                                       const GatePlan& plan) {
  scoring::GateRecord record;
  if (plan.operator_off) {
    record.quiescence = {"skipped", 0.0, std::nullopt, std::nullopt, std::string(kSkipOperator)};
    record.cool = cool_skipped(kSkipOperator);
    return record;
  }
  TRY(quiescence, wait_until_quiet(world, readers, plan));
  TRY(cool, cool_gate(world, readers, plan));
  record.quiescence = std::move(quiescence);
  record.cool = std::move(cool);
  return record;
}

}  // namespace assay::runner
