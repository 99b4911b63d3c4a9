package why

import (
	"math"
	"slices"
	"time"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
	"github.com/scaledjob/scaledjob/keda"
	"github.com/scaledjob/scaledjob/simulation"
)

// Limits of a course.
const (
	maxSlots = 50_000
	maxWork  = 200_000 // in Jobs
	maxDelay = 24 * time.Hour
)

// A course is the work of a ScaledJob in a run of the operator. Its unit is the work of one Job.
type course struct {
	polls    []*Verdict // one for each interval; nil if the log has none
	count    int        // polls that are not nil
	interval time.Duration
	arrived  []int64 // work that is new in each poll
	lives    []life  // of Jobs, in the order in which they were created
	working  int64   // first Jobs that have work
	idle     bool    // Jobs wait for work
	pending  int64   // sum of P over the polls

	took    time.Duration // of a Job; 0 if none ended
	tookOf  string
	startup time.Duration
	waiting bool  // the metric leaves out in-progress items
	assumed bool  // waiting is
	exact   bool  // T is known in all polls
	asked   int64 // T of the last poll
	ended   int   // the number of the oldest Job that has not ended

	lead   int // polls of the simulation before the first of the log, at which its Jobs run
	trace  []simulation.Arrival
	before outcome // without a change
	agree  int     // polls that create as many Jobs without a change as in the log
}

// A life is that of a Job between two polls, by their numbers. It begins when the Job has work. The first
// Jobs are born before poll 0.
type life struct {
	born, ended int
	done        bool
}

// course reads the work of the operator's last run. The Jobs that ended follow from R, and the work that
// arrived from T and from the Jobs that began to work. The oldest Jobs end first.
func (j *judge) course(verdicts []*Verdict, s *Subject, waiting bool) *course {
	c := &course{interval: s.interval().Round(time.Second), waiting: waiting, exact: true}
	if c.interval == 0 {
		c.interval = j.interval(s)
	}
	if c.interval <= 0 || c.interval > maxDelay {
		return nil
	}
	for _, v := range verdicts {
		if v.Run != verdicts[len(verdicts)-1].Run || v.Cut || v.Pending == nil {
			continue
		}
		at := len(c.polls)
		if at > 0 && !v.At.IsZero() {
			at = int((v.At.Sub(c.polls[0].At) + c.interval/2) / c.interval)
		}
		if at < len(c.polls) || at > maxSlots {
			continue
		}
		asked, exact := j.askedOf(v, c.asked)
		for _, n := range []int64{*v.Running, *v.Pending, *v.Jobs, asked, int64(len(c.lives))} {
			if n < 0 || n > maxWork {
				return nil
			}
		}
		c.exact = c.exact && exact
		c.idle = c.idle || j.bounds.Min > 0 || !waiting && *v.Running-*v.Pending > asked
		c.add(v, at, asked)
	}
	if c.count == 0 {
		return nil
	}
	n := int(c.working)
	for at, work := range c.arrived {
		for ; work > 0 && n < len(c.lives); work, n = work-1, n+1 {
			c.lives[n].born = max(c.lives[n].born, at)
		}
	}
	return c
}

// add adds a poll, with the Jobs that have ended and the work that has arrived since the last poll.
func (c *course) add(v *Verdict, at int, asked int64) {
	arrived := asked
	if len(c.polls) == 0 {
		c.lives = slices.Repeat([]life{{born: -1}}, int(*v.Running))
		if c.working = *v.Running; !c.waiting {
			c.working = min(*v.Running, asked)
			arrived -= c.working
		}
	} else {
		last := c.polls[len(c.polls)-1]
		ended := max(0, *last.Running+*last.Jobs-*v.Running)
		for range min(int(ended), len(c.lives)-c.ended) {
			c.lives[c.ended].ended, c.lives[c.ended].done = at, true
			c.ended++
		}
		arrived += ended - c.asked
		if c.waiting {
			working := *last.Running - *last.Pending
			if last == c.polls[0] { // all of the first Jobs work
				working = *last.Running
			}
			arrived += *v.Running - *v.Pending - working
		}
	}
	c.pending += *v.Pending
	c.polls = append(append(c.polls, make([]*Verdict, at-len(c.polls))...), v)
	c.arrived = append(append(c.arrived, make([]int64, at-len(c.arrived))...), max(0, arrived))
	c.lives = append(c.lives, slices.Repeat([]life{{born: at}}, int(*v.Jobs))...)
	c.count++
	c.asked = asked
}

