package requests_test

import (
	"context"
	"fmt"

	"github.com/scaledjob/scaledjob/adapter/requests"
)

// A file that one process at a time may lock.
type lockFile struct{ lost bool }

func (l *lockFile) Valid() bool { return !l.lost }

func (l *lockFile) Mark(context.Context) error { return requests.ErrNoMark }

// A process takes a lease, loses it, and takes it again: what began in the first term stays ended.
func Example() {
	terms, file := &requests.Terms{}, &lockFile{}
	fmt.Println("before:", terms.Err())
	ctx := requests.WithTerm(context.Background(), terms.Begin(file, false))
	fmt.Println("leads:", terms.MayAct(), requests.CheckTerm(ctx))
	file.lost = true
	fmt.Println("lost:", terms.MayAct())
	file.lost = false
	fmt.Println("valid again:", terms.MayAct())
	terms.Begin(file, false)
	fmt.Println("taken again:", terms.MayAct())
	fmt.Println("a request of the first term:", requests.CheckTerm(ctx))
	// Output:
	// before: this process is not the leader
	// leads: true <nil>
	// lost: false
	// valid again: false
	// taken again: true
	// a request of the first term: this process is not the leader
}
