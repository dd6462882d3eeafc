#include "engine/kernels/math.h"

namespace assay::engine::kernels {
namespace {

constexpr double kLn2 = 0x1.62e42fefa39efp-1;
constexpr double kMagic = 6755399441055744.0;  // 1.5 * 2^52

// Nearest integer of |value| < 2^51, ties to even.
double nearest(double value) {
  return (value + kMagic) - kMagic;
}

// ln(m 2^e) with m in [sqrt(1/2), sqrt 2): 2 atanh(f), f = (m - 1) / (m + 1), |f| <= 0.1716.
double log_natural(double x) {
  const int64_t bits = std::bit_cast<int64_t>(x);
  int64_t e = (bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0xF'FFFF'FFFF'FFFF) | 0x3FF0'0000'0000'0000);
  if (m > 0x1.6a09e667f3bcdp+0) {
    m *= 0.5;
    ++e;
  }
  const double f = (m - 1.0) / (m + 1.0);
  const double f2 = f * f;
  double series = 0.0;  // f^23 / 23 is below 2^-60
  for (int k = 21; k >= 1; k -= 2) series = std::fma(series, f2, 1.0 / k);
  return std::fma(static_cast<double>(e), kLn2, 2.0 * f * series);
}

double exp_natural(double x) {
  const double n = nearest(x / kLn2);
  double r = std::fma(-n, kLn2, x);
  r = std::fma(-n, 0x1.abc9e3b39803fp-56, r);  // ln 2 - kLn2
  double p = 1.0;                              // r^15 / 15! is below 2^-60
  for (int k = 14; k >= 1; --k) p = std::fma(p, r / k, 1.0);
  const int64_t k = static_cast<int64_t>(n);
  return p * std::bit_cast<double>((k + 1023) << 52);
}

}  // namespace

CosSin cos_sin(double theta) noexcept {
  // theta = k pi/2 + r, pi/2 in three pieces: k has at most 30 bits, each product is exact in fma.
  const double k = nearest(theta * 0x1.45f306dc9c883p-1);
  double r = std::fma(-k, 0x1.921fb54442d18p+0, theta);
  r = std::fma(-k, 0x1.1a62633145c07p-54, r);
  r = std::fma(-k, -0x1.f1976b7ed8fbcp-110, r);
  const double r2 = r * r;
  double sine = 0.0;  // r^19 / 19! is below 2^-60 for |r| <= pi/4
  for (int j = 17; j >= 3; j -= 2) sine = std::fma(sine, -r2 / ((j + 1) * (j + 2)), 1.0);
  sine = std::fma(r * (-r2 / 6.0), sine, r);
  double cosine = 0.0;
  for (int j = 18; j >= 0; j -= 2) cosine = std::fma(cosine, -r2 / ((j + 1) * (j + 2)), 1.0);
  switch (static_cast<int64_t>(k) & 3) {
    case 0: return {cosine, sine};
    case 1: return {-sine, cosine};
    case 2: return {-cosine, -sine};
    default: return {sine, -cosine};
  }
}

double power(double base, double exponent) noexcept {
  return exp_natural(exponent * log_natural(base));
}

}  // namespace assay::engine::kernels
