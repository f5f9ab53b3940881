package repair

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestRatio holds ratios against those of Python's difflib.SequenceMatcher(None, a, b).ratio().
func TestRatio(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want float64
	}{
		{"", "", 1.0},
		{"a", "", 0.0},
		{"abcd", "bcde", 0.75},
		{"query", "querry", 0.9090909090909091},
		{"file_path", "filepath", 0.9411764705882353},
		{"filename", "file_name", 0.9411764705882353},
		{"city", "town", 0.25},
		{"max_results", "maxResults", 0.8571428571428571},
		{"private", "Thread", 0.3076923076923077},
		{"tide", "diet", 0.25},
		{"diet", "tide", 0.5},
		{"qabxcd", "abycdf", 0.6666666666666666},
		{"größe", "grosse", 0.5454545454545454},
		{"日本語", "日本", 0.8},
		{"aaaa", "aa", 0.6666666666666666},
		{"limit", "limits", 0.9090909090909091},
		{"url", "uri", 0.6666666666666666},
		{"abxab", "ab", 0.5714285714285714},
		{"kitten", "sitting", 0.6153846153846154},
		{"search_query", "query", 0.5882352941176471},
		{"b_aaac", "abaa__aba_", 0.5},
		{"a", "a_ab", 0.4},
		{"b", "_bacb", 0.3333333333333333},
		{"bc", "aa", 0.0},
		{"b__c__ccbb", "bac_c_caa_bc", 0.5454545454545454},
		{"__a", "accc__aac_a", 0.42857142857142855},
		{"c", "_c_ca_cba_a", 0.16666666666666666},
		{"cbb_", "_ab__cb", 0.36363636363636365},
		{"_c_c_bbabbbba_", "bccab_ccba____", 0.42857142857142855},
		{"a__abab", "bacaaaba", 0.5333333333333333},
		{"aab_bc", "c_aa__", 0.5},
		{"_cabacc_", "babcbacaccbcbc", 0.45454545454545453},
		{"bbb_bb_caac", "cbc_ccab", 0.42105263157894735},
		{"b_", "cb_a", 0.6666666666666666},
		{"ab", "acba", 0.6666666666666666},
	} {
		assert.Equal(t, c.want, ratio(c.a, c.b), "%q and %q", c.a, c.b)
	}
}

func TestAlike(t *testing.T) {
	assert.True(t, alike("abcd", "bcde", 0.75), "the threshold itself is enough")
	assert.False(t, alike("abcd", "bcde", 0.7500001))
	assert.False(t, alike("diet", "tide", 0.72))
	assert.False(t, alike(strings.Repeat("query", 1<<20), "query", 0.72), "far too long to be compared")
}
