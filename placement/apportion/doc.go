// Package apportion divides seats among parties by weight, by Webster's method
// (Sainte-Laguë), in whole numbers.
//
//	shares, unplaced := apportion.Webster(10, []apportion.Party{{Weight: 2}, {Weight: 1}}) // 7, 3 and 0
//
// Party i has the tickets (i, 0), (i, 1), (i, 2) and so on, where (i, k) is its
// seat number k+1. All tickets stand in one order:
//
//	the larger weight_i / (2k + 1) first,
//	then the smaller k: the party with fewer seats comes first,
//	then the smaller rank_i, then the smaller i
//
// n seats go to the first n tickets. A party that holds seats already has only later
// tickets. A cap leaves out the tickets above it. A party without weight has no ticket.
//
// The order depends neither on n nor on the other parties. It follows:
//
//	I1  all seats are given, as long as anyone may take them
//	I2  no share is negative, and without weight there is none
//	I3  another seat goes to a single party, and no party loses any (house monotone)
//	I4  when a party leaves, exactly its seats move and no other loses any;
//	    when it comes back, exactly these seats return (subset consistent)
//	I5  more weight never means fewer seats, nor more for another (population monotone)
//	I6  only the proportions of the weights matter
//	I7  the order of the parties matters in ties alone
//	I8  between two parties, shares are within 1 of the exact quota
//	I9  there is no history: equal arguments have equal results
//
// Methods that keep every share within its quota, such as largest remainder, break I3 to
// I5 (Balinski and Young): another seat, or a party that leaves, may then take a seat from
// an uninvolved party.
//
// # Cost
//
// The cost depends on the parties and not on the seats (BenchmarkWebster).
// All tickets down to a quotient are given at once. Bisection finds the quotient. The rest, about
// two seats for each party, is given ticket by ticket from a heap.
package apportion
