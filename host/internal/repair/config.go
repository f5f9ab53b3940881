package repair

import "fmt"

// Config says which rules apply. Its keys are those of the manifest and of the configuration file; the zero
// value repairs nothing.
type Config struct {
	// Enabled turns repair on.
	Enabled bool `json:"enabled"`
	// Aliases renames keys that a property of the schema lists under x-agentic-aliases.
	Aliases bool `json:"aliases"`
	// Defaults adds missing properties that have a default in the schema.
	Defaults bool `json:"defaults"`
	// Coerce turns scalars into the type that the schema wants.
	Coerce bool `json:"coerce"`
	// Normalize strips white space and quotes from the ends of keys.
	Normalize bool `json:"normalize"`
	// Fuzzy renames the one unknown key to the one missing property when they are alike.
	Fuzzy bool `json:"fuzzy"`
	// Threshold is how alike, from just above 0 to 1, which is the same.
	Threshold float64 `json:"threshold"`
}

// DefaultConfig gives the product's defaults: off, and once turned on every rule.
func DefaultConfig() Config {
	return Config{Aliases: true, Defaults: true, Coerce: true, Normalize: true, Fuzzy: true, Threshold: 0.72}
}

// Validate reports a threshold that fuzzy matching cannot use.
func (c *Config) Validate() error {
	// Negated, so that it refuses NaN as well.
	if c.Fuzzy && !(c.Threshold > 0 && c.Threshold <= 1) {
		return fmt.Errorf("threshold must be above 0 and at most 1; it is %v", c.Threshold)
	}
	return nil
}
