package adapter

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scaledjob/scaledjob/history"
	"github.com/scaledjob/scaledjob/scaling"
)

// A life is a process with a tracker: the real code, from its start to its end. Lives
// are kept once each, see lives, and never modified.
type life struct {
	tracker *Tracker
	unit    time.Duration   // of its clock
	ticks   int             // of its clock, which is monotonic
	spec    uint8           // the version that it tracks
	view    [slots]object   // what its cache shows
	plans   [plans]applying // by different goroutines
	known   [slots + 1]bool // numbers ever shown; only a broken rule reads them
	facts   facts
}

// An applying mirrors a call of Tracker.Apply. The zero value is none.
type applying struct {
	*application
	edited   bool // since the plan was made
	batch    []request
	answered []bool // of the batch
}

// facts are what the model counts states by.
type facts struct {
	plans      int  // that are being carried out
	settled    bool // no request is in doubt
	occupied   bool // a request in doubt occupies capacity
	unanswered bool // a create was not answered
	waiting    bool // the cache shows a pruned Job
	taken      bool // a number is taken by a Job that the cache does not show
	gated      bool // pruning waits for creates of an earlier life
	editing    bool // an edit was seen while requests of a plan were under way
	doubled    bool // a create whose number the cache shows
	stale      bool // a create whose number the cache shows with another Job
}

// An input is anything that happens to a life.
type input struct {
	life    int32
	kind    inputKind
	spec    uint8 // of start, track and retrack
	demand  uint8 // of poll
	skewed  bool  // of poll: the wall clock
	avoid   uint8 // a bit for each number that a broken rule avoids
	sent    message
	is      outcome // of the reply to it
	uid     uint8   // of the reply to it
	notices [lag]notice
	view    [slots]object // of start
}

type inputKind uint8

const (
	start inputKind = iota
	poll
	answer
	show
	track
	retrack
	depose
	tick
)

// An output is what a life does then.
type output struct {
	life    int32
	sent    []message
	problem string
}

// lives are all lives that were reached, each kept once. The real code runs once for
// each life and input.
type lives struct {
	config  *config
	broken  *broken
	all     []*life
	byKey   map[string]int32
	outputs map[input]output
}

func newLives(c *config, b *broken) *lives {
	return &lives{config: c, broken: b, all: []*life{nil}, byKey: map[string]int32{}, outputs: map[input]output{}}
}

func (l *lives) step(in input) output {
	if out, ok := l.outputs[in]; ok {
		return out
	}
	x := l.all[in.life].clone()
	if in.kind == start {
		x = l.start(in)
	}
	out := output{}
	out.sent, out.problem = l.run(x, in)
	out.life = l.intern(x)
	l.outputs[in] = out
	return out
}

func (l *lives) intern(x *life) int32 {
	key := x.key(l.config)
	id, ok := l.byKey[key]
	if !ok {
		id = int32(len(l.all))
		x.observe()
		l.all, l.byKey[key] = append(l.all, x), id
	}
	return id
}

// start returns a life whose tracker has read the Jobs, and does nothing else.
func (l *lives) start(in input) *life {
	t, err := newTracker(Options{})
	if err != nil {
		panic(err)
	}
	x := &life{tracker: t, view: in.view, unit: late / time.Duration(l.config.ticks)}
	t.now, t.unshown = x.now, late // the ages in keys end above L
	_ = t.jobFeed().Replace(x.list(l.config), "")
	x.track(in.spec, l.config)
	if l.broken.start != nil {
		l.broken.start(x)
	}
	return x
}

func (x *life) track(spec uint8, c *config) {
	x.spec = spec
	for i := range x.plans {
		x.plans[i].edited = x.plans[i].application != nil
	}
	if err := x.tracker.Track(c.targets[spec]); err != nil {
		panic(err)
	}
}

// run lets the input happen. It returns the requests that the life sends then.
func (l *lives) run(x *life, in input) (sent []message, problem string) {
	switch in.kind {
	case poll:
		return l.poll(x, in)
	case answer:
		return l.answer(x, in)
	case show:
		x.show(in.notices[:], l.config)
		if l.broken.shown != nil {
			l.broken.shown(x)
		}
	case track:
		x.track(in.spec, l.config)
	case retrack:
		x.tracker.Untrack(ownerUID)
		x.track(in.spec, l.config)
		if l.broken.retracked != nil {
			l.broken.retracked(x)
		}
	case depose:
		return nil, x.depose()
	case tick:
		x.ticks++
		if l.broken.ticked != nil {
			l.broken.ticked(x)
		}
	}
	return nil, ""
}

func (l *lives) poll(x *life, in input) ([]message, string) {
	if l.broken.polled != nil {
		l.broken.polled(x)
	}
	wall := x.now()
	if in.skewed {
		wall = wall.Add(2000 * time.Hour)
	}
	p := x.tracker.Plan(ownerUID, []scaling.Metric{{Name: "queue", Value: float64(in.demand), Target: 1}}, wall)
	i := slices.IndexFunc(x.plans[:], func(a applying) bool { return a.application == nil })
	x.plans[i].application = x.tracker.begin(&p)
	return l.next(x, i, in)
}

