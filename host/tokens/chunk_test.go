package tokens

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// chunksOf counts a text with an encoder that keeps what it is given.
func chunksOf(text string) []string {
	var chunks []string
	count(text, func(chunk string) int {
		chunks = append(chunks, chunk)
		return 1
	})
	return chunks
}

// TestWorkIsBounded holds what the encoder is given against the limit: its work is quadratic in a chunk.
func TestWorkIsBounded(t *testing.T) {
	const size = 1 << 20
	for name, unit := range map[string]string{
		"letters":           "a",
		"spaces":            " ",
		"wide characters":   "汉",
		"four bytes":        "😀",
		"bad bytes":         "\xff",
		"continuations":     "\x80",
		"cut characters":    "\xe6\xb1",
		"words":             "The quick brown fox. ",
		"a boundary, a run": "a" + strings.Repeat("=", chunkLimit-1),
		"a run, a boundary": strings.Repeat("=", chunkLimit-1) + "a ",
		"letters and digit": "a1",
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Repeat(unit, size/len(unit))
			chunks := chunksOf(text)
			whole := string([]rune(text))
			require.Equal(t, whole, strings.Join(chunks, ""), "nothing is lost")
			for i, chunk := range chunks {
				require.LessOrEqual(t, len(chunk), chunkLimit)
				require.True(t, utf8.ValidString(chunk), "chunk %d is cut within a character", i)
			}
			require.LessOrEqual(t, len(chunks), 2*len(whole)/(chunkLimit-utf8.UTFMax)+1, "chunks are not tiny")
		})
	}
}

func TestShortTextIsOneChunk(t *testing.T) {
	assert.Empty(t, chunksOf(""))
	assert.Len(t, chunksOf(strings.Repeat("a ", chunkLimit/2)), 1)
	assert.Len(t, chunksOf(strings.Repeat("a ", chunkLimit/2)+"a"), 2)
}

func TestCut(t *testing.T) {
	run := func(n int) string { return strings.Repeat("a", n) }
	for name, c := range map[string]struct {
		text string
		want int
	}{
		"before the space":             {run(1000) + " " + run(1000), 1000},
		"before the first space":       {run(1000) + "   " + run(1000), 1000},
		"before the full stop":         {run(1000) + ".\n\n" + run(1000), 1000},
		"between letters and digits":   {run(1000) + strings.Repeat("1", 1000), 1000},
		"exactly at the limit":         {run(chunkLimit) + " b", chunkLimit},
		"not beyond the limit":         {run(chunkLimit+1) + " b", chunkLimit},
		"not before an apostrophe":     {run(1000) + "'" + run(1000), chunkLimit},
		"not before a combining mark":  {run(1000) + "\u0301" + run(1000), chunkLimit},
		"not after white space":        {strings.Repeat(" ", 1000) + run(1000), chunkLimit},
		"not within a wide character":  {strings.Repeat("汉", 1000), chunkLimit - chunkLimit%3},
		"at the last one of many":      {strings.Repeat("ab ", 1000), 1022},
		"after a letter of two bytes":  {strings.Repeat("é", 500) + "，" + strings.Repeat("é", 500), 1000},
		"the whole text when it fits":  {"ab cd", 5},
		"between digits and a dot":     {strings.Repeat("7", 1000) + "." + run(1000), 1000},
		"no place at all: whole runes": {strings.Repeat("😀", 1000), chunkLimit},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, cut(c.text))
		})
	}
}

// ordinary is text as conversations have it, with places to cut, and none longer than a chunk without.
var ordinary = map[string]string{
	"English":  "It's a truth universally acknowledged, that a single man in possession of 12,000 pounds must be in want of a wife.\n\n",
	"Chinese":  "中文文本没有空格，但是有标点符号。模型要数一数有多少个词元；超过窗口就会出错！\n",
	"Japanese": "これは日本語の文章です。トークンの数を数えます。「引用」もあります。\n",
	"German":   "Übergrößenträger müßten's wissen: Donaudampfschifffahrtsgesellschaft, 3 % Rabatt.\r\n",
	"Hindi":    "यह हिंदी में एक वाक्य है। इसमें मात्राएँ हैं।\n",
	"JSON":     "{\n    \"id\": 12345,\n    \"name\": \"Zoë's\",\n    \"tags\": [\"a\", \"b\"],\n    \"ok\": true\n}\n",
	"code":     "\tfor i := 0; i < len(xs); i++ {\n\t\tsum += xs[i] // it's all\n\t}\n\n",
	"base64":   "aGVsbG8gd29ybGQhIHRoaXMgaXMgYmFzZTY0IHRleHQ5OTk5K2FiYy9kZWY=",
}

// TestChunksOfOrdinaryTextCountAsTheWhole is the reason why cutting is sound.
func TestChunksOfOrdinaryTextCountAsTheWhole(t *testing.T) {
	for encoding, v := range vocabularies {
		encode := v.load()
		for name, unit := range ordinary {
			text := strings.Repeat(unit, 6*chunkLimit/len(unit))
			require.Greater(t, len(chunksOf(text)), 5)
			assert.Equal(t, int64(encode(text)), count(text, encode), "%s in %s", name, encoding)
		}
	}
}

// TestChunksOfAnyMixtureCountAsTheWhole looks for a place to cut that the encodings' patterns do not end at.
func TestChunksOfAnyMixtureCountAsTheWhole(t *testing.T) {
	alphabet := []rune("abcXYZ  \n\r\t'’.,!/0123½456789_-日本語éßǅʰ\u0301\u0903ก่ſ'sTt'Rell\u00a0\u2028🙂\ufffd")
	random := rand.New(rand.NewPCG(1, 2))
	for encoding, v := range vocabularies {
		encode := v.load()
		for range 60 {
			runes := make([]rune, 2*chunkLimit)
			for i := range runes {
				runes[i] = alphabet[random.IntN(len(alphabet))]
			}
			text := string(runes)
			require.Greater(t, len(chunksOf(text)), 1)
			require.Equal(t, int64(encode(text)), count(text, encode), "%s of %q", encoding, text)
		}
	}
}

// TestRunsCountAboutAsTheWhole covers text without a place to cut: a token for each cut at most.
func TestRunsCountAboutAsTheWhole(t *testing.T) {
	for encoding, v := range vocabularies {
		encode := v.load()
		for _, unit := range []string{"a", "ab", "xyzq", " ", "\n", "=", "7", "é", "汉", "的是在", "क्ष", "ก", "😀"} {
			text := strings.Repeat(unit, 4*chunkLimit/len(unit))
			whole, cuts := int64(encode(text)), int64(len(chunksOf(text))-1)
			require.Positive(t, cuts)
			got := count(text, encode)
			assert.GreaterOrEqual(t, got, whole, "%q in %s", unit, encoding)
			assert.LessOrEqual(t, got, whole+cuts, "%q in %s", unit, encoding)
		}
	}
}
