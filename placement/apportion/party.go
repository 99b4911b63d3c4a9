package apportion

import (
	"fmt"
	"math"

	"github.com/scaledjob/scaledjob/field"
)

// A Party takes seats. The zero value has no weight, and takes none.
type Party struct {
	Weight int32  // relative to other weights; below 0 it counts as 0
	Held   int32  // seats that it has already; below 0 it counts as 0
	Cap    int32  // with Capped, the most seats it may have, including Held; below 0 it counts as 0
	Capped bool   // otherwise Cap means nothing
	Rank   uint64 // of two that are equal in all else, the lower comes first
}

func (p *Party) held() int64 { return int64(max(0, p.Held)) }

// room returns the number of seats that the party may take. Without a cap it is more than
// there can be.
func (p *Party) room() int64 {
	switch {
	case p.Weight <= 0:
		return 0
	case !p.Capped:
		return math.MaxInt32
	}
	return max(0, int64(p.Cap)-p.held())
}

// Validate returns each problem of the arguments as a [*field.Error], joined: negative
// numbers, and seats without a party that has weight. [Webster] is defined for such
// arguments too.
func Validate(seats int32, parties []Party) error {
	var e field.Errors
	weighty := seats <= 0 || len(parties) == 0
	e.AtLeast("seats", int64(seats), 0)
	e.Check(len(parties) > 0, "parties", nil, "at least one party")
	for i, p := range parties {
		path := fmt.Sprintf("parties[%d].", i)
		e.AtLeast(path+"Weight", int64(p.Weight), 0)
		e.AtLeast(path+"Held", int64(p.Held), 0)
		e.Check(!p.Capped || p.Cap >= 0, path+"Cap", p.Cap, "0 or more")
		weighty = weighty || p.Weight > 0
	}
	if !weighty {
		e.Add(field.Error{Path: "parties", Found: "no weight", Fix: "at least one weight above 0"})
	}
	return e.Err()
}
