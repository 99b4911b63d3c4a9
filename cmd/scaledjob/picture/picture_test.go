package picture_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image"
	_ "image/png"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/picture"
	"github.com/scaledjob/scaledjob/simulation"
)

func result(name string, queued ...int64) simulation.Result {
	r := simulation.Result{Policy: simulation.Policy{Name: name}, Summary: simulation.Summary{Seconds: 60 * float64(len(queued))}}
	for i, n := range queued {
		r.Ticks = append(r.Ticks, simulation.Tick{Seconds: 60 * float64(i), Queued: n, Running: n / 2, Pending: n / 4, Created: n / 8})
	}
	return r
}

func svg(t *testing.T, p *picture.Picture) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, p.WriteSVG(&b))
	d := xml.NewDecoder(&b)
	text := b.String()
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return text
		} else {
			require.NoError(t, err)
		}
	}
}

// Panels of one column have the same axes, whatever is in them, so that they can be
// compared at a glance.
func TestSameAxes(t *testing.T) {
	small, large := result("small", 0, 3, 1), result("large", 0, 300, 100, 40, 3)
	panels := picture.Runs([]simulation.Result{small, large}, picture.Light).Panels()
	require.Len(t, panels, 4)
	marks := func(p *picture.Picture) (all []string) {
		for _, label := range []string{">0<", ">100<", ">200<", ">300<", ">400<", ">4<", ">5<"} {
			if strings.Contains(svg(t, p), label) {
				all = append(all, label)
			}
		}
		return all
	}
	require.Equal(t, marks(panels[0]), marks(panels[2]))
	require.Contains(t, marks(panels[0]), ">200<")
	require.Contains(t, svg(t, panels[0]), "small")
	require.Contains(t, svg(t, panels[2]), "large")
}

func TestUnits(t *testing.T) {
	for unit, seconds := range map[string]float64{"seconds": 100, "minutes": 4000, "hours": 40_000, "days": 400_000} {
		r := result("a", 1, 2)
		r.Summary.Seconds = seconds
		require.Contains(t, svg(t, picture.Runs([]simulation.Result{r}, picture.Light)), ">"+unit+"<")
	}
}

// What there is to draw may be nothing at all.
func TestEmpty(t *testing.T) {
	for _, p := range []*picture.Picture{
		picture.Runs([]simulation.Result{{}}, picture.Dark),
		picture.Runs([]simulation.Result{result("a", 0)}, picture.Light), picture.Front(nil, picture.Light),
		picture.Front([]simulation.Point{{}}, picture.Dark), picture.Front([]simulation.Point{{Front: true}}, picture.Dark),
	} {
		svg(t, p)
		var b bytes.Buffer
		require.NoError(t, p.WritePNG(&b))
	}
	require.Error(t, picture.Runs(nil, picture.Light).WriteSVG(io.Discard))
	require.Error(t, picture.Runs(nil, picture.Light).WritePNG(io.Discard))
}

func TestPNG(t *testing.T) {
	var b bytes.Buffer
	p := picture.Runs([]simulation.Result{result("a", 1, 2), result("b", 3)}, picture.Dark)
	require.NoError(t, p.WritePNG(&b))
	drawn, _, err := image.Decode(&b)
	require.NoError(t, err)
	w, h := p.Size()
	require.Equal(t, image.Pt(2*w, 2*h), drawn.Bounds().Size())
	r, g, blue, _ := drawn.At(0, 0).RGBA()
	require.Less(t, r+g+blue, uint32(3*0x4000), "dark")
}

// The numbers in the picture are those of Best.
func TestFront(t *testing.T) {
	point := func(cost, wait float64, front bool) simulation.Point {
		return simulation.Point{Front: front, Summary: simulation.Summary{UsedSeconds: cost, Wait: simulation.Times{P95: wait}}}
	}
	points := []simulation.Point{point(9000, 1, true), point(3600, 100, true), point(9000, 200, false)}
	best := picture.Best(points)
	require.Equal(t, []simulation.Point{points[1], points[0]}, best, "the cheapest first")
	drawn := svg(t, picture.Front(points, picture.Light))
	require.Contains(t, drawn, ">1<")
	require.Contains(t, drawn, ">2<")
	require.Contains(t, drawn, "nothing beats these")
}
