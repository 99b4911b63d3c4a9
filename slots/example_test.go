package slots_test

import (
	"fmt"
	"strconv"
	"time"

	"github.com/scaledjob/scaledjob/slots"
)

// A cloud has machines by name, and whether each has stopped. Its second answer is lost.
type cloud struct {
	machines map[string]bool
	calls    int
}

func (c *cloud) start(name string) (answered bool) {
	c.calls++
	c.machines[name] = false
	return c.calls != 2
}

// observe passes a list of the machines on. It begins at once, and is no older.
func (c *cloud) observe(s *slots.Set, now time.Time) {
	var all []slots.Object
	for name, stopped := range c.machines {
		number, _ := strconv.ParseInt(name, 10, 64)
		all = append(all, slots.Object{Slot: slots.Slot{Number: number}, UID: name, Finished: stopped})
	}
	s.Replace(all, now)
}

// send carries a request out.
func (c *cloud) send(s *slots.Set, q slots.Request, now time.Time) (r slots.Result, uid string) {
	name := q.Slot.Name("")
	stopped, exists := c.machines[name]
	switch q.Verb {
	case "delete":
		delete(c.machines, q.UID)
	case "list":
		c.observe(s, now)
	case "create", "read":
		switch {
		case stopped:
			return slots.Taken, name
		case !exists && q.Verb == "read":
			return slots.None, ""
		case !exists && !c.start(name):
			return slots.Unanswered, ""
		}
	default: // the marks: there is no lease to write them to
		return slots.None, ""
	}
	return slots.Done, name
}

// Machines of a cloud, at most 3. An answer is lost, and no machine is started twice.
func Example() {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	c := &cloud{machines: map[string]bool{}}
	s := slots.New(slots.Options{Late: time.Minute, Start: now}) // requests time out after 30 seconds
	for _, wanted := range []int64{2, 5, 5} {
		c.observe(s, now)
		w := slots.Want{Create: wanted - s.Unfinished(), Max: 3}
		s.Want(w, now)
		for batch := s.Next(now); len(batch) > 0; batch = s.Next(now) {
			for _, q := range batch {
				result, uid := c.send(s, q, now)
				s.Answer(q, result, uid, now)
			}
		}
		fmt.Println(len(c.machines), "machines,", c.calls, "calls")
		for _, h := range s.Holds(w, now) {
			fmt.Println("   ", h.Rule, "-", h.Text)
		}
		c.machines["1"] = wanted == 5 // it stops
		now = now.Add(time.Minute)
	}
	// Output:
	// 2 machines, 2 calls
	//     backedOff - the last creates failed
	//     inDoubt - 1 creates were not answered and take capacity
	// 3 machines, 3 calls
	// 4 machines, 4 calls
}
