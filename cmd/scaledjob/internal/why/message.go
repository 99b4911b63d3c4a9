package why

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
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
	unfinalized // the ScaledJob keeps its finalizer
	failure     // an error about a ScaledJob that no rule knows
	fault       // the same about the operator
	other       // another component of KEDA starts; its version follows
)

// messages are searched in this order, because some contain others. Some lack the first letter, whose
// case differs. The texts are those of
// KEDA 2.14 to 2.21; key is a field that the line must have too, if there is one.
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
	{"Failed to update ScaledJob after removing a finalizer", unfinalized, ""},
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

func (k kind) ofOperator() bool {
	return slices.Contains([]kind{version, started, leads, stopped, waits, unleased, denied, fault}, k)
}

// An entry is a known message.
type entry struct {
	number, paste   int // of the line
	kind            kind
	klog, crash     bool // the time has no year; the line is the text of a crash, which has no time
	named           bool // the line has a name, which may be empty
	numbered        bool
	short           bool // the number or the name was cut off
	scaledObject    bool // it is about a ScaledObject
	source          string
	time            time.Time
	name, namespace string
	count           int64  // the number of the message
	text            string // of an event: what is shown of it
	err             string // of the operator: the error of the line, or the version
	values          *values
}

// values are what a line of a poll has besides its number.
type values struct {
	trigger  Trigger
	active   *bool
	maxValue *float64
}

// classify returns the message of a line, and whether it belongs to a ScaledJob or to the operator.
func classify(l line) (e entry, ok bool) {
	e = entry{number: l.number, paste: l.paste, source: l.source, time: l.time}
	kinds := []string{l.fields["controllerKind"], l.fields["type"], l.fields["controller"]}
	e.scaledObject = slices.Contains(kinds, "ScaledObject") || slices.Contains(kinds, "scaledobject") || l.fields["scaledObject.Name"] != ""
	if l.others || e.scaledObject {
		return e, false
	}
	hasFields := strings.Contains(l.text, "{") // prose has none
	for _, m := range messages {
		needsFields := m.kind != metric && m.kind != other && !m.kind.ofOperator()
		if needsFields && !hasFields {
			continue
		}
		before, _, found := strings.Cut(l.text, m.text)
		if !found || (m.key == atBegin && !beforeCrash.MatchString(before)) {
			continue
		}
		e.kind, e.crash = m.kind, m.key == atBegin
		if m.key != "" && !e.crash {
			if n, err := strconv.ParseFloat(l.fields[m.key], 64); err == nil {
				e.count, e.numbered = int64(n), true
			} else if m.kind != created {
				e.short = true
				return e, false
			}
		}
		break
	}
	if e.kind == unknown {
		e.kind = l.unnamedKind()
	}
	if e.kind == unknown {
		return e, false
	}
	e.owner(l.fields)
	e.fill(l)
	switch {
	case e.kind.ofOperator():
		return e, true
	case !e.named && strings.Contains(l.text, `caledJob.Name"`):
		e.short = true
		return e, false
	}
	return e, e.kind != invalid || l.fields["controllerKind"] != "" || e.named
}

func (l *line) unnamedKind() kind {
	switch {
	case strings.HasPrefix(l.text, `"s`) && metricName.MatchString(l.text):
		return metric // a message without its text
	case l.fields["type"] == "ScaledJob" && l.fields["error"] != "": // of a scaler's own logger
		return scaler
	case l.isError():
		return l.unknownError()
	}
	return unknown
}

func (e *entry) fill(l line) {
	e.klog = l.time.Year() == 0 && klog.MatchString(l.text)
	switch e.kind {
	case metric:
		if t, ok := triggerOf(l); ok {
			e.values = &values{trigger: t}
		}
	case checked:
		e.values = &values{}
		if text, found := l.fields["isActive"]; found {
			e.values.active = new(text == "true")
		}
		if v, err := strconv.ParseFloat(l.fields["maxValue"], 64); err == nil {
			e.values.maxValue = &v
		}
	case unreadable, refused:
		e.text = cmp.Or(l.fields["error"], l.fields["Error"], "no text")
	case selected:
		e.text = cmp.Or(l.fields["selected"], l.fields["selected:"])
	case fault, failure:
		e.text = l.summary()
	case rollout:
		if n, err := strconv.ParseInt(l.fields["numJobsToDelete"], 10, 64); err == nil {
			e.count, e.numbered = n, true
		}
	case version:
		if m := versionText.FindStringSubmatch(l.text); m != nil {
			e.err = m[1]
		}
	default:
		switch {
		case e.kind == scaler && fromStore.MatchString(l.text):
			e.text = l.summary()
		case e.kind.ofOperator():
			e.text, e.err = l.text, l.fields["error"]
		case stageOf[e.kind] == 0:
			e.text = cmp.Or(l.fields["error"], l.fields["err"], l.text)
		}
	}
}

func (l *line) isError() bool {
	return strings.EqualFold(l.fields["level"], "error") || strings.Contains(strings.ToUpper(l.text), "\tERROR\t")
}

// unknownError returns the kind of an error without a known message, which names a ScaledJob, or nothing.
func (l *line) unknownError() kind {
	isScaledJob := l.fields["controllerKind"] == "ScaledJob" || l.fields["type"] == "ScaledJob" || l.fields["kind"] == "ScaledJob"
	for _, key := range []string{"scaledJob.Name", "ScaledJob.Name", "ScaledJob"} {
		isScaledJob = isScaledJob || l.fields[key] != ""
	}
	about := func(key string) bool { return l.fields[key] != "" }
	switch {
	case isScaledJob:
		return failure
	case slices.ContainsFunc([]string{"name", "Name", "namespace", "controllerKind", "type", "scaledObject.Name", "scaledobject"}, about):
		return unknown
	case l.fields["msg"] != "" || strings.Contains(strings.ToUpper(l.text), "\tERROR\t"):
		return fault
	}
	return unknown
}

var (
	// lastColumn matches the message of a line in the console format, before its fields.
	lastColumn = regexp.MustCompile(`(?:\t| {2,})((?: ?[^\t{ ])+)\s*(?:\{|$)`)
	// fromStore matches messages about reading a secret, which say more than their errors.
	fromStore = regexp.MustCompile(`(?i)(?:secrets? from|authenticating to) `)
)

// summary is the message of a line and its error.
func (l *line) summary() string {
	text := l.fields["msg"]
	if m := lastColumn.FindStringSubmatch(l.text); text == "" && m != nil {
		text = m[1]
	}
	if err := cmp.Or(l.fields["error"], l.fields["err"]); err != "" && err != text {
		text = strings.TrimPrefix(text+": "+err, ": ")
	}
	return cmp.Or(text, l.text)
}

// owner reads the ScaledJob's name and namespace in the fields that the releases use. Some stores of logs
// make an object of the fields before the dot.
func (e *entry) owner(fields map[string]string) {
	for _, key := range []string{"scaledJob.Name", "ScaledJob.Name", "ScaledJob", "Name", "name"} {
		if name, found := fields[key]; found {
			e.name, e.named = name, true
			break
		}
	}
	for _, key := range []string{"scaledJob.Namespace", "ScaledJob.Namespace", "Namespace", "namespace"} {
		if namespace, found := fields[key]; found {
			e.namespace = namespace
			break
		}
	}
}
