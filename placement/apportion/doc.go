// Package apportion divides seats among parties by weight, by Webster's method
// (Sainte-Laguë), in whole numbers.
//
// Party i has the tickets (i, 0), (i, 1), (i, 2) and so on, where (i, k) is its
// seat number k+1. All tickets stand in one order:
//
//	the larger weight_i / (2k + 1) first,
//	then the smaller k, so that of equals the one with fewer seats comes first,
//	then the smaller rank_i, and the smaller i, for what ties are left
//
// n seats go to the first n tickets. A party that holds seats already has only
// the tickets from there on, one with a cap only those below it, and one without
// weight has none.
//
// The order depends neither on n nor on who else is there. From that follow
//
//	I1  all seats are given, as long as anyone may take them
//	I2  no share is negative, and without weight there is none
//	I3  one seat more goes to one party, and nobody loses any (house monotone)
//	I4  when a party leaves, exactly its seats move and nobody else loses any;
//	    when it comes back, exactly those return (subset consistent)
//	I5  more weight never means fewer seats, nor more for another (population monotone)
//	I6  only the proportions of the weights matter
//	I7  the order of the parties matters in ties alone
//	I8  between two parties, shares are within one of the exact quota
//	I9  there is no history: equal arguments have equal results
//
// TestI1 to TestI9 check each, FuzzOracle that the shares are those of the
// definition, taken ticket by ticket. Methods that keep every share within its
// quota, such as that of the largest remainder, break I3 to I5 (Balinski and
// Young): adding a seat or losing a party may then take a seat from a bystander.
//
// # Cost
//
// The cost depends on the parties and not on the seats (BenchmarkWebster).
// All tickets down to a quotient are given at once, by rounding each party's
// exact quota; what that is off by, a seat for every other party at most, is
// given or taken back ticket by ticket from a heap. Seats held already and caps
// that bind need a round more each time a party turns out to be beyond them.
package apportion
