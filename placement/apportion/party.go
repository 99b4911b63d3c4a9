package apportion

import (
	"errors"
	"fmt"
	"math"
)

// A Party takes seats. The zero value has no weight, and takes none.
type Party struct {
	Weight int32  // relative to those of the others; below 0 it counts as 0
	Held   int32  // seats that it has already; below 0 it counts as 0
	Cap    int32  // with Capped, the most seats it may have, those held included; below 0 it counts as 0
	Capped bool   // otherwise Cap means nothing
	Rank   uint64 // of two that are equal in all else, the lower comes first
}

func (p *Party) held() int64 { return int64(max(0, p.Held)) }

// room is how many seats the party may take. Where it has no cap that is more
// than there can be.
func (p *Party) room() int64 {
	switch {
	case p.Weight <= 0:
		return 0
	case !p.Capped:
		return math.MaxInt32
	}
	return max(0, int64(p.Cap)-p.held())
}

// Validate returns everything that [Webster] takes for something else, or cannot
// give seats to, joined, each a [*FieldError]: a negative number, and seats where
// nobody has weight.
func Validate(seats int32, parties []Party) error {
	var problems []error
	check := func(ok bool, field string, found any, want string) {
		if !ok {
			problems = append(problems, &FieldError{field, found, want})
		}
	}
	weighty := seats <= 0 || len(parties) == 0
	check(seats >= 0, "seats", seats, "0 or more")
	check(len(parties) > 0, "parties", "empty", "at least one party")
	for i, p := range parties {
		check(p.Weight >= 0, fmt.Sprintf("parties[%d].Weight", i), p.Weight, "0 or more")
		check(p.Held >= 0, fmt.Sprintf("parties[%d].Held", i), p.Held, "0 or more")
		check(!p.Capped || p.Cap >= 0, fmt.Sprintf("parties[%d].Cap", i), p.Cap, "0 or more")
		weighty = weighty || p.Weight > 0
	}
	check(weighty, "parties", "without weight", "at least one weight above 0")
	return errors.Join(problems...)
}

// A FieldError is one problem of the arguments.
type FieldError struct {
	Field string // such as "seats" or "parties[2].Weight"
	Found any
	Want  string // what would be right
}

// Error names the field, what was found and what would be right.
func (e *FieldError) Error() string {
	return fmt.Sprintf("%s is %v: want %s", e.Field, e.Found, e.Want)
}
