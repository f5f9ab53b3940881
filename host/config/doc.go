// Package config merges a task's configuration from its sources, in a fixed order: the product's defaults,
// the recipe's manifest, a file, the environment, flags. Maps merge, lists replace, and a key that is not
// known is an error that names the nearest one that is, if one is near.
//
// It reads no file and no environment itself: trees are handed to it. It refuses keys that the design names
// and this version does not serve, rather than ignoring them. Foreign text in its errors is bounded and
// fit for one line. cmd imports it.
package config
