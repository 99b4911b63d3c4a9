package interval_test

import (
	"math"
	"math/big"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/schedule/interval"
	"github.com/scaledjob/scaledjob/test/premise"
)

func TestOneByOne(t *testing.T) {
	premise.CheckN(t, 1000, propOneByOne, premise.Least{"occurrences": 0.5, "a change of the clocks": 0.08, "a next one": 0.5})
}
func FuzzOneByOne(f *testing.F) { premise.Fuzz(f, propOneByOne) }
func TestSpansAddUp(t *testing.T) {
	premise.CheckN(t, 1000, propSpansAddUp, premise.Least{"occurrences": 0.1, "a next one": 0.2})
}
func FuzzSpansAddUp(f *testing.F) { premise.Fuzz(f, propSpansAddUp) }

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

// find looks at the clock every quarter of an hour, and every second where it is put
// forward or back, until it shows wanted or more for the first time.
func find(zone *time.Location, wanted time.Time) time.Time {
	for before := wanted.Add(-30 * time.Hour); ; {
		step := 15 * time.Minute
		if !shown(zone, before).Add(step).Equal(shown(zone, before.Add(step))) {
			step = time.Second
		}
		next := before.Add(step)
		switch at := shown(zone, next); {
		case at.Before(wanted):
			before = next
		case at.Equal(wanted):
			return next
		default:
			return before.Add(wanted.Sub(shown(zone, before)))
		}
	}
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
func propOneByOne(t *rapid.T, c *premise.Counts) {
	const n = 40
	zone := location(t, rapid.SampledFrom(zones).Draw(t, "zone"))
	r := rapid.SampledFrom(rules).Draw(t, "rule")
	start := drawNear(t, zone)
	all := naive(r, start, zone, n)
	created := start.Add(time.Duration(rapid.IntRange(-10, 30*24).Draw(t, "created")) * time.Hour)
	s := occurrences(t, "R40/"+start.Format(time.RFC3339Nano)+"/"+r.text, created, zone)
	all = slices.DeleteFunc(all, func(t time.Time) bool { return t.Before(created) })

	pivot := rapid.SampledFrom(append(slices.Clone(all), start, start.AddDate(0, 0, 5), start.AddDate(40, 0, 0)))
	from, to := pivot.Draw(t, "pivot"), pivot.Draw(t, "other pivot")
	if to.Before(from) {
		from, to = to, from
	}
	in := interval.Span{After: from.Add(time.Duration(rapid.IntRange(-200, 1).Draw(t, "back")) * time.Hour),
		Until: to.Add(time.Duration(rapid.Int64Range(-1, 300*int64(time.Hour)).Draw(t, "on")))}
	inside := slices.DeleteFunc(slices.Clone(all), func(t time.Time) bool { return !t.After(in.After) || t.After(in.Until) })

	c.Note("occurrences", len(inside) > 0)
	c.Note("a change of the clocks", len(inside) > 0 && shown(zone, inside[0]).Sub(inside[0]) != shown(zone, inside[len(inside)-1]).Sub(inside[len(inside)-1]))

	require.Equal(t, int64(len(inside)), s.Count(in))
	require.Equal(t, inside, append(inside[:0:0], within(s, in)...))
	next, ok := s.Next(in.After)
	i := slices.IndexFunc(all, func(t time.Time) bool { return t.After(in.After) })
	c.Note("a next one", i >= 0)
	require.Equal(t, i >= 0, ok)
	if ok {
		require.Equal(t, all[i], next)
	}
	if i >= 0 {
		require.Equal(t, all[i:min(i+3, len(all))], nextN(s, in.After, 3))
	}
}

// dusk is the last that a time can hold.
var dusk = time.Unix(math.MaxInt64-62_135_596_800, 999_999_999)

// Whatever the interval and the times: spans add up, and one occurrence lies between
// a time and the next occurrence.
func propSpansAddUp(t *rapid.T, held *premise.Counts) {
	text := drawText.Filter(func(text string) bool { _, err := interval.Parse(text); return err == nil }).Draw(t, "text")
	anyTime := rapid.OneOf(
		rapid.Map(rapid.Int64Range(-70_000_000_000, 260_000_000_000), func(s int64) time.Time { return time.Unix(s, 7).UTC() }),
		rapid.Map(rapid.Int64(), func(s int64) time.Time { return time.Unix(s, 0).UTC() }),
		rapid.SampledFrom([]time.Time{time.Unix(0, 0), created, dusk}),
		rapid.Map(rapid.IntRange(-50, 20_000), func(hours int) time.Time { return created.Add(time.Duration(hours) * time.Hour) }),
	)
	s := occurrences(t, text, anyTime.Draw(t, "created"), location(t, rapid.SampledFrom(zones).Draw(t, "zone")))
	times := []time.Time{anyTime.Draw(t, "a"), anyTime.Draw(t, "b"), anyTime.Draw(t, "c")}
	slices.SortFunc(times, time.Time.Compare)
	a, b, c := times[0], times[1], times[2]

	ab, bc := s.Count(interval.Span{After: a, Until: b}), s.Count(interval.Span{After: b, Until: c})
	sum := new(big.Int).Add(big.NewInt(ab), big.NewInt(bc))
	require.Equal(t, sum.String(), big.NewInt(s.Count(interval.Span{After: a, Until: c})).String())
	require.True(t, ab >= 0 && bc >= 0)
	require.Zero(t, s.Count(interval.Span{After: b, Until: a}))

	held.Note("occurrences", ab+bc > 0)
	next, ok := s.Next(b)
	held.Note("a next one", ok)
	require.Equal(t, ok, s.Count(interval.Span{After: b, Until: dusk}) > 0)
	if !ok {
		return
	}
	require.True(t, next.After(b))
	require.Equal(t, int64(1), s.Count(interval.Span{After: b, Until: next}))
	last, _ := s.Last(next)
	require.Equal(t, next, last)
}

func TestTimeOfDay(t *testing.T) {
	premise.CheckN(t, 2000, propTimeOfDay, premise.Least{"a gap": 0.05, "an overlap": 0.005})
}
func FuzzTimeOfDay(f *testing.F) { premise.Fuzz(f, propTimeOfDay) }

// A time of day without an offset is that time on the clocks of the zone, every day
// from the creation on. Only where clocks skip it, it is later.
func propTimeOfDay(t *rapid.T, c *premise.Counts) {
	zone := location(t, rapid.SampledFrom(zones).Draw(t, "zone"))
	created := drawNear(t, zone)
	_, end := created.In(zone).ZoneBounds()
	change := int(shown(zone, end).Sub(shown(zone, end).Truncate(24 * time.Hour)).Seconds())
	near := rapid.Map(rapid.SampledFrom([]int{-3600, -1800, -1, 0, 1, 1800, 3599, 3600}), func(s int) int { return (change + s + 86_400) % 86_400 })
	second := rapid.OneOf(near, near, rapid.IntRange(0, 86_399)).Draw(t, "second")
	clock := time.Unix(int64(second), 0).UTC().Format("T15:04:05")
	s := occurrences(t, "R/"+clock+"/P1D", created, zone)

	var want []time.Time
	today := shown(zone, created).Truncate(24 * time.Hour)
	for days := -2; len(want) < 6; days++ {
		at := find(zone, today.AddDate(0, 0, days).Add(time.Duration(second)*time.Second))
		if !at.Before(created) && (want == nil || at.After(want[len(want)-1])) {
			want = append(want, at)
		}
	}
	require.Equal(t, want, nextN(s, created.Add(-1), 6))
	gap, overlap := false, false
	for _, at := range want {
		kinds := map[string]bool{}
		for _, note := range s.Notes(at) {
			kinds[note.Kind] = true
		}
		// Notes agree with the clocks: a gap is where they show another time, and an
		// overlap is where they show the time once more within a day and a half.
		require.Equal(t, shown(zone, at).Format("T15:04:05") != clock, kinds["gap"], "%v", at.In(zone))
		require.Equal(t, again(zone, at), kinds["overlap"], "%v", at.In(zone))
		require.False(t, kinds["clamped month"])
		gap, overlap = gap || kinds["gap"], overlap || kinds["overlap"]
	}
	c.Note("a gap", gap)
	c.Note("an overlap", overlap)
}

// again reports whether clocks show a time twice: once more with an offset that they
// have within 26 hours, looking every quarter of an hour.
func again(zone *time.Location, at time.Time) bool {
	for ahead := -26 * time.Hour; ahead <= 26*time.Hour; ahead += 15 * time.Minute {
		near := at.Add(ahead)
		other := at.Add(shown(zone, at).Sub(at) - shown(zone, near).Sub(near))
		if !other.Equal(at) && shown(zone, other).Equal(shown(zone, at)) {
			return true
		}
	}
	return false
}

// No interval has no occurrences, wherever one looks. A zero Until is no bound.
func TestZeroOccurrences(t *testing.T) {
	none, err := interval.Interval{}.Occurrences(time.Time{}, nil)
	require.NoError(t, err)
	for _, s := range []interval.Occurrences{{}, none, occurrences(t, "R0//PT1S", created, nil)} {
		_, ok := s.Next(time.Time{})
		require.False(t, ok)
		require.Empty(t, nextN(s, time.Time{}, 3))
		require.Empty(t, s.Notes(created))
		for _, always := range []interval.Span{{}, {Until: created.AddDate(5000, 0, 0)}} {
			require.Zero(t, s.Count(always))
			require.Empty(t, within(s, always))
		}
	}
}

// An interval that needs a creation time does not silently do without.
func TestNoCreation(t *testing.T) {
	for _, text := range []string{"R5//PT1H", "R/T02:00:00/P1D", "R/T02:00:00Z/P1D"} {
		_, err := parse(t, text).Occurrences(time.Time{}, nil)
		require.ErrorContains(t, err, text[:2])
		require.ErrorContains(t, err, "pass a creation time")
	}
	for _, text := range []string{"R2/2026-01-01T00:00Z/PT1H", "R2/2026-01-01T00:00Z/2026-01-01T01:00Z", "R2/PT1H/2026-01-01T02:00Z"} {
		require.Equal(t, []time.Time{created, created.Add(time.Hour)}, nextN(occurrences(t, text, time.Time{}, nil), time.Time{}, 9), text)
	}
}
