package triggers

import (
	"math"
	"strings"
)

// Nearest returns the name that got misspells, or "". Case and the signs - and _ do not
// matter. A long text misspells none.
func Nearest(got string, names []string) string {
	letters := math.MaxInt
	return NearestWithin(got, names, &letters)
}

// NearestWithin is Nearest, and "" if it takes more comparisons of letters than are left. It deducts them.
func NearestWithin(got string, names []string, budget *int) string {
	const longest = 253
	best, shortest := "", 0
	if len(got) > longest {
		return ""
	}
	g := plain(got)
	for _, name := range names {
		w := plain(name)
		if len(name) > longest || (max(len(g)-len(w), len(w)-len(g)) > letters(w) && !related(g, w)) {
			*budget -= len(w)
			continue // without the cost of the distance
		}
		if *budget -= len(g) * len(w); *budget < 0 {
			return ""
		}
		if d := distance(g, w); (misspells(g, w, d) || related(g, w)) && (best == "" || d < shortest) {
			best, shortest = name, d
		}
	}
	return best
}

func plain(name string) string { return signs.Replace(strings.ToLower(name)) }

var signs = strings.NewReplacer("-", "", "_", "", ".", "")

const long = 8 // letters of a name

// Misspells reports whether a few letters make the difference.
func Misspells(got, want string) bool {
	g, w := plain(got), plain(want)
	return misspells(g, w, distance(g, w))
}

func misspells(got, want string, distance int) bool {
	return distance == 0 || (len(want) > 4 && distance <= letters(want)) || (len(want) > 2 && len(want) <= 4 && distance <= 1 && len(got) > 2)
}

// letters is the most by which a misspelling differs.
func letters(want string) int { return 1 + len(want)/long }

// related reports whether two long names have the same start or end, and that is most of both.
func related(got, want string) bool {
	common := 0
	for common < len(got) && common < len(want) && got[common] == want[common] {
		common++
	}
	if strings.HasSuffix(got, want) || strings.HasSuffix(want, got) {
		common = min(len(got), len(want))
	}
	return common >= long && 3*common >= 2*max(len(got), len(want))
}

// distance is the number of letters to insert, delete, replace, or exchange with the next.
func distance(a, b string) int {
	const short = 40 // a name that needs no memory of its own
	var rows [3][short]int
	before, row, next := rows[0][:], rows[1][:], rows[2][:]
	if len(b) >= short {
		before, row, next = make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	}
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
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
		before, row, next = row, next, before
	}
	return row[len(b)]
}
