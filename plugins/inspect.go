package plugins

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/plugins/internal/wasmbin"
)

// Inspection is what a plugin's bytes say, as far as they could be read.
type Inspection struct {
	// Digest is the SHA-256 of the file, in hexadecimal, and Bytes its size. Both are empty for a file over
	// abi.MaxModuleBytes, which is never read whole.
	Digest   string
	Bytes    int
	Manifest *abi.Manifest // nil when there is none that can be read
	// Imports and Exports list functions as SPEC.md writes them, imports with their module in front.
	Imports []string
	Exports []string
	// MemoryPages is the memory that the module starts with, in pages of 64 KiB.
	MemoryPages uint32

	bytes   []byte
	module  *wasmbin.Module
	refusal *RefusedError
}

// File is what was inspected. It must not be changed.
func (i *Inspection) File() []byte { return i.bytes }

// name is how messages call the plugin: quoted name and version when the manifest can be read.
func (i *Inspection) name() string {
	if i.Manifest == nil || i.Manifest.Name == "" {
		return "file"
	}
	return fmt.Sprintf("\"%s\" %s", clip(i.Manifest.Name), clip(i.Manifest.Version))
}

// Inspect judges a plugin by its bytes, in the order of SPEC.md, and runs none of its code. The inspection
// is never nil, and keeps b, which must not change; the error is nil or a *RefusedError.
func Inspect(b []byte) (*Inspection, error) {
	i := &Inspection{bytes: b}
	if len(b) <= abi.MaxModuleBytes {
		digest := sha256.Sum256(b)
		i.Digest, i.Bytes = hex.EncodeToString(digest[:]), len(b)
	}
	for _, check := range []struct {
		class RefusalClass
		judge func(*Inspection, []byte) []string
	}{
		{RefusedFormat, checkSize}, {RefusedFormat, checkStructure}, {RefusedFormat, checkIdentity},
		{RefusedVersion, checkABI}, {RefusedVersion, checkNeeds}, {RefusedImport, checkBoundary},
	} {
		if reasons := check.judge(i, b); len(reasons) > 0 {
			i.refusal = i.Refuse(check.class, reasons...)
			i.readManifest()
			return i, i.refusal
		}
	}
	return i, nil
}

// Refuse makes the error of a plugin that is not run, for those reasons.
func (i *Inspection) Refuse(class RefusalClass, reasons ...string) *RefusedError {
	slices.Sort(reasons)
	e := &RefusedError{Class: class, Plugin: i.name(), Digest: i.Digest, Reasons: slices.Compact(reasons)}
	if i.Manifest != nil {
		e.Name = i.Manifest.Name
	}
	return e
}

// readManifest reads the manifest of a module that was refused before it was looked at, so that whoever looks
// into the file sees what can be seen. The refusal does not name the plugin by it, for it is not judged.
func (i *Inspection) readManifest() {
	if sections := i.manifests(); i.Manifest == nil && len(sections) == 1 {
		i.Manifest, _ = abi.ParseManifest(sections[0])
	}
}

// manifests are the manifest sections; none of a file that is no module.
func (i *Inspection) manifests() [][]byte {
	if i.module == nil {
		return nil
	}
	var sections [][]byte
	for _, c := range i.module.Customs {
		if c.Name == abi.ManifestSection {
			sections = append(sections, c.Data)
		}
	}
	return sections
}

func checkSize(_ *Inspection, b []byte) []string {
	switch {
	case len(b) == 0:
		return []string{"is empty"}
	case len(b) > abi.MaxModuleBytes:
		return []string{fmt.Sprintf("is over the limit of %d MiB", abi.MaxModuleBytes>>20)}
	}
	return nil
}

func checkStructure(i *Inspection, b []byte) []string {
	m, err := wasmbin.Parse(b)
	switch {
	case errors.Is(err, wasmbin.ErrNotWasm):
		return []string{fmt.Sprintf("is not WebAssembly (it starts with %q)", b[:min(len(b), 8)])}
	case errors.Is(err, wasmbin.ErrComponent):
		return []string{"is a WebAssembly component; axishost runs core modules"}
	case err != nil:
		return []string{"is not a valid module: " + err.Error()}
	}
	i.module = m
	for _, imp := range m.Imports {
		text := clip(imp.Module) + "." + clip(imp.Name)
		if imp.Kind == wasmbin.ExternFunc {
			text += imp.Type.Type()
		}
		i.Imports = append(i.Imports, text)
	}
	for _, e := range m.Exports {
		if e.Kind == wasmbin.ExternFunc {
			i.Exports = append(i.Exports, clip(e.Name)+e.Type.Type())
		}
	}
	if len(m.Memories) > 0 {
		i.MemoryPages = m.Memories[0].Min
	}
	return badShape(m)
}

