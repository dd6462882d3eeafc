// Documents that the tests of the score document, the seal and the verifier share.
#pragma once

#include <vector>

#include "scoring/score_document.h"

namespace assay::scoring {

/// The three worked pairs of docs/formats/score.md, "Pairs".
std::vector<MeasuredPair> worked_pairs();
PairedTerms worked_terms(PairCombine combine);
/// A finished, passing paired run over `pairs`, with golden, weights and correctness filled in
/// where the gates passed.
ScoreDocument sealed_pairs(PairCombine combine, std::vector<MeasuredPair> pairs = worked_pairs(),
                           PairOrder order = PairOrder::control_first);
/// A document in which every optional metric is set. Its values mean nothing.
ScoreDocument every_metric_set();

}  // namespace assay::scoring
