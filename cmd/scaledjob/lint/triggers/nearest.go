package triggers

import "strings"

// Nearest returns the name that got misspells, or "". Case and the signs - and _ do not
// matter. A long text, or one of many names, misspells none.
func Nearest(got string, names []string) string {
	const longest, most = 253, 1000
	best, least := "", 0
	if len(got) > longest || len(names) > most {
		return ""
	}
	for _, name := range names {
		if len(name) > longest {
			continue
		}
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

const long = 8 // letters of a name

// Misspells reports whether a few letters make the difference.
func Misspells(got, want string) bool {
	g, w := plain(got), plain(want)
	return misspells(g, w, distance(g, w))
}

func misspells(got, want string, letters int) bool {
	return letters == 0 || len(want) > 4 && letters <= 1+len(want)/long || len(want) > 2 && len(want) <= 4 && letters <= 1 && len(got) > 2
}

// near reports whether a name at this distance in letters is a misspelling, or has the same
// start or end.
func near(got, want string, letters int) bool {
	if misspells(got, want, letters) {
		return true
	}
	if len(got) < long || len(want) < long {
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
