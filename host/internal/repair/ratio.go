package repair

import "unicode/utf8"

// alike tells whether ratio(a, b) is at least threshold. Texts whose lengths alone rule that out are not
// compared: a key comes from the model and may be of any length.
func alike(a, b string, threshold float64) bool {
	left, right := utf8.RuneCountInString(a), utf8.RuneCountInString(b)
	return similarity(min(left, right), left+right) >= threshold && ratio(a, b) >= threshold
}

// ratio is the similarity of two texts after Ratcliff and Obershelp, from 0 to 1: twice the matching
// characters over all characters. It is that of Python's difflib.SequenceMatcher without its heuristic for
// long texts, and like it not symmetric: ties go to what is first in a.
func ratio(a, b string) float64 {
	left, right := []rune(a), []rune(b)
	return similarity(matching(left, right), len(left)+len(right))
}

func similarity(matches, total int) float64 {
	if total == 0 {
		return 1
	}
	return 2 * float64(matches) / float64(total)
}

// pair is a part of either text that is still to be compared.
type pair struct{ a, b []rune }

// matching counts the characters of the longest common block, and of those left and right of it in turn.
func matching(a, b []rune) int {
	total := 0
	for todo := []pair{{a, b}}; len(todo) > 0; {
		last := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		i, j, n := longest(last.a, last.b)
		if n == 0 {
			continue
		}
		total += n
		todo = append(todo, pair{last.a[:i], last.b[:j]}, pair{last.a[i+n:], last.b[j+n:]})
	}
	return total
}

// longest finds the longest common block, n characters at i in a and at j in b; of several the first in a,
// and then in b.
func longest(a, b []rune) (i, j, n int) {
	// ending[y] is the length of the common block that ends at the current place of a and before y in b.
	ending := make([]int, len(b)+1)
	for x := range a {
		// From the right, so that ending[y] is still that of the place before in a.
		for y := len(b) - 1; y >= 0; y-- {
			if a[x] != b[y] {
				ending[y+1] = 0
				continue
			}
			k := ending[y] + 1
			ending[y+1] = k
			// Going leftwards, an equal block at the same place of a is the earlier one in b.
			if start := x - k + 1; k > n || k == n && start == i {
				i, j, n = start, y-k+1, k
			}
		}
	}
	return i, j, n
}
