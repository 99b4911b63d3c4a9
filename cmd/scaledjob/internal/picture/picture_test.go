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

	"github.com/scaledjob/scaledjob/simulation/study"
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

// of is a study of policies with a step each minute, in which so many items wait on average.
func of(names []string, queued ...[]float64) *study.Study {
	s := &study.Study{Seeds: 3}
	for i, name := range names {
		sample := study.Sample{Policy: name, Step: 60}
		for _, n := range queued[i] {
			sample.Queue.Mean = append(sample.Queue.Mean, n)
			sample.Queue.Low, sample.Queue.High = append(sample.Queue.Low, n/2), append(sample.Queue.High, n*2)
		}
		sample.Jobs = sample.Queue
		s.Samples = append(s.Samples, sample)
	}
	return s
}

// Policies share a chart, with the maximum, and names are escaped.
func TestCharts(t *testing.T) {
	s := of([]string{"a<b", "c"}, []float64{5, 9, 1}, []float64{2, 3, 4})
	words := wellFormed(t, Items(s))
	require.Contains(t, words, "Items waiting|")
	require.Contains(t, words, "a<b|")
	jobs := Jobs(s, 15)
	require.Contains(t, wellFormed(t, jobs), "maximum 15")
	for _, class := range []string{"p0 line", "p1 line", "p0 area", "p1 area"} {
		require.Contains(t, jobs, `class="`+class+`"`)
	}
	require.NotContains(t, wellFormed(t, Jobs(s, 100)), "maximum", "a maximum far above would hide the Jobs")
}

// Many policies have a line each, without bands, and whole names.
func TestManyPolicies(t *testing.T) {
	var names []string
	var queued [][]float64
	for i := range 7 {
		names = append(names, fmt.Sprintf("KEDA 2.%d.0 custom 0 0.5, min 5, max 300, every 10s, of a long name that needs two lines", i))
		queued = append(queued, []float64{1, 2, float64(i)})
	}
	chart := Items(of(names, queued...))
	for i, name := range names {
		require.Contains(t, strings.ReplaceAll(wellFormed(t, chart), "|", " "), name)
		require.Contains(t, chart, `class="`+colour(i)+` line"`)
	}
	require.NotContains(t, chart, " area")
	require.Equal(t, "p0 again", colour(Colours))
	require.Contains(t, Style, ".again.line { stroke-dasharray: 2 2; }")
}

func TestUnits(t *testing.T) {
	for unit, seconds := range map[string]float64{"seconds": 100, "minutes": 4000, "hours": 40_000, "days": 400_000} {
		require.Equal(t, unit, unitOf(seconds).name)
	}
}

// Studies may be empty, and numbers of any size.
func TestEmptyAndExtreme(t *testing.T) {
	empty, huge := of([]string{"a"}, nil), of([]string{"huge"}, []float64{math.MaxInt64, 0})
	for _, s := range []*study.Study{{}, empty, huge} {
		for _, svg := range []string{Items(s), Jobs(s, 3)} {
			wellFormed(t, svg)
			require.NotContains(t, svg, "NaN")
			require.NotContains(t, svg, "Inf")
		}
	}
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
