package why

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"

	"github.com/scaledjob/scaledjob/keda"
)

// signs are the messages that only some of the last eight releases write, as their sources show.
var signs = []struct {
	text        string
	first, last string
}{
	{`"Number of pending Jobs "`, "", "2.14"},
	{`"Number of pending Jobs"`, "2.15", ""},
	{"No need to create jobs", "2.14.1", ""},
	{`"selected": "eager"`, "2.15", ""},
	{`"selected":"eager"`, "2.15", ""},
	{`"activeTriggers"`, "2.19", ""},
	{"error during scaling", "2.20", ""},
	{"ScaledJob is paused, stopping scaling loop", "", "2.19"},
	{"Unpausing ScaledJob", "", "2.19"},
	{"RolloutStrategy: immediate, No jobs owned", "2.14.1", ""},
	{"please us Rollout.Strategy", "", "2.19"},
	{"please use Rollout.Strategy", "2.20", ""},
}

var versionText = regexp.MustCompile(`KEDA Version: v?([0-9]+\.[0-9]+(?:\.[0-9]+)?)`)

// bound reads the release that the log says, and narrows those that can have written it.
func (l *Log) bound(raw line, e entry) {
	if e.kind == version && e.err != "" {
		l.Version = strings.Clone(e.err)
	}
	for _, s := range signs {
		if strings.Contains(raw.text, s.text) {
			l.narrow(s.first, s.last)
		}
	}
	if e.kind == effective && e.count == 0 { // since 2.14.1: no need to create
		l.narrow("", "2.14.0")
	}
	if e.kind == unreadable && strings.Contains(raw.text, "and activity") && raw.isError() {
		l.narrow("2.14.1", "")
	}
}

func (l *Log) narrow(first, last string) {
	// of equal releases, the one with a patch is narrower
	if c := compare(first, l.First); first != "" && (l.First == "" || c > 0 || (c == 0 && len(first) > len(l.First))) {
		l.First = first
	}
	if c := compare(last, l.Last); last != "" && (l.Last == "" || c < 0 || (c == 0 && len(last) > len(l.Last))) {
		l.Last = last
	}
}

// compare compares releases; a missing patch is the first for a first release and any for a last.
func compare(a, b string) int {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(x), len(y)) {
		m, _ := strconv.Atoi(x[i])
		n, _ := strconv.Atoi(y[i])
		if c := cmp.Compare(m, n); c != 0 {
			return c
		}
	}
	return 0
}

// Candidates returns the releases that can have written the log, oldest first.
func (l *Log) Candidates() []keda.Profile {
	if l.candidates != nil {
		return l.candidates
	}
	for _, name := range keda.Releases() {
		if compare(name, "2.14") < 0 || (l.First != "" && compare(name, l.First) < 0) || (l.Last != "" && compare(name, l.Last) > 0) {
			continue
		}
		if p, err := keda.Release(name); err == nil {
			l.candidates = append(l.candidates, p)
		}
	}
	return l.candidates
}
