package schedule_test

import (
	"math"
	"math/big"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/schedule"
)

func TestOneByOne(t *testing.T)       { rapid.Check(t, propOneByOne) }
func FuzzOneByOne(f *testing.F)       { f.Fuzz(rapid.MakeFuzz(propOneByOne)) }
func TestLawsOfInstants(t *testing.T) { rapid.Check(t, propLaws) }
func FuzzLawsOfInstants(f *testing.F) { f.Fuzz(rapid.MakeFuzz(propLaws)) }

// Zones with changes of half an hour to a day, at midnight, in Ramadan, backwards
// in winter, and of none.
var zones = []string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "Pacific/Fakaofo",
	"Pacific/Kwajalein", "Pacific/Kiritimati", "Pacific/Kanton", "Pacific/Guam", "Asia/Manila", "America/Juneau",
	"America/Sao_Paulo", "America/Havana", "America/Caracas", "America/Santiago", "Africa/Casablanca", "Africa/Cairo",
	"Africa/Monrovia", "Asia/Tehran", "Asia/Beirut", "Asia/Kathmandu", "Asia/Pyongyang", "Antarctica/Troll",
	"Europe/Dublin", "Europe/Lisbon"}

// A rule is a duration as the oracle sees it.
type rule struct {
	text         string
	months, days int
	exact        time.Duration
}

var rules = []rule{
	{"P1D", 0, 1, 0}, {"P1M", 1, 0, 0}, {"P1Y", 12, 0, 0}, {"P1W", 0, 7, 0}, {"P3D", 0, 3, 0}, {"P1M1D", 1, 1, 0},
	{"PT1H", 0, 0, time.Hour}, {"PT7M", 0, 0, 7 * time.Minute}, {"PT0.3S", 0, 0, 300 * time.Millisecond},
	{"P1DT1H", 0, 1, time.Hour}, {"P2MT36H", 2, 0, 36 * time.Hour}, {"P1Y1M1DT0.000000001S", 13, 1, 1}, {"P1.5D", 0, 1, 12 * time.Hour},
}

// naive finds the first instants one by one: the date by counting months and days,
// and what a clock shows by looking at it.
func naive(r rule, start time.Time, zone *time.Location, n int) []time.Time {
	shows := shown(zone, start)
	all := []time.Time{start}
	for k := 1; k < n; k++ {
		t := start
		if r.months+r.days > 0 {
			year, month := shows.Year(), int(shows.Month())-1+k*r.months
			year, month = year+month/12, month%12+1
			date := shows.Day()
			for time.Date(year, time.Month(month), date, 0, 0, 0, 0, time.UTC).Month() != time.Month(month) {
				date--
			}
			t = find(zone, time.Date(year, time.Month(month), date+k*r.days, shows.Hour(), shows.Minute(), shows.Second(),
				shows.Nanosecond(), time.UTC))
		}
		for range k {
			t = t.Add(r.exact)
		}
		if t.After(all[len(all)-1]) {
			all = append(all, t)
		}
	}
	return all
}

// shown is what a clock shows, written down as if it were UTC.
func shown(zone *time.Location, t time.Time) time.Time {
	l := t.In(zone)
	return time.Date(l.Year(), l.Month(), l.Day(), l.Hour(), l.Minute(), l.Second(), l.Nanosecond(), time.UTC)
}

// find looks at the clock every quarter of an hour for the last time that it shows
// less than wanted before it shows that or more, and then every second.
func find(zone *time.Location, wanted time.Time) time.Time {
	before := wanted.Add(-30 * time.Hour)
	for step := 15 * time.Minute; step >= time.Second; step /= 30 {
		for shown(zone, before.Add(step)).Before(wanted) {
			before = before.Add(step)
		}
	}
	if next := before.Add(time.Second); shown(zone, next).Equal(wanted) {
		return next
	}
	return before.Add(wanted.Sub(shown(zone, before)))
}

