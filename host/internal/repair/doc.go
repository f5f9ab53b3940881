// Package repair mends the arguments of a tool call by the tool's JSON schema, for models that nearly follow
// it: a quoted key, a known alias, a slip of the pen in a name, a missing default, a number sent as a text.
// It is off by default, and says which rules it applied so that the log can.
//
// It is pure: a function of the schema, the text and the configuration. It refuses to repair texts that are
// not JSON, looks at the properties of the top level alone, and judges nothing: the repaired arguments are
// validated like any others. Whether a strict tool may be repaired is the caller's decision.
//
// Invariants: a text that no rule applies to comes back byte for byte; what comes back of a JSON object is a
// JSON object; values that no rule touches keep their bytes, numbers their digits; keys keep their order,
// and added ones stand sorted at the end; a declared key is never renamed; of two keys that become the same
// the first stays.
//
// Repair once for each call. A second pass may find more, because a default that was filled in may leave the
// one property that an unknown key can be taken for.
//
// Package core imports it.
package repair