// depose checks that a process without a lease sends nothing more.
func (x *life) depose() (problem string) {
	x.tracker.options.MayAct = func() bool { return false }
	defer func() { x.tracker.options.MayAct = nil }()
	for _, a := range x.plans {
		if a.application != nil && len(x.tracker.next(context.Background(), a.application)) > 0 {
			return "a process without a lease sends a request"
		}
	}
	return ""
}

// next mirrors the loop of Tracker.Apply: when each request of a batch has been
// answered, the next batch is sent.
func (l *lives) next(x *life, plan int, in input) (sent []message, problem string) {
	a := &x.plans[plan]
	restore := func() {}
	if l.broken.next != nil {
		restore = l.broken.next(x, a.application, in.avoid)
	}
	a.batch = slices.Clone(x.tracker.next(context.Background(), a.application))
	restore()
	a.answered = make([]bool, len(a.batch))
	switch {
	case len(a.batch) == 0:
		*a = applying{}
	case a.edited:
		problem = "a plan from before an edit goes on"
	}
	for i := range a.batch {
		m := messageOf(&a.batch[i])
		m.plan = uint8(plan)
		sent = append(sent, m)
	}
	return sent, problem
}

func (l *lives) answer(x *life, in input) ([]message, string) {
	r := reply{outcome: in.is, uid: uids[in.sent.number][in.uid]}
	if in.is == none || in.is == unanswered || in.is == taken {
		r.err = errTaken
	}
	a := &x.plans[in.sent.plan]
	i := slices.IndexFunc(a.batch, func(q request) bool {
		m := messageOf(&q)
		m.plan, m.by = in.sent.plan, in.sent.by
		return m == in.sent
	})
	x.tracker.answered(a.application, &a.batch[i], r)
	a.answered[i] = true
	if l.broken.answered != nil {
		l.broken.answered(x, &a.batch[i], r)
	}
	if slices.Contains(a.answered, false) {
		return nil, ""
	}
	return l.next(x, int(in.sent.plan), in)
}

// messageOf describes a request to the world.
func messageOf(q *request) message {
	m := message{number: uint8(q.number)}
	switch {
	case q.stage == creating:
		m.kind, m.job.spec = create, uint8(q.flight.from.Revision.Generation-1)
	case q.delete == nil:
		m.kind = ask
	default:
		id := jobIDs[q.delete.UID]
		m.number, m.job.uid = id.number, id.uid
		switch q.stage {
		case asking:
			m.kind = askPruned
		case removing:
			m.kind, m.job = remove, objects[q.delete.ResourceVersion]
		case pruning:
			m.kind = prune
		}
	}
	return m
}

// show lets the cache show changes. A list is taken over as a whole.
func (x *life) show(notices []notice, c *config) {
	feed, listing := x.tracker.jobFeed(), false
	for _, n := range notices {
		if n.number == 0 {
			break
		}
		x.known[n.number] = true
		x.view[n.number-1] = n.job
		if n.gone {
			x.view[n.number-1] = object{}
		}
		switch {
		case n.listed:
		case listing:
			_ = feed.Replace(x.list(c), "")
		case n.gone:
			_ = feed.Delete(n.job.compact(n.number, c))
		default:
			_ = feed.Add(n.job.compact(n.number, c))
		}
		listing = n.listed
	}
}

// list returns what the cache shows, as a reflector lists it.
func (x *life) list(c *config) (list []any) {
	for i, o := range x.view {
		if o.uid != 0 {
			list = append(list, o.compact(uint8(i+1), c))
		}
	}
	return list
}

func (x *life) now() time.Time { return noon.Add(time.Duration(x.ticks) * x.unit) }

func (x *life) owned() *owned { return x.tracker.owners[ownerUID] }

// clone returns a copy that shares nothing that is modified.
func (x *life) clone() *life {
	if x == nil {
		return nil
	}
	c := *x
	t, o := x.tracker, *x.owned()
	c.tracker = &Tracker{
		options: t.options, selector: t.selector, now: c.now, unshown: t.unshown, owners: map[types.UID]*owned{ownerUID: &o},
		jobs: map[types.NamespacedName]*job{}, pods: t.pods,
	}
	o.stuck, o.jobs, o.flights = nil, maps.Clone(o.jobs), maps.Clone(o.flights)
	for uid, j := range o.jobs {
		copied := *j
		copied.owner = &o
		o.jobs[uid], c.tracker.jobs[j.key()] = &copied, &copied
	}
	flights := map[*flight]*flight{nil: nil}
	for n, f := range o.flights {
		copied := *f
		o.flights[n], flights[f] = &copied, &copied
	}
	for i, a := range x.plans {
		if a.application == nil {
			continue
		}
		copied := *a.application
		copied.tracker = c.tracker
		for stage, queue := range copied.queues {
			copied.queues[stage] = recast(queue, flights)
		}
		c.plans[i] = applying{&copied, a.edited, recast(a.batch, flights), slices.Clone(a.answered)}
	}
	return &c
}

