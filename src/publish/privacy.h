// What a record must not say: secrets, whose machine it was, whose home folder.
//
// An envelope goes through here when everything is in it and before it is checked, shown or stored
// (commands/conversion), so that no way into it goes around this: not the tool's file, not a flag,
// not a file beside it.
// Threads   pure functions.
// Cost      one look at each byte of each text.
#pragma once

#include <string>

#include "publish/envelope.h"

namespace assay::publish {

struct PrivacyOptions {
  bool keep_host_names = false;
};

/// Masks secrets (base/secrets.h) in the head, in names, metrics, units, and in keys and values of
/// tags; cuts the owner's name out of paths under home folders ("/home/ann/x" is "~/x"); takes out
/// the names of hosts. A tag whose key is masked to one that its row has already is left out.
void make_private(Envelope& envelope, const PrivacyOptions& options = {});

/// The same for a text that stands beside envelopes.
void make_private(std::string& text);

/// Takes the names of hosts out of the machine's facts: a public record says what a machine is, not
/// whose.
void remove_host_names(Envelope& envelope);

}  // namespace assay::publish
