package main

import (
	"bytes"
	_ "embed"
	"encoding/csv"
	"errors"
	"fmt"
	"html/template"
	"io"
	"strconv"
	"text/tabwriter"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/picture"
	"github.com/scaledjob/scaledjob/simulation"
)

// A row is a policy in the table of a report.
type row struct {
	Policy                                    string
	Drained, P50, P95, Max, Used, Idle        string
	LongestQueue, Jobs, Empty, MostJobs, Over int64
	Left, Repeated                            int64
}

func rowOf(r *simulation.Result) row {
	s := &r.Summary
	drained := "never"
	if s.DrainSeconds != nil {
		drained = span(*s.DrainSeconds)
	}
	return row{
		Policy: name(r), Drained: drained, P50: span(s.Wait.P50), P95: span(s.Wait.P95), Max: span(s.Wait.Max),
		Used: span(s.UsedSeconds), Idle: span(s.IdleSeconds), LongestQueue: s.LongestQueue,
		Jobs: s.JobsCreated, Empty: s.JobsEmpty, MostJobs: s.MostJobs, Over: s.ExcessOverMax, Left: left(s), Repeated: s.Repeated,
	}
}

func printTable(out io.Writer, r *report) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "policy\twait p50\tp95\tmax\tlongest queue\tdrained after\tJobs\tfound nothing\tmost at once\tworked\tidle\t")
	for i := range r.Results {
		x := rowOf(&r.Results[i])
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\t%d\t%d\t%d\t%s\t%s\t\n",
			x.Policy, x.P50, x.P95, x.Max, x.LongestQueue, x.Drained, x.Jobs, x.Empty, x.MostJobs, x.Used, x.Idle)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%s\n", r.Verdict)
	if len(r.Points) == 0 {
		return nil
	}
	return printFront(out, r.Points)
}

func printFront(out io.Writer, points []simulation.Point) error {
	fmt.Fprintf(out, "\nOf %d policies tried, these are worth choosing among: who waits less costs more.\n\n", len(points))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "policy\twait p95\tcost\tJobs\tfound nothing\t")
	for _, p := range picture.Best(points) {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t\n", p.Policy.String(), span(p.Summary.Wait.P95), span(p.Summary.Cost()), p.Summary.JobsCreated, p.Summary.JobsEmpty)
	}
	return w.Flush()
}

// drawn is the front of a search, and otherwise the runs.
func (r *report) drawn() *picture.Picture {
	if len(r.Points) > 0 {
		return picture.Front(r.Points, picture.Light)
	}
	return picture.Runs(r.Results, picture.Light)
}

func writeSVG(w io.Writer, r *report) error { return r.drawn().WriteSVG(w) }
func writePNG(w io.Writer, r *report) error { return r.drawn().WritePNG(w) }

// writeCSV writes a line for each poll of each policy.
func writeCSV(w io.Writer, r *report) error {
	c := csv.NewWriter(w)
	if err := c.Write([]string{"policy", "seconds", "metric", "created", "rule", "queued", "in_work", "done", "lost", "running", "pending", "finished"}); err != nil {
		return err
	}
	for i := range r.Results {
		for _, t := range r.Results[i].Ticks {
			line := []string{name(&r.Results[i]), strconv.FormatFloat(t.Seconds, 'g', -1, 64), strconv.FormatFloat(t.Metric, 'g', -1, 64)}
			line = append(line, strconv.FormatInt(t.Created, 10), t.Rule)
			for _, n := range []int64{t.Queued, t.InWork, t.Done, t.Lost, t.Running, t.Pending, t.Finished} {
				line = append(line, strconv.FormatInt(n, 10))
			}
			if err := c.Write(line); err != nil {
				return err
			}
		}
	}
	c.Flush()
	return c.Error()
}

//go:embed report.html
var page string

var pageTemplate = template.Must(template.New("report").Parse(page))

// A drawing is a picture for light and dark surroundings.
type drawing struct {
	Alt         string
	Light, Dark template.HTML
}

func writeHTML(w io.Writer, r *report) error {
	var data struct {
		*report
		Rows  []row
		Runs  []drawing
		Front []drawing
		Best  []simulation.Point
	}
	data.report = r
	for i := range r.Results {
		data.Rows = append(data.Rows, rowOf(&r.Results[i]))
	}
	var err error
	data.Runs, err = drawings(func(t picture.Theme) *picture.Picture { return picture.Runs(r.Results, t) }, func(i int) string {
		return fmt.Sprintf("%s of %s over time", []string{"Items", "Jobs"}[i%2], name(&r.Results[i/2]))
	})
	if err != nil {
		return err
	}
	if len(r.Points) > 0 {
		data.Front, err = drawings(func(t picture.Theme) *picture.Picture { return picture.Front(r.Points, t) },
			func(int) string { return "Wait against cost of every policy tried" })
		data.Best = picture.Best(r.Points)
	}
	return errors.Join(err, pageTemplate.Execute(w, data))
}

func drawings(draw func(picture.Theme) *picture.Picture, alt func(int) string) ([]drawing, error) {
	light, dark := draw(picture.Light).Panels(), draw(picture.Dark).Panels()
	all := make([]drawing, len(light))
	for i := range all {
		var err [2]error
		all[i].Alt = alt(i)
		all[i].Light, err[0] = inline(light[i])
		all[i].Dark, err[1] = inline(dark[i])
		if err := errors.Join(err[:]...); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// inline is a picture within a page: without what only a file of its own has.
func inline(p *picture.Picture) (template.HTML, error) {
	var b bytes.Buffer
	if err := p.WriteSVG(&b); err != nil {
		return "", err
	}
	svg := b.Bytes()
	start := bytes.Index(svg, []byte("<svg"))
	if start < 0 {
		return "", errors.New("no <svg in the picture")
	}
	return template.HTML(svg[start:]), nil
}