// recast returns the requests about the flights of a clone.
func recast(requests []request, flights map[*flight]*flight) []request {
	requests = slices.Clone(requests)
	for i := range requests {
		if f, ok := flights[requests[i].flight]; ok {
			requests[i].flight = f
		}
	}
	return requests
}

// key describes everything that the life's future depends on.
func (x *life) key(c *config) string {
	age := func(t time.Time) int { return min(c.ticks+1, int(x.now().Sub(t)/x.unit)) }
	o := x.owned()
	key := fmt.Appendf(nil, "%d %v ", x.spec, x.view)
	if o.start != nil {
		key = fmt.Appendf(key, "start %d ", age(*o.start))
	}
	if c.remembers {
		key = fmt.Appendf(key, "known %v ", x.known)
	}
	for _, j := range o.byNumber() {
		key = fmt.Appendf(key, "job %d %s %s %d %v %v ", j.Number, j.UID, j.ResourceVersion, j.Phase, j.deleted, j.outdated)
		if j.pruning {
			key = fmt.Appendf(key, "pruned %v %d ", j.pruned.IsZero(), age(j.pruned))
		}
	}
	for n := int64(1); n <= slots; n++ {
		if f := o.flights[n]; f != nil {
			key = fmt.Appendf(key, "flight %d %d %s %s %d ", n, f.state, f.uid, f.shown, age(f.at))
		}
	}
	for i, a := range x.plans {
		if a.application == nil {
			continue
		}
		key = fmt.Appendf(key, "plan %d %v %d %d %d %d %d %v %d ", i, a.edited, a.stage, a.size, a.left, a.taken, a.plan.Create, a.failed != nil, age(a.plan.made))
		for _, queue := range append(a.queues[:], a.batch) {
			key = fmt.Appendf(key, "; ")
			for _, q := range queue {
				key = fmt.Appendf(key, "%v %v ", messageOf(&q), q.flight != nil && o.flights[q.number] == q.flight)
			}
		}
		key = fmt.Appendf(key, "%v ", a.answered)
	}
	return string(key)
}

func (x *life) observe() {
	o := x.owned()
	f := facts{
		waiting: o.pruning > 0, occupied: o.inFlight() > 0, settled: len(o.flights) == 0 && o.pruning == 0,
		gated: o.start != nil && x.now().Sub(*o.start) < x.tracker.late(),
	}
	for _, a := range x.plans {
		if f.editing = f.editing || a.edited; a.application != nil {
			f.plans++
		}
	}
	for _, flight := range o.flights {
		f.unanswered = f.unanswered || flight.state == unanswered
		f.taken = f.taken || flight.state == taken
		f.doubled = f.doubled || flight.shown != ""
		f.stale = f.stale || flight.state > none && flight.shown != ""
	}
	x.facts = f
}

// A jobID is the number of a Job, and how many Jobs had the number.
type jobID struct{ number, uid uint8 }

var (
	uids    [slots + 1][perJob + 1]types.UID
	jobIDs  = map[types.UID]jobID{"": {}}
	objects = map[string]object{} // by resource version
)

func init() {
	for bits := range 1 << 8 {
		o := object{uid: uint8(bits % 8), spec: uint8(bits / 8 % 4), finished: bits&32 != 0, deleting: bits&64 != 0, future: bits&128 != 0}
		objects[o.version()] = o
	}
	for n := range uids {
		for i := range uids[n] {
			if i > 0 {
				uids[n][i] = types.UID(fmt.Sprintf("%d.%d", n, i))
				jobIDs[uids[n][i]] = jobID{uint8(n), uint8(i)}
			}
		}
	}
}

// compact returns the Job as the cache keeps it.
func (o object) compact(number uint8, c *config) *job {
	j := *c.prototypes[o.spec][number-1]
	j.UID, j.ResourceVersion = uids[number][o.uid], o.version()
	j.CreationTimestamp = metav1.NewTime(noon.Add(-time.Hour))
	if o.future {
		j.CreationTimestamp = metav1.NewTime(noon.Add(1000 * time.Hour))
	}
	if o.deleting {
		j.DeletionTimestamp = new(metav1.NewTime(noon))
	}
	if o.finished {
		j.Status.Conditions = nil
		complete(&j)
	}
	return newJob(&j, &Options{})
}

func (o object) version() string { return fmt.Sprint(o) }

var keepNone = history.Limits{Succeeded: history.Keep(0), Failed: history.Keep(0)}

func prototypes(targets []Target) (all [][]*batchv1.Job) {
	for _, t := range targets {
		var jobs []*batchv1.Job
		for n := int64(1); n <= slots; n++ {
			jobs = append(jobs, t.NewJob(n))
		}
		all = append(all, jobs)
	}
	return all
}
