// Package abi is the contract between axishost and its guests: the names, message types, codes and
// limits that both sides compile against. SPEC.md beside this file is normative; where this package and
// the specification differ, the specification is right and this package has a bug.
//
// It refuses to know anything of the host, of wazero or of the event log, imports only a handful of pure
// standard packages, and builds both natively and for wasip1. Guests import it (through abi/guest), and
// plugins, host and cmd import it; it imports none of them.
package abi
