package host

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/axishost/axishost/plugins"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

const (
	// maxPatterns bounds the regular expressions of a manifest, in instructions of their programs: one costs
	// 0.6 µs and 180 bytes to compile, and ".{1000}" has a thousand. An ordinary pattern has 10 to 200.
	maxPatterns = 100_000
	// maxRegexText bounds texts that a schema of an older draft wants to be regular expressions: such an
	// argument is parsed, and parsing one of a megabyte takes 128 MB.
	maxRegexText = 1_000
)

// patterns compiles the regular expressions of a manifest, each once, within a bound on what they come to.
// The library compiles them nowhere else: it takes those for a check that they are some from here too.
type patterns struct {
	size  int
	known map[string]*pattern
	over  error // says which pattern went over the bound
}

// pattern is a regular expression that knows how large its program is: matching takes time in proportion to that and to
// the text.
type pattern struct {
	*regexp.Regexp
	size int
}

func (p *patterns) compile(text string) (jsonschema.Regexp, error) {
	if known, ok := p.known[text]; ok {
		return known, nil
	}
	refuse := func() error {
		p.over = fmt.Errorf("pattern %q: the patterns of one manifest are too large to be compiled", plugins.Printable(text, 60))
		return p.over
	}
	if p.size += parseSize(text); p.size > maxPatterns {
		return nil, refuse()
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	size := programSize(tree)
	if p.size += size; p.size > maxPatterns {
		return nil, refuse()
	}
	compiled, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	if p.known == nil {
		p.known = map[string]*pattern{}
	}
	p.known[text] = &pattern{compiled, size}
	return p.known[text], nil
}

// parseSize bounds what parsing takes, where that is more than the text tells: a class of Unicode is a table of up to
// 1,300 numbers, and a range beyond ASCII that ignores case is walked character by character (125,000 of them take 10 ms).
func parseSize(text string) int {
	size := len(text) + 1_000*(strings.Count(text, `\p`)+strings.Count(text, `\P`))
	beyond := strings.ContainsFunc(text, func(r rune) bool { return r > 0x7f }) || hasCode(text)
	if beyond && strings.Contains(text, "(?") {
		size += 10_000 * strings.Count(text, "-")
	}
	return size
}

// hasCode tells whether a pattern may write characters as codes, such as \x{1e943} or \123.
func hasCode(text string) bool {
	for i := 0; i+1 < len(text); i++ {
		if text[i] == '\\' && strings.IndexByte("xpP01234567", text[i+1]) >= 0 {
			return true
		}
	}
	return false
}

// programSize is how many instructions a regular expression compiles to, or some more. The parser has bounded its depth, and
// each chain of repetitions to a thousand.
func programSize(re *syntax.Regexp) int {
	size := 0
	for _, sub := range re.Sub {
		size += programSize(sub)
	}
	switch re.Op {
	case syntax.OpLiteral:
		return len(re.Rune)
	case syntax.OpConcat:
		return size
	case syntax.OpAlternate:
		return size + len(re.Sub)
	case syntax.OpRepeat:
		return (size + 1) * max(re.Min+1, re.Max)
	default:
		return size + 2
	}
}

// regexFormat is the format "regex" for arguments: the library's own compiles whatever comes.
var regexFormat = &jsonschema.Format{Name: "regex", Validate: func(v any) error {
	text, ok := v.(string)
	switch {
	case !ok:
		return nil
	case len(text) > maxRegexText || parseSize(text) > maxPatterns:
		return errors.New("it is too long to be checked")
	}
	_, err := syntax.Parse(text, syntax.Perl)
	return err
}}
