package apportion

import "math"

// Webster divides the seats. It returns each party's share, without the seats it
// held before, and the seats that no party could take. Negative seats are none.
func Webster(seats int32, parties []Party) (shares []int32, left int32) {
	shares = make([]int32, len(parties))
	rest := int64(max(0, seats)) - begin(shares, int64(seats), parties)
	for s := after(shares, parties); rest > 0 && !s.Full(); rest-- {
		party, _ := s.Next(nil)
		shares[party]++
	}
	return shares, int32(rest)
}

// begin gives seats that are among the first n tickets, at most about two for each party
// fewer than n or than there are, and returns their number.
//
// All tickets with (2k + 1) / weight up to a line are the first of the order. Bisection finds a
// line with n of them or fewer. A line is rounded, so that the last ticket of each party
// below it does not count.
func begin(shares []int32, n int64, parties []Party) (given int64) {
	due := func(p *Party, line float64) int64 {
		return max(0, min(int64(min((float64(p.Weight)*line+1)/2, 1<<33))-p.held(), p.room()))
	}
	low, high := 0.0, math.Exp2(34) // beyond the last ticket of a party with weight 1
	for range 128 {
		line, sum := (low+high)/2, int64(0)
		for i := range parties {
			sum += due(&parties[i], line)
		}
		if sum > n {
			high = line
		} else if low = line; n-sum <= int64(len(parties)) {
			break
		}
	}
	for i := range parties {
		share := max(0, due(&parties[i], low)-1)
		shares[i] = int32(share)
		given += share
	}
	return given
}
