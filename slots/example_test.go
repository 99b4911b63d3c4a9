package slots_test

import (
	"fmt"
	"strconv"
	"time"

	"github.com/scaledjob/scaledjob/slots"
)

// A provider of machines has machines by name, and whether each has stopped. Its second answer is lost.
type provider struct {
	machines map[string]bool
	calls    int
}

func (c *provider) start(name string) (answered bool) {
	c.calls++
	c.machines[name] = false
	return c.calls != 2
}

// observe passes a list of the machines on. It begins at once, and is no older.
func (c *provider) observe(s *slots.Set, now time.Time) {
	var objects []slots.Object
	for name, stopped := range c.machines {
		number, _ := strconv.ParseInt(name, 10, 64)
		objects = append(objects, slots.Object{Number: number, UID: name, Finished: stopped})
	}
	s.Replace(objects, now)
}

// send carries a request out.
func (c *provider) send(s *slots.Set, q slots.Request, now time.Time) (r slots.Result, uid string) {
	name := fmt.Sprint(q.Number)
	stopped, exists := c.machines[name]
	switch q.Verb {
	case slots.Delete:
		delete(c.machines, q.UID)
	case slots.List:
		c.observe(s, now)
	case slots.Create, slots.Read:
		switch {
		case stopped:
			return slots.Occupied, name
		case !exists && q.Verb == slots.Read:
			return slots.Absent, ""
		case !exists && !c.start(name):
			return slots.Unanswered, ""
		}
	default: // the marks: there is no lease to write them to
		return slots.NoEffect, ""
	}
	return slots.Done, name
}

// Machines of a provider, at most 3. An answer is lost, and no machine is started twice.
func Example() {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	c := &provider{machines: map[string]bool{}}
	s := slots.New(slots.Options{RequestLifetime: time.Minute, Start: now}) // requests time out after 30 seconds
	for _, total := range []int64{2, 5, 5} {
		c.observe(s, now)
		s.Begin(slots.Demand{Create: total - s.Unfinished(), Max: 3}, now)
		for batch := s.Next(now); len(batch) > 0; batch = s.Next(now) {
			for _, q := range batch {
				result, uid := c.send(s, q, now)
				s.Answer(q, result, uid, now)
			}
		}
		fmt.Println(len(c.machines), "machines,", c.calls, "calls")
		for _, h := range s.Holds(now) {
			fmt.Println("   ", h.Reason, "-", h.Text)
		}
		c.machines["1"] = total == 5 // it stops
		now = now.Add(time.Minute)
	}
	// Output:
	// 2 machines, 2 calls
	//     BackingOff - the last creates failed
	//     CreatesUnanswered - 1 create was not answered and takes capacity
	// 3 machines, 3 calls
	// 4 machines, 4 calls
}
