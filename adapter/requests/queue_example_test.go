package requests_test

import (
	"context"
	"fmt"
	"sync"

	"github.com/scaledjob/scaledjob/adapter/requests"
)

// A refusal makes an owner congested, and a success ends it. No other owner waits for him.
func ExampleQueue_Do() {
	queue, owner := requests.NewQueue(4), requests.Owner{Namespace: "shop", Name: "orders"}
	for _, answer := range []requests.Answer{requests.Refused, requests.Success} {
		var done sync.WaitGroup
		done.Add(1)
		queue.Do(context.Background(), owner, func(ctx context.Context) {
			defer done.Done()
			slot, free, err := queue.Wait(ctx) // the slot of Do
			if err != nil {
				return
			}
			defer free()
			slot.Sends("POST jobs")
			slot.Answered(answer, 0)
		})
		done.Wait()
		fmt.Println("congested:", queue.IsCongested(owner))
	}
	// Output:
	// congested: true
	// congested: false
}
