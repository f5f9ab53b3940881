package plugins

import (
	"errors"
	"fmt"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/plugins/internal/wasmbin"
)

// ErrPacked says that a module already has a manifest, and that PackOptions.Replace was not set.
var ErrPacked = errors.New("already packed: use --replace to put another manifest in")

// PackOptions of Pack.
type PackOptions struct {
	// Replace allows a module that has a manifest already; it gets the new one.
	Replace bool
}

// Pack puts manifest, verbatim, into module as its manifest section. The result is judged as Inspect would:
// what this host would refuse is an error, with the *RefusedError that says why.
func Pack(module, manifest []byte, opts PackOptions) ([]byte, error) {
	i := &Inspection{bytes: module}
	for _, check := range []func(*Inspection, []byte) []string{checkSize, checkStructure} {
		if reasons := check(i, module); len(reasons) > 0 {
			return nil, i.Refuse(RefusedFormat, reasons...)
		}
	}
	m := i.module
	if _, err := abi.ParseManifest(manifest); err != nil {
		return nil, fmt.Errorf("manifest: %w", oneLine(err))
	}
	for _, c := range m.Customs {
		if c.Name != abi.ManifestSection {
			continue
		}
		if !opts.Replace {
			return nil, ErrPacked
		}
		var err error
		if m, err = wasmbin.Parse(m.WithoutCustom(abi.ManifestSection)); err != nil {
			return nil, err
		}
		break
	}
	packed := m.AppendCustom(abi.ManifestSection, manifest)
	if _, err := Inspect(packed); err != nil {
		return nil, err
	}
	return packed, nil
}
