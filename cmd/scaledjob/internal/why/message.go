package why

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A kind is a message that KEDA's operator logs, or a group of messages with the same meaning.
type kind int

const (
	unknown    kind = iota
	metric          // a value of a trigger; level 1
	unreadable      // a trigger failed
	checked         // all triggers are read; level 1
	running
	pending
	selected // the strategy; level 1
	percentage
	active   // level 1
	inactive // level 1
	unneeded // no need to create Jobs; since 2.14.1
	effective
	requested
	refused // a create failed
	created
	pruned
	unpruned
	failed // error during scaling; since 2.20
	rollout
	mentioned // the ScaledJob exists
	paused
	unpaused
	invalid // the ScaledJob is not polled
	looped
	version
	started
	leads
	stopped
	waits    // for the lease
	unleased // the lease could not be read or renewed; the operator tries again
	denied   // the operator cannot read the cluster
	absent   // a TriggerAuthentication is missing
	scaler   // an error of a scaler
	deleted
	failure // an error about a ScaledJob that no rule knows
	fault   // the same about the operator
	other   // another component of KEDA starts; its version follows
)

// messages are searched in this order, because some contain others. Some lack the first letter, whose
// case differs. The texts are those of
// KEDA 2.4 to 2.21; key is a field that the line must have too, if there is one.
// Lines begin with the texts of crashes, because Jobs crash too.
var messages = []struct {
	text string
	kind kind
	key  string
}{
	{"Number of running Jobs", running, "Number of running Jobs"},
	{"Number of pending Jobs", pending, "Number of pending Jobs"},
	{"Scaling Jobs", running, "Number of running Jobs"},
	{"Effective number of max jobs", effective, "Effective number of max jobs"},
	{"No need to create jobs", unneeded, ""},
	{"Created jobs", created, "Number of jobs"},
	{"Creating jobs", requested, "Number of jobs"},
	{"Failed to create a new Job", refused, ""},
	{"Scaler Metric value", metric, ""},
	{"Checking if ScaleJob Scalers are active", checked, ""},
	{"Error getting scaler metrics", unreadable, ""},
	{"Error getting scaler.IsActive", unreadable, ""},
	{"Error getting scale decision, but continue", unreadable, ""},
	{"error getting scalers cache", unreadable, ""},
	{"Selecting Scale Strategy", selected, ""},
	{"Fail to convert CustomScalingRunningJobPercentage", percentage, ""},
	{"At least one scaler is active", active, ""},
	{"No change in activity", inactive, ""},
	{"Remove a job by reaching the historyLimit", pruned, ""},
	{"Failed to cleanUp jobs", unpruned, ""},
	{"error during scaling", failed, ""},
	{"RolloutStrategy: gradual", mentioned, ""},
	{"eleting jobs owned by the previous version", rollout, ""},
	{"error getting triggerAuth", absent, ""},
	{"Failed to get TriggerAuthentication", absent, ""},
	{"ScaledJob is paused", paused, ""},
	{"Unpausing ScaledJob", unpaused, ""},
	{"Failed to ensure ScaledJob is correctly created", invalid, ""},
	{"metricType cannot be set in ScaledJob triggers", invalid, ""},
	{"doesn't have correct triggers specification", invalid, ""},
	{"Not able to delete job", invalid, ""},
	{"ScaledJob.spec.jobTargetRef not found", invalid, ""},
	{"Reconciler error", invalid, ""},
	{"Error getting scalers", invalid, ""},
	{"is paused, skipping reconcile loop", paused, ""},
	{"Reconciling ScaledJob", mentioned, ""},
	{"Successfully finalized ScaledJob", deleted, ""},
	{"Initializing Scaling logic according to ScaledJob", looped, ""},
	{"Starting metrics server", other, ""},
	{"Starting admission webhooks", other, ""},
	{"KEDA Version:", version, ""},
	{"Starting manager", started, ""},
	{"uccessfully acquired lease", leads, ""},
	{leaseLost, stopped, ""},
	{"problem running manager", stopped, ""},
	{"unable to start manager", stopped, ""},
	{"ailed to renew lease", stopped, ""},
	{"Stopping and waiting for", stopped, ""},
	{"ttempting to acquire leader lease", waits, ""},
	{"rror retrieving resource lock", unleased, ""},
	{"rror retrieving lease lock", unleased, ""},
	{"Failed to update lock", unleased, ""},
	{"Failed to update lease", unleased, ""},
	{"failed to list *", denied, ""},
	{"if kind is a CRD, it should be installed", denied, ""},
	{"panic: ", stopped, atBegin},
	{"fatal error: ", stopped, atBegin},
	{"failed to update status", mentioned, ""},
	{"Number of jobs", requested, "Number of jobs"},
	{`"maxValue"`, checked, "maxValue"},
}

const leaseLost = "leader election lost"

// atBegin is the key of messages that lines begin with, after the operator's pod and a time.
const atBegin = "^"

