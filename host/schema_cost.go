package host

import "strings"

// costOf counts the subschemas that a schema comes to once its own references are followed, each as often as
// it is referred to; a reference to a schema that is being counted counts once. It stops counting past
// maxSchemaCost.
func costOf(document any) int {
	c := &schemaCost{root: document, known: map[string]int{}, open: map[string]bool{}}
	return c.of(document)
}

type schemaCost struct {
	root  any
	known map[string]int // by reference
	open  map[string]bool
}

func (c *schemaCost) of(node any) int {
	total := 1
	switch n := node.(type) {
	case []any:
		for _, item := range n {
			total = min(total+c.of(item), maxSchemaCost+1)
		}
	case map[string]any:
		for key, item := range n {
			if ref, ok := item.(string); ok && (key == "$ref" || key == "$dynamicRef") {
				total += c.reference(ref)
			} else if key != "$defs" && key != "definitions" {
				total += c.of(item)
			}
			total = min(total, maxSchemaCost+1)
		}
	}
	return total
}

func (c *schemaCost) reference(ref string) int {
	if n, ok := c.known[ref]; ok {
		return n
	}
	target, ok := c.resolve(ref)
	if !ok || c.open[ref] {
		return 1
	}
	c.open[ref] = true
	n := c.of(target)
	c.open[ref] = false
	c.known[ref] = n
	return n
}

// resolve follows a JSON pointer within the document. References by anchor or id count once: a schema that
// only has those is bounded by the time of a validation.
func (c *schemaCost) resolve(ref string) (any, bool) {
	path, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return c.root, ref == "#"
	}
	at := c.root
	for step := range strings.SplitSeq(path, "/") {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		node, isMap := at.(map[string]any)
		if !isMap {
			return nil, false
		}
		if at, ok = node[step]; !ok {
			return nil, false
		}
	}
	return at, true
}