// askedOf is T of a poll without the maximum, and whether it is known: otherwise it is the least that fits,
// or that of the poll before if the poll shows nothing.
func (j *judge) askedOf(v *Verdict, before int64) (asked int64, exact bool) {
	active := v.Effective != nil
	switch {
	case len(v.Triggers) > 0:
		if d := j.profile.Aggregate(j.keda, j.scalers(v.Poll)); d.Active {
			return int64(math.Ceil(min(d.Uncapped, maxWork+1))), true
		}
		return 0, true
	case !active && len(v.Errors) == 0:
		return 0, true
	case !active || v.T == nil:
		return before, false
	}
	asked = int64(v.T.Min)
	if j.bounds.Min == 0 {
		asked = max(1, asked)
	}
	return asked, v.T.Max != nil && *v.T.Max == v.T.Min && asked < j.bounds.QueueMax
}

// work makes the trace of the simulation. Item n is the work of Job n in the log, and takes as long.
func (c *course) work(live *Live) {
	var all []time.Duration
	births := int64(0)
	for _, l := range c.lives {
		if l.born >= 0 {
			births++
		}
		if l.done {
			all = append(all, time.Duration(l.ended-max(0, l.born))*c.interval)
		}
	}
	c.tookOf = report.Plural(len(all), "Job") + " that ended in the log"
	if live != nil && len(live.Took) > 0 {
		all, c.tookOf = live.Took, report.Plural(len(live.Took), "finished Job")+" in the cluster"
	}
	if len(all) > 0 {
		c.took = slices.Sorted(slices.Values(all))[len(all)/2].Round(time.Second)
	}
	if births > 0 && c.pending > 0 { // polls see a pod that starts within an interval once less
		c.startup = time.Duration(min(float64(c.pending)/float64(births), maxSlots)*float64(c.interval)) + c.interval/2
	}
	c.lead = 1 + int((c.startup+c.interval-1)/c.interval)
	n := 0
	add := func(at int, work int64) {
		row := simulation.Arrival{At: simulation.Duration(at) * simulation.Duration(c.interval)}
		for ; work > 0 && n < len(c.lives); work-- {
			row.Service = c.service(&c.lives[n])
			c.trace = append(c.trace, row)
			n++
		}
		if row.Items, row.Service = work, c.service(nil); work > 0 {
			c.trace = append(c.trace, row)
		}
	}
	add(0, c.working)
	for at, work := range c.arrived {
		add(c.lead+at, work)
	}
}

// service is how long the Job of a life works: to the end of the log at least, if it has not ended there.
// Nil is any other Job.
func (c *course) service(l *life) simulation.Duration {
	born, ended := -c.lead, len(c.polls)
	if l != nil && l.born >= 0 {
		born = l.born
	}
	d := c.took
	switch {
	case l != nil && l.done:
		d = time.Duration(l.ended-born) * c.interval
	case l != nil || d == 0:
		d = max(d, time.Duration(ended-born)*c.interval)
	}
	return simulation.Duration(max(1, d-c.startup))
}

// A replay is a release of KEDA that polls when the log does. Its first poll creates the Jobs that the log
// begins with.
type replay struct {
	simulation.KEDA
	*course
}

func (r replay) Decide(p simulation.Poll) simulation.Decision {
	at := int(p.Now.Sub(time.Unix(0, 0))/r.interval) - r.lead
	switch {
	case at == -r.lead:
		return simulation.Decision{Create: *r.polls[0].Running}
	case at < 0 || at >= len(r.polls) || r.polls[at] == nil || r.polls[at].Effective == nil && len(r.polls[at].Errors) > 0:
		return simulation.Decision{}
	}
	return r.KEDA.Decide(p)
}

// run simulates the course with a spec.
func (c *course) run(profile keda.Profile, spec keda.Spec) (o outcome, err error) {
	seconds := int32(c.interval / time.Second)
	spec.PollingInterval = &seconds
	metric := ""
	if c.waiting {
		metric = "waiting"
	}
	s := simulation.Scenario{
		Duration: simulation.Duration(c.lead+len(c.polls)) * simulation.Duration(c.interval), Drain: new(simulation.Duration),
		Policy: replay{simulation.KEDA{Profile: profile, Spec: spec}, c},
		Queues: []simulation.Queue{{Trace: c.trace, Metric: metric}},
		Jobs:   simulation.JobBehavior{Startup: simulation.Fixed(c.startup)},
	}
	if c.idle {
		s.Jobs.Wait = s.Duration
	}
	result, err := simulation.Run(s, simulation.Options{})
	if err != nil {
		return o, err
	}
	o.created = make([]int64, len(c.polls)) // a simulation without work ends earlier
	for at, t := range result.Ticks[min(c.lead, len(result.Ticks)):] {
		if at == len(c.polls) {
			break
		}
		o.created[at] = t.Created
		o.total += t.Created
		o.most = max(o.most, t.Running)
		o.left = max(0, t.Queued-t.Pending)
	}
	return o, nil
}