var beforeCrash = regexp.MustCompile(`^(?:\S*keda-operator\S*\s+|` + stamp + `\s+|std(?:out|err) F |\{"(?:log|msg)":"|\["\d+",")*$`)

// crash reports whether the line is the text of a crash, which has no time.
func (e *entry) crash() bool { return strings.HasSuffix(e.message, ": ") }

// ofOperator reports whether the message is about the operator and no ScaledJob.
func (k kind) ofOperator() bool {
	return slices.Contains([]kind{version, started, leads, stopped, waits, unleased, denied, fault}, k)
}

// An entry is a known message.
type entry struct {
	line
	kind            kind
	message         string // of messages
	name, namespace string
	named           bool // the line has a name, which may be empty
	number          int64
	numbered        bool
	short           bool // the number or the name was cut off
	scaledObject    bool // it is about a ScaledObject
}

// classify returns the message of a line, and whether it belongs to a ScaledJob or to the operator.
func classify(l line) (e entry, ok bool) {
	e.line = l
	kinds := []string{l.fields["controllerKind"], l.fields["type"], l.fields["controller"]}
	e.scaledObject = slices.Contains(kinds, "ScaledObject") || slices.Contains(kinds, "scaledobject") || l.fields["scaledObject.Name"] != ""
	if l.others || e.scaledObject {
		return e, false
	}
	for _, m := range messages {
		needsFields := m.kind != metric && m.kind != other && !m.kind.ofOperator()
		if needsFields && !strings.Contains(l.text, "{") { // prose
			continue
		}
		before, _, found := strings.Cut(l.text, m.text)
		if !found || (m.key == atBegin && !beforeCrash.MatchString(before)) {
			continue
		}
		e.kind, e.message = m.kind, m.text
		if m.key != "" && m.key != atBegin {
			if n, err := strconv.ParseFloat(l.fields[m.key], 64); err == nil {
				e.number, e.numbered = int64(n), true
			} else if m.kind != created {
				e.short = true
				return e, false
			}
		}
		break
	}
	if e.kind == unknown && strings.HasPrefix(l.text, `"s`) && metricName.MatchString(l.text) {
		e.kind = metric // a message without its text
	}
	if e.kind == unknown && l.fields["type"] == "ScaledJob" && l.fields["error"] != "" { // of a scaler's own logger
		e.kind = scaler
	}
	if e.kind == unknown && e.isError() {
		e.kind = e.unknownError()
	}
	if e.kind == unknown {
		return e, false
	}
	if n, err := strconv.ParseInt(l.fields["numJobsToDelete"], 10, 64); err == nil && e.kind == rollout {
		e.number, e.numbered = n, true
	}
	e.owner()
	switch {
	case e.kind.ofOperator():
		return e, true
	case !e.named && strings.Contains(l.text, `caledJob.Name"`):
		e.short = true
		return e, false
	}
	return e, e.kind != invalid || l.fields["controllerKind"] != "" || e.named
}

// isError reports whether the line has the level error.
func (e *entry) isError() bool {
	return strings.EqualFold(e.fields["level"], "error") || strings.Contains(strings.ToUpper(e.text), "\tERROR\t")
}

// unknownError returns the kind of an error without a known message, which names a ScaledJob, or nothing.
func (e *entry) unknownError() kind {
	isScaledJob := e.fields["controllerKind"] == "ScaledJob" || e.fields["type"] == "ScaledJob" || e.fields["kind"] == "ScaledJob"
	for _, key := range []string{"scaledJob.Name", "ScaledJob.Name", "ScaledJob"} {
		isScaledJob = isScaledJob || e.fields[key] != ""
	}
	about := func(key string) bool { return e.fields[key] != "" }
	switch {
	case isScaledJob:
		return failure
	case slices.ContainsFunc([]string{"name", "Name", "namespace", "controllerKind", "type", "scaledObject.Name", "scaledobject"}, about):
		return unknown
	case e.fields["msg"] != "" || strings.Contains(strings.ToUpper(e.text), "\tERROR\t"):
		return fault
	}
	return unknown
}

// summary is the message of a line and its error.
func (e *entry) summary() string {
	text := e.fields["msg"]
	if columns := strings.Split(e.text, "\t"); text == "" && len(columns) > 3 {
		text = columns[3]
	}
	if err := cmp.Or(e.fields["error"], e.fields["err"]); err != "" && err != text {
		text = strings.TrimPrefix(text+": "+err, ": ")
	}
	return cmp.Or(text, e.text)
}

// owner reads the ScaledJob's name and namespace in the fields that the releases use. Some stores of logs
// make an object of the fields before the dot.
func (e *entry) owner() {
	for _, key := range []string{"scaledJob.Name", "ScaledJob.Name", "ScaledJob", "Name", "name"} {
		if name, found := e.fields[key]; found {
			e.name, e.named = name, true
			break
		}
	}
	for _, key := range []string{"scaledJob.Namespace", "ScaledJob.Namespace", "Namespace", "namespace"} {
		if namespace, found := e.fields[key]; found {
			e.namespace = namespace
			break
		}
	}
}
