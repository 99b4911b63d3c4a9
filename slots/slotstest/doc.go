// Package slotstest explores a controller's loop over package slots in every order of
// events: lost, late and refused requests, late observations, lists, restarts, standbys and
// edits, to a stated depth. [Explore] returns the shortest sequence of events that breaks a
// promise. An author implements [Loop] with the code that his controller runs.
//
// # Depth
//
// A fault needs a number of events. A loop without one of the rules of package slots breaks the maximum in no
// fewer than these, with a maximum of 1 (of 2 at the first). A search that is less deep finds nothing. A maximum of 1 has the
// fewest states at a depth: use it first.
//
//	 9  1: numbers above the highest
//	11  2: an answered create is over
//	15  2: a create ends by name
//	16  2: a list forgets creates
//	 7  3: a create that was not answered is over
//	 9  3: L is too short
//	10  3: L counts from the return of a call
//	 7  4: deletes beside a create that was not answered
//	 7  4: deletes beside a create under way
//	 8  4: deletes within L of the start
//	 7  5: creates while a deleted object is shown
//	11  5: a list forgets deletes
//	 9  6: the cache of a standby
//	 6  7: a number is skipped freely
//	10  7: a number is skipped without a read after L
//	11  7: a number is skipped without the mark
//	13  7: a term with the mark creates at once
//	14  7: the mark goes within L of the start
//	 6  a finished object is deleted by others
//	 8  a delete of an earlier process arrives
//
// A loop that stops for ever is found by [Config].Deaf = false at any depth, after 63 events and polls.
package slotstest
