package main

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// find gives the entry of a key: exactly that one, else the only one that differs in nothing but case and
// the spaces around it.
func find(table map[string]string, key string) (value string, ok bool) {
	if value, ok = table[key]; ok {
		return value, true
	}
	matches, folded := 0, fold(key)
	for other, v := range table {
		if fold(other) == folded {
			value = v
			matches++
		}
	}
	if matches != 1 {
		return "", false
	}
	return value, true
}

func fold(key string) string { return strings.ToLower(strings.TrimSpace(key)) }

// nearest lists the table's keys, those that are most like key first and equals in the order of the alphabet.
// For an empty key that is the order of the alphabet.
func nearest(table map[string]string, key string) []string {
	keys := slices.Sorted(maps.Keys(table))
	if key == "" {
		return keys
	}
	distances, folded := make(map[string]int, len(keys)), []rune(fold(key))
	for _, other := range keys {
		distances[other] = distance(folded, []rune(fold(other)))
	}
	slices.SortStableFunc(keys, func(a, b string) int { return cmp.Compare(distances[a], distances[b]) })
	return keys
}

// distance counts the insertions, deletions and replacements that turn a into b (Levenshtein).
func distance(a, b []rune) int {
	row := make([]int, len(b)+1) // the distances of a[:i] to every b[:j]
	for j := range row {
		row[j] = j
	}
	for i, from := range a {
		diagonal := row[0]
		row[0] = i + 1
		for j, to := range b {
			replaced := diagonal
			if from != to {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
