package triggers

import "strings"

// Nearest returns the name that got misspells, or "". Case and the signs - and _ do not
// matter.
func Nearest(got string, names []string) string {
	best, least := "", 0
	for _, name := range names {
		g, w := plain(got), plain(name)
		if d := distance(g, w); near(g, w, d) && (best == "" || d < least) {
			best, least = name, d
		}
	}
	return best
}

func plain(name string) string {
	return strings.NewReplacer("-", "", "_", "", ".", "").Replace(strings.ToLower(name))
}

// near reports whether a name at this distance in letters is a misspelling, or has the same
// start or end.
func near(got, want string, letters int) bool {
	const long = 8
	switch {
	case letters == 0, len(want) > 4 && letters <= 1+len(want)/long, len(want) > 2 && len(want) <= 4 && letters <= 1 && len(got) > 2:
		return true
	case len(got) < long || len(want) < long:
		return false
	}
	return got[:long] == want[:long] || strings.HasSuffix(got, want) || strings.HasSuffix(want, got)
}

// distance is the number of letters to insert, delete, replace, or exchange with the next.
func distance(a, b string) int {
	before, row := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next := make([]int, len(b)+1)
		next[0] = i + 1
		for j := range len(b) {
			replace := row[j]
			if a[i] != b[j] {
				replace++
			}
			next[j+1] = min(replace, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}