// badShape tells what no manifest could make good.
func badShape(m *wasmbin.Module) []string {
	var reasons []string
	imported := slices.ContainsFunc(m.Imports, func(i wasmbin.Import) bool { return i.Kind == wasmbin.ExternMemory })
	switch {
	case len(m.Memories) == 0 && imported:
		reasons = append(reasons, "imports its memory; it must have exactly one of its own")
	case len(m.Memories) != 1:
		reasons = append(reasons, fmt.Sprintf("has %d memories of its own; exactly one is allowed", len(m.Memories)))
	}
	if m.HasStart {
		reasons = append(reasons, "has a start section, which would run before it is judged; use _initialize")
	}
	return reasons
}

// checkIdentity looks for the marker and the manifest. A command module and one of another major are named
// as such, since "no marker" would send their author looking in the wrong place.
func checkIdentity(i *Inspection, _ []byte) []string {
	sections := i.manifests()
	if len(sections) == 1 {
		manifest, err := abi.ParseManifest(sections[0])
		i.Manifest = manifest
		if err != nil {
			return splitLines("has a bad manifest: ", err)
		}
	}
	marker := i.export(abi.MarkerExport)
	switch {
	case len(sections) > 1:
		return []string{fmt.Sprintf("has %d manifest sections; exactly one is allowed", len(sections))}
	case i.export(abi.StartExport) != nil:
		return []string{"is a command module (it exports _start); build a reactor, with Go: go build -buildmode=c-shared"}
	case marker == nil:
		return []string{i.withoutMarker()}
	case len(sections) == 0:
		return []string{"was not packed; run: axishost plugin pack --manifest axis.json FILE.wasm"}
	}
	return nil
}

func (i *Inspection) withoutMarker() string {
	for _, e := range i.module.Exports {
		if major, ok := strings.CutPrefix(e.Name, "axis_abi_v"); ok {
			return fmt.Sprintf("is made for axis ABI %s (host has %s); use another axishost", clip(major), abi.Release)
		}
	}
	return "is not an axis plugin (it does not export " + abi.MarkerExport + "); see abi/SPEC.md"
}

func (i *Inspection) export(name string) *wasmbin.Export {
	for n, e := range i.module.Exports {
		if e.Name == name {
			return &i.module.Exports[n]
		}
	}
	return nil
}

func checkABI(i *Inspection, _ []byte) []string {
	v := i.Manifest.ABI
	if v.Major != abi.Major {
		return []string{fmt.Sprintf("needs axis ABI %d.%d (host has %s); use another axishost", v.Major, v.Minor, abi.Release)}
	}
	if v.Minor > abi.Minor {
		reason := fmt.Sprintf("needs axis ABI %d.%d (host has %s)", v.Major, v.Minor, abi.Release)
		if missing := i.missingOperations(); len(missing) > 0 {
			reason += ": missing " + strings.Join(missing, ", ")
		}
		return []string{reason + "; use a newer axishost"}
	}
	return nil
}

// missingOperations lists the required operations that this host does not perform.
func (i *Inspection) missingOperations() []string {
	var missing []string
	for _, op := range i.Manifest.Requires {
		if info, ok := abi.LookupOperation(op); !ok || !info.Served {
			missing = append(missing, clip(string(op)))
		}
	}
	return missing
}

// checkNeeds names what the plugin cannot do without and this host does not serve.
func checkNeeds(i *Inspection, _ []byte) []string {
	var reasons []string
	for _, op := range i.missingOperations() {
		if _, known := abi.LookupOperation(abi.Operation(op)); known {
			reasons = append(reasons, fmt.Sprintf("requires %s, which ABI %s specifies and this host does not serve yet", op, abi.Release))
		} else {
			reasons = append(reasons, fmt.Sprintf("requires %s, which is not in ABI %s", op, abi.Release))
		}
	}
	for _, h := range i.Manifest.DeclaredHooks() {
		if info, _ := abi.LookupHook(h); !info.Served {
			reasons = append(reasons, fmt.Sprintf("declares hook %s, which ABI %s specifies and this host does not call yet", h, abi.Release))
		}
	}
	return reasons
}

// splitLines makes one reason of each line of a joined error.
func splitLines(prefix string, err error) []string {
	var out []string
	for line := range strings.SplitSeq(err.Error(), "\n") {
		out = append(out, prefix+line)
	}
	return out
}

// oneLine joins the lines of a joined error.
func oneLine(err error) error {
	return errors.New(strings.ReplaceAll(err.Error(), "\n", "; "))
}

// clip shortens a guest's name before it is put into a message, and makes it printable.
func clip(s string) string {
	const most = 100
	q := fmt.Sprintf("%q", s[:min(len(s), most)])
	return q[1 : len(q)-1]
}
