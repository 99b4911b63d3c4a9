package study

import (
	"cmp"
	"math"
	"sort"
	"time"

	"github.com/scaledjob/scaledjob/simulation"
)

const (
	hour = simulation.Duration(time.Hour)
	day  = 24 * hour
)

func seconds(d simulation.Duration) float64 { return time.Duration(d).Seconds() }

func intervalOf(s simulation.Settings) simulation.Duration {
	return cmp.Or(s.Interval, simulation.Duration(30*time.Second))
}

// A watch follows the unfinished work of a run, and ends it when its trend is decided.
type watch struct {
	cycle float64 // seconds; 0 means none
	work  float64 // seconds of work that arrive in a second on average, or items
	items bool    // counts items instead of work
	// whole lets a queue that does not grow be watched to the end of the run.
	whole bool

	states []state
	next   int // polls before the next test
	stop   func() error
}

// A state is that after a poll: the unfinished work, and the work that has arrived.
type state struct{ time, work, offered float64 }

const (
	firstPolls = 1_000 // before the first test of a run
	minItems   = 200   // before a test
	flatPolls  = 3_000 // before a queue that does not grow at first is taken as flat
)

func (w *watch) record(t simulation.Tick) error {
	arrived := t.Done + t.Lost + t.Queued + t.InProgress
	if w.items {
		w.states = append(w.states, state{t.Seconds, float64(t.Queued + t.InProgress), float64(arrived)})
	} else {
		w.states = append(w.states, state{t.Seconds, t.Work, t.Offered})
	}
	if w.stop != nil {
		if err := w.stop(); err != nil {
			return err
		}
	}
	if len(w.states) < max(w.next, firstPolls) || arrived < minItems {
		return nil
	}
	w.next = len(w.states) + len(w.states)/2
	result := w.test()
	if flat := len(w.states) >= flatPolls && !w.whole && result.flat(); flat || result.certain() {
		return simulation.Stop
	}
	return nil
}

// slopes is the number of parts of a run whose growth is compared.
const slopes = 20

// A test holds the growth of the unfinished work in a second: its mean, the standard error
// and the degrees of freedom.
type test struct {
	mean, err float64
	freedom   int
	work      float64
}

// test returns the growth since the first quarter of the run, in which Jobs are created.
// Parts of the run have whole cycles.
func (w *watch) test() test {
	t := test{work: w.work}
	if len(w.states) < 3 {
		return t
	}
	end := w.states[len(w.states)-1].time
	from := end / 4
	length := (end - from) / slopes
	if w.cycle > 0 {
		length = math.Max(1, math.Floor(length/w.cycle+1e-9)) * w.cycle
		from = end - math.Floor((end-from)/length+1e-9)*length
	}
	n := int((end-from)/length + 1e-9)
	if n < 2 {
		return t
	}
	var grown, offered []float64
	last := w.stateAt(from)
	for i := range n {
		next := w.stateAt(from + float64(i+1)*length)
		span := max(next.time-last.time, 1e-9)
		grown = append(grown, (next.work-last.work)/span)
		offered = append(offered, (next.offered-last.offered)/span-w.work)
		last = next
	}
	t.freedom = n - 1
	t.mean, t.err = controlled(grown, offered)
	return t
}

// stateAt returns the state of the first poll at or after a time.
func (w *watch) stateAt(time float64) state {
	i := sort.Search(len(w.states), func(i int) bool { return w.states[i].time >= time-1e-6 })
	return w.states[min(i, len(w.states)-1)]
}

// controlled returns the mean of values and its standard error, with another variable of mean
// 0 as the control variate. Its coefficient is between 0 and 1: work that arrives is left or
// done.
func controlled(values, control []float64) (mean, err float64) {
	n := float64(len(values))
	average, other := 0.0, 0.0
	for i := range values {
		average += values[i] / n
		other += control[i] / n
	}
	both, square := 0.0, 0.0
	for i := range values {
		both += (values[i] - average) * (control[i] - other)
		square += (control[i] - other) * (control[i] - other)
	}
	factor := 0.0
	if square > 0 {
		factor = min(max(both/square, 0), 1)
	}
	sum := 0.0
	for i := range values {
		d := values[i] - average - factor*(control[i]-other)
		sum += d * d
	}
	return average - factor*other, math.Sqrt(sum / (n - 1) / n)
}

// slight is the growth, as a share of the work that arrives, that does not count.
const slight = 0.002

// grows reports whether the work rises with 99 % confidence.
func (t test) grows() bool {
	return t.freedom > 0 && t.mean > slight*t.work && t.mean > student99(t.freedom)*t.err
}

// surely is the number of standard errors with which a run can end early.
const surely = 5

func (t test) certain() bool {
	return t.freedom > 5 && t.mean-surely*t.err > 2*slight*t.work
}

func (t test) flat() bool {
	return t.freedom > 5 && t.mean+surely*t.err < 5*slight*t.work && !t.grows()
}