func drawTime(t *rapid.T, name string) time.Time {
	from := time.Date(1840, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	return time.Unix(rapid.Int64Range(from, 2_500_000_000).Draw(t, name), rapid.SampledFrom([]int64{0, 0, 1, 999_999_999}).Draw(t, name+" nanos")).UTC()
}

// near the changes of a zone, at which errors would be.
func drawNear(t *rapid.T, zone *time.Location) time.Time {
	at := drawTime(t, "start")
	if _, end := at.In(zone).ZoneBounds(); !end.IsZero() && end.Year() < 2100 {
		at = end.Add(time.Duration(rapid.IntRange(-5*24*4, 5*24*4).Draw(t, "quarters")) * 15 * time.Minute)
	}
	return at.UTC()
}

// Each function gives what is found one by one.
func propOneByOne(t *rapid.T) {
	const n = 40
	zone := location(t, rapid.SampledFrom(zones).Draw(t, "zone"))
	r := rapid.SampledFrom(rules).Draw(t, "rule")
	start := drawNear(t, zone)
	all := naive(r, start, zone, n)
	created := start.Add(time.Duration(rapid.IntRange(-10, 30*24).Draw(t, "created")) * time.Hour)
	s := parse(t, "R40/"+start.Format(time.RFC3339Nano)+"/"+r.text).Instants(created, zone)
	all = slices.DeleteFunc(all, func(t time.Time) bool { return t.Before(created) })

	pivot := rapid.SampledFrom(append(slices.Clone(all), start, start.AddDate(0, 0, 5), start.AddDate(40, 0, 0))).Draw(t, "pivot")
	in := schedule.Span{After: pivot.Add(time.Duration(rapid.IntRange(-200, 1).Draw(t, "back")) * time.Hour),
		Until: pivot.Add(time.Duration(rapid.Int64Range(-1, 300*int64(time.Hour)).Draw(t, "on")))}
	within := slices.DeleteFunc(slices.Clone(all), func(t time.Time) bool { return !t.After(in.After) || t.After(in.Until) })

	require.Equal(t, within, slices.AppendSeq(within[:0:0], s.All(in)))
	require.Equal(t, int64(len(within)), s.Count(in))
	slices.Reverse(within)
	require.Equal(t, within, slices.AppendSeq(within[:0:0], s.Backward(in)))
	next, ok := s.Next(in.After)
	i := slices.IndexFunc(all, func(t time.Time) bool { return t.After(in.After) })
	require.Equal(t, i >= 0, ok)
	if ok {
		require.Equal(t, all[i], next)
	}
	last, ok := s.Last(in.Until)
	i = slices.IndexFunc(all, func(t time.Time) bool { return t.After(in.Until) })
	if i < 0 {
		i = len(all)
	}
	require.Equal(t, i > 0, ok)
	if ok {
		require.Equal(t, all[i-1], last)
	}
}

// dusk is the last that a time can hold.
var dusk = time.Unix(math.MaxInt64-62_135_596_800, 999_999_999)

// Whatever the interval and the times: spans add up, and one instant lies between
// one and the next.
func propLaws(t *rapid.T) {
	text := drawText.Filter(func(text string) bool { _, err := schedule.Parse(text); return err == nil }).Draw(t, "text")
	anyTime := rapid.OneOf(
		rapid.Map(rapid.Int64Range(-70_000_000_000, 260_000_000_000), func(s int64) time.Time { return time.Unix(s, 7).UTC() }),
		rapid.Map(rapid.Int64(), func(s int64) time.Time { return time.Unix(s, 0).UTC() }),
		rapid.SampledFrom([]time.Time{{}, created, dusk}),
	)
	s := parse(t, text).Instants(anyTime.Draw(t, "created"), location(t, rapid.SampledFrom(zones).Draw(t, "zone")))
	times := []time.Time{anyTime.Draw(t, "a"), anyTime.Draw(t, "b"), anyTime.Draw(t, "c")}
	slices.SortFunc(times, time.Time.Compare)
	a, b, c := times[0], times[1], times[2]

	ab, bc := s.Count(schedule.Span{After: a, Until: b}), s.Count(schedule.Span{After: b, Until: c})
	sum := new(big.Int).Add(big.NewInt(ab), big.NewInt(bc))
	require.Equal(t, sum.String(), big.NewInt(s.Count(schedule.Span{After: a, Until: c})).String())
	require.True(t, ab >= 0 && bc >= 0)
	require.Zero(t, s.Count(schedule.Span{After: b, Until: a}))

	next, ok := s.Next(b)
	require.Equal(t, ok, s.Count(schedule.Span{After: b, Until: dusk}) > 0)
	if !ok {
		return
	}
	require.True(t, next.After(b))
	require.Equal(t, int64(1), s.Count(schedule.Span{After: b, Until: next}))
	last, ok := s.Last(next)
	require.True(t, ok)
	require.Equal(t, next, last)
	before, ok := s.Last(next.Add(-1))
	require.True(t, !ok || !before.After(b))
}

// Through two centuries of days, in every zone.
func TestEveryDay(t *testing.T) {
	for _, zone := range zones {
		for _, step := range []string{"P1D", "P1M"} {
			s := parse(t, "R/1840-01-01T12:34:56Z/"+step).Instants(time.Time{}, location(t, zone))
			in := schedule.Span{Until: time.Date(2045, 1, 1, 0, 0, 0, 0, time.UTC)}
			n, before := int64(0), time.Time{}
			for at := range s.All(in) {
				if !at.After(before) {
					t.Fatalf("%s in %s: %v after %v", step, zone, at, before)
				}
				n, before = n+1, at
			}
			require.Equal(t, n, s.Count(in), "%s in %s", step, zone)
		}
	}
}
