package why

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"

	"github.com/scaledjob/scaledjob/keda"
)

// signs are the messages that only some releases write, as their sources show.
var signs = []struct {
	text        string
	first, last string
}{
	{`"Number of pending Jobs "`, "", "2.14"},
	{`"Number of pending Jobs"`, "2.15", ""},
	{"No need to create jobs", "2.14.1", ""},
	{`"queueLength":`, "2.5", "2.7"},
	{`"selected": "eager"`, "2.15", ""},
	{`"selected":"eager"`, "2.15", ""},
	{`"activeTriggers"`, "2.19", ""},
	{`Error getting scaler.IsActive, but continue`, "2.5", "2.10"},
	{`Error getting scaler metrics, but continue`, "2.5", "2.10"},
	{`Error getting scaler metrics and activity`, "2.11", ""},
	{"error during scaling", "2.20", ""},
	{"ScaledJob is paused, stopping scaling loop", "2.11", "2.19"},
	{"Unpausing ScaledJob", "2.11", "2.19"},
	{"RolloutStrategy: ", "2.5", ""},
	{"RolloutStrategy: immediate, No jobs owned", "2.14.1", ""},
	{"please us Rollout.Strategy", "2.8", "2.19"},
	{"please use Rollout.Strategy", "2.20", ""},
	{`"Number of jobs to delete"`, "2.4", "2.4"},
}

var versionText = regexp.MustCompile(`KEDA Version: v?([0-9]+\.[0-9]+(?:\.[0-9]+)?)`)

// bound reads the release that the log says, and narrows those that can have written it.
func (l *Log) bound(e entry) {
	if m := versionText.FindStringSubmatch(e.text); m != nil {
		l.Version = m[1]
	}
	for _, s := range signs {
		if strings.Contains(e.text, s.text) {
			l.narrow(s.first, s.last)
		}
	}
	if e.kind == effective && e.number == 0 { // since 2.14.1: no need to create
		l.narrow("", "2.14.0")
	}
	if e.kind == unreadable && strings.Contains(e.text, "and activity") && e.isError() {
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
func (l *Log) Candidates() (profiles []keda.Profile) {
	for _, name := range keda.Releases() {
		if compare(name, "2.4") < 0 || (l.First != "" && compare(name, l.First) < 0) || (l.Last != "" && compare(name, l.Last) > 0) {
			continue
		}
		if p, err := keda.Release(name); err == nil {
			profiles = append(profiles, p)
		}
	}
	return profiles
}
