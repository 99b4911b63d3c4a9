package conform

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/scaledjob/scaledjob/testdata"
)

// A rule of the specification.
type rule struct {
	Number int    `json:"number"`
	Name   string `json:"name"`
	Text   string `json:"-"`
}

// rules returns the rules of the specification; rule n is at n.
func rules() []rule {
	list := []rule{{}}
	page, _ := testdata.Files.ReadFile("SPECIFICATION.md") // is embedded
	for text := range strings.Lines(string(page)) {
		head := strconv.Itoa(len(list)) + ". **"
		switch {
		case strings.HasPrefix(text, head):
			name, _, _ := strings.Cut(strings.TrimPrefix(text, head), "**")
			list = append(list, rule{len(list), strings.Trim(name, ".:"), strings.ReplaceAll(strings.TrimSpace(text), "**", "")})
		case strings.HasPrefix(text, " ") && len(list) > 1:
			list[len(list)-1].Text += " " + strings.ReplaceAll(strings.TrimSpace(text), "**", "")
		}
	}
	return list
}

// likely returns the two rules whose vectors are the most similar to a small question; wrong answers
// to them weigh: each vector is for one rule, and a small question has only what makes a difference.
func (q question) likely(vectors []vector, wrong map[string]bool) []int {
	sums, counts := map[int]float64{}, map[int]float64{}
	for _, v := range vectors {
		sums[v.rule] += q.similarity(v.question)
		if wrong[v.name] {
			sums[v.rule] += 10
		}
		counts[v.rule]++
	}
	delete(counts, 0) // of a release
	mean := func(number int) float64 { return sums[number] / counts[number] }
	numbers := slices.SortedStableFunc(maps.Keys(counts), func(a, b int) int {
		return cmp.Or(cmp.Compare(mean(b), mean(a)), cmp.Compare(a, b))
	})
	return numbers[:min(2, len(numbers))]
}

// words matches fields, values and negative numbers.
var words = regexp.MustCompile(`[A-Za-z]+|:-`)

// similarity is the number of words of a question that another one has, less for a long one.
func (q question) similarity(other question) float64 {
	counts, common, others := map[string]int{}, 0, 0
	for _, word := range words.FindAllString(q.String(), -1) {
		counts[word]++
	}
	for _, word := range words.FindAllString(other.String(), -1) {
		if counts[word]--; counts[word] >= 0 {
			common++
		} else {
			others++
		}
	}
	return float64(common) - float64(others)/10
}
