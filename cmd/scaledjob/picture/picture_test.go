package picture

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/simulation"
)

// wellFormed fails unless the text is XML, and returns its words.
func wellFormed(t *testing.T, svg string) string {
	t.Helper()
	var words []string
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return strings.Join(words, "|")
		}
		require.NoError(t, err)
		if data, ok := token.(xml.CharData); ok {
			words = append(words, string(data))
		}
	}
}

// result is a run of a policy in which a poll each minute leaves so many items.
func result(policy string, queued ...int64) simulation.Result {
	var r simulation.Result
	for i, n := range queued {
		r.Ticks = append(r.Ticks, simulation.Tick{Seconds: float64(60 * i), Queued: n, Running: 2 * n})
	}
	r.Summary.Policy, r.Summary.Seconds = policy, float64(60*len(queued))
	r.Summary.Wait = simulation.Times{P50: 10, P95: 100, P99: 200, Max: 1000}
	return r
}

// Policies share a chart, with the maximum, and names are escaped.
func TestCharts(t *testing.T) {
	results := []simulation.Result{result("a<b", 5, 9, 1), result("c", 2, 3, 4)}
	items := wellFormed(t, Items(results))
	require.Contains(t, items, "Items waiting|")
	require.Contains(t, items, "a<b|")
	require.Contains(t, items, "minutes\na<b: 9\nc: 3", "hovering over the second minute")
	jobs := Jobs(results, 15)
	require.Contains(t, wellFormed(t, jobs), "maximum 15|")
	require.Contains(t, jobs, `class="p0 line"`)
	require.Contains(t, jobs, `class="p1 line"`)
	require.NotContains(t, wellFormed(t, Jobs(results, 100)), "maximum", "a maximum far above would hide the Jobs")
	require.Contains(t, wellFormed(t, Waits(results)), "c: 50 % 10s, 95 % 100s, 99 % 200s, all 1000s")
	sheet := wellFormed(t, string(Sheet(Items(results), jobs)))
	require.Contains(t, sheet, "maximum 15|")
}

// Each of many policies looks different.
func TestManyPolicies(t *testing.T) {
	var results []simulation.Result
	for i := range 2 * Colours {
		results = append(results, result(fmt.Sprint("policy ", i), 1, 2))
	}
	for _, chart := range []string{Items(results), Waits(results)} {
		for i := range results {
			require.Contains(t, chart, `class="`+colour(i)+` line"`)
			require.Contains(t, chart, `class="`+colour(i)+` dot"`)
		}
	}
	require.Equal(t, "p0 again", colour(Colours))
	require.Contains(t, Style, ".again.line { stroke-dasharray: 2 2; }")
}

func TestUnits(t *testing.T) {
	for unit, seconds := range map[string]float64{"seconds": 100, "minutes": 4000, "hours": 40_000, "days": 400_000} {
		r := result("a", 1, 2)
		r.Summary.Seconds = seconds
		require.Contains(t, wellFormed(t, Items([]simulation.Result{r})), "|"+unit+"|")
	}
}

// Results may be empty, and numbers of any size.
func TestEmptyAndExtreme(t *testing.T) {
	huge := result("huge", math.MaxInt64, 0)
	huge.Summary.Wait.Max = 1e300
	for _, svg := range []string{
		Items(nil), Items([]simulation.Result{{}}), Jobs([]simulation.Result{result("a", 0)}, 0), Waits(nil), Waits([]simulation.Result{{}}),
		Front(nil, nil), Front([]simulation.Point{{}}, nil), Front([]simulation.Point{{ParetoOptimal: true}}, &simulation.Summary{}),
		Items([]simulation.Result{huge}), Jobs([]simulation.Result{huge}, 3), Waits([]simulation.Result{huge}), string(Sheet()),
	} {
		wellFormed(t, svg)
		require.NotContains(t, svg, "NaN")
		require.NotContains(t, svg, "Inf")
	}
}

// The numbers in the chart are those of Best, and do not overlap.
func TestFront(t *testing.T) {
	point := func(cost, wait float64, front bool) simulation.Point {
		return simulation.Point{ParetoOptimal: front, Summary: simulation.Summary{BusySeconds: cost, Wait: simulation.Times{P95: wait}}}
	}
	points := []simulation.Point{point(9000, 1, true), point(3600, 100, true), point(9000, 200, false)}
	require.Equal(t, []simulation.Point{points[1], points[0]}, Best(points), "the cheapest first")
	words := wellFormed(t, Front(points, &points[2].Summary))
	require.Contains(t, words, "|1|")
	require.Contains(t, words, "|2|")
	require.Contains(t, Front(points, &points[2].Summary), `class="own"`)
	var near []simulation.Point
	for i := range 30 {
		near = append(near, point(9000+float64(i), 100-float64(i)/10, true))
	}
	var xs, ys []float64
	for _, label := range strings.Split(Front(near, nil), `class="middle number"`)[1:] {
		var x, y float64
		_, err := fmt.Sscanf(label, ` x="%g" y="%g"`, &x, &y)
		require.NoError(t, err)
		for k := range xs {
			require.True(t, math.Abs(x-xs[k]) >= 16 || math.Abs(y-ys[k]) >= 14, "%d and %d", k+1, len(xs)+1)
		}
		xs, ys = append(xs, x), append(ys, y)
	}
	require.Len(t, xs, 30)
}

// luminance is defined by WCAG 2.2.
func luminance(t *testing.T, colour string) float64 {
	var c [3]int
	_, err := fmt.Sscanf(colour, "#%02x%02x%02x", &c[0], &c[1], &c[2])
	require.NoError(t, err)
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		v := float64(c[i]) / 255
		if v <= 0.04045 {
			v /= 12.92
		} else {
			v = math.Pow((v+0.055)/1.055, 2.4)
		}
		sum += weight * v
	}
	return sum
}

func TestContrast(t *testing.T) {
	for _, colours := range [][3 + Colours]string{light, dark} {
		paper := luminance(t, colours[1])
		for i, colour := range colours {
			a, b := max(paper, luminance(t, colour)), min(paper, luminance(t, colour))
			switch contrast := (a + 0.05) / (b + 0.05); {
			case i == 0:
				require.GreaterOrEqual(t, contrast, 4.5, "text")
			case i >= 3:
				require.GreaterOrEqual(t, contrast, 3.0, "%s on %s", colour, colours[1])
			}
		}
	}
}
