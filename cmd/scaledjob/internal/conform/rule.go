package conform

import (
	"slices"
	"strconv"
)

// rules returns the numbers of the rules that a small question needs, the likeliest first: every field
// that it still has makes a difference.
func (q question) rules() (numbers []int) {
	switch q.kind() {
	case "history":
		return q.historyRules()
	case "rollout":
		return q.rolloutRules()
	case "strategy":
		return []int{q.strategyRule()}
	}
	for _, r := range []struct {
		number  int
		applies bool
	}{
		{16, q["paused"] == true || q["jobsUnknown"] == true},
		{18, q["hold"] == true},
		{9, q.scaler(unreadable)},
		{10, q.scaler(func(s map[string]any) bool { return s["isActive"] != nil || s["activationTarget"] != nil })},
		{7, q.below("running") || q.below("pending") || q.below("suspended") || q.below("terminating") || q.below("inFlight") || q.below("stuck")},
		{8, q.has("stuck", "agesUnknown", "inFlight", "suspended")},
		{15, q.below("maxReplicaCount") || q.below("minReplicaCount")},
		{22, q.has("terminating")},
		{12, q["multipleScalersCalculation"] == "sum" || q["multipleScalersCalculation"] == "avg"},
		{11, len(q.scalers()) > 1 || q.has("multipleScalersCalculation")},
		{20, q["min"] == "floor"},
		{17, len(q.scalers()) == 0},
		{19, q.has("minReplicaCount")},
		{13, q.scaler(func(s map[string]any) bool { return size(s["target"]) != 1 || size(s["queueLength"]) > 1000 })},
		{q.strategyRule(), q.has("strategy", "running", "pending")},
		{22, q.has("maxReplicaCount")},
		{14, true},
	} {
		if r.applies && !slices.Contains(numbers, r.number) {
			numbers = append(numbers, r.number)
		}
	}
	return numbers[:min(2, len(numbers))]
}

func (q question) strategyRule() int {
	switch name := q["strategy"]; {
	case name == "accurate":
		return 2
	case name == "eager":
		return 3
	case name == "custom" && q.has("customScalingRunningJobPercentage"):
		return 4
	case name == "pendingAware":
		return 5
	case name == "custom" || name == "basic":
		return 6
	}
	return 1
}

func (q question) historyRules() []int {
	jobs, _ := q["jobs"].([]any)
	counted := func(j any) bool {
		job := j.(map[string]any)
		return job["deletionTimestamp"] == nil && job["conditions"] != nil
	}
	switch {
	case q.has("age"):
		return []int{26, 24}
	case !slices.ContainsFunc(jobs, counted) || slices.ContainsFunc(jobs, func(j any) bool { return !counted(j) }):
		return []int{25}
	case q.below("successfulJobsHistoryLimit") || q.below("failedJobsHistoryLimit"):
		return []int{23}
	}
	return []int{24, 23}
}

func (q question) rolloutRules() []int {
	jobs, _ := q["jobs"].([]any)
	for _, j := range jobs {
		if job := j.(map[string]any); job["deletionTimestamp"] != nil || job["conditions"] != nil {
			return []int{27}
		}
	}
	policy, _ := q["rollout"].(map[string]any)
	switch {
	case q["everyEdit"] == false:
		return []int{29, 28}
	case policy["strategy"] != nil:
		return []int{30, 28}
	}
	return []int{28, 30}
}

func (q question) has(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return q[name] != nil })
}

func (q question) below(name string) bool { return size(q[name]) < 0 }

func (q question) scalers() []any {
	list, _ := q["scalers"].([]any)
	return list
}

func (q question) scaler(applies func(map[string]any) bool) bool {
	return slices.ContainsFunc(q.scalers(), func(s any) bool { return applies(s.(map[string]any)) })
}

// size returns a number of a question, or 0.
func size(value any) float64 {
	if text, ok := value.(string); ok {
		x, _ := strconv.ParseFloat(text, 64)
		return x
	}
	x, _ := strconv.ParseFloat(number(literal(value)), 64)
	return x
}

func unreadable(s map[string]any) bool {
	_, text := s["queueLength"].(string)
	return text || s["failed"] != nil || s["error"] != nil || size(s["queueLength"]) < 0 || size(s["target"]) <= 0
}
