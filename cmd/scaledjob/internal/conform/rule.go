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

// likely returns two rules: those whose vectors have the most wrong answers, and are the most similar to a
// small question. Each vector is for one rule, and a small question has only what makes a difference.
func (q question) likely(vectors []vector, wrong map[string]bool) (likely []rule) {
	scores, counts := map[int]float64{}, map[int]float64{}
	for _, v := range vectors {
		counts[v.rule]++
		if scores[v.rule] += q.similarity(v.question); wrong[v.name] {
			scores[v.rule] += 30
		}
	}
	delete(scores, 0) // of a release
	numbers := slices.SortedFunc(maps.Keys(scores), func(a, b int) int {
		return cmp.Or(cmp.Compare(scores[b]/counts[b], scores[a]/counts[a]), cmp.Compare(a, b))
	})
	page := rules()
	for _, n := range numbers[:min(2, len(numbers))] {
		likely = append(likely, page[n])
	}
	return likely
}

// ruleOf returns the number of the rule with the name of a strategy, or else of the choice of a strategy.
func ruleOf(page []rule, strategy any) int {
	if number := slices.IndexFunc(page, func(r rule) bool { return r.Name == strategy }); number > 0 {
		return number
	}
	return slices.IndexFunc(page, func(r rule) bool { return r.Name == "The choice" })
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
