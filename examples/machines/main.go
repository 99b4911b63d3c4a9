// Machines decides how many machines serve two queues, and which of them are drained: with a
// maximum for both queues, a cooldown, machines outside the pool, and a hand-shake that deletes no
// busy machine. The machines are in memory; pool.go is the part to copy.
package main

import (
	"fmt"
	"time"

	"github.com/scaledjob/scaledjob/scaling"
)

func main() {
	policy := scaling.Policy{Bounds: scaling.Bounds{Min: 1, Max: 6}}
	cooldown := scaling.Cooldown{Period: time.Minute}
	pool, checkpoint := newFleet(1), scaling.SurplusCheckpoint{}
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for poll := range 18 {
		if poll == 1 {
			pool.queues = [2]int64{5, 7}
		}
		if poll == 9 {
			pool.queues[1] = 9
		}
		d := decide(policy, cooldown, Observation{Now: now, Queues: pool.metrics(), Machines: pool.machines, External: int64(len(pool.external))}, checkpoint)
		checkpoint = d.Drain.Checkpoint
		pool.apply(d)
		fmt.Printf("%s  waiting %2d  machines %d  create %d  mark %d  take back %d  delete %d  (%s)\n", now.Format("15:04:05"),
			pool.queues[0]+pool.queues[1], len(pool.machines), d.Create, len(d.Mark), len(d.Unmark), len(d.Delete), d.Scaling.Desired.Reason.Text())
		pool.work()
		now = now.Add(20 * time.Second)
	}
}
