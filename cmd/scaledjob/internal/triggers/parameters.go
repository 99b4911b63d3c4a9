package triggers

import (
	"slices"
	"strconv"
	"strings"
)

// get returns a parameter. A default is a known value.
func (c *checker) get(name string) Value {
	for _, p := range c.d.Parameters {
		if slices.Contains(p.Names, name) && p.Declared != "" {
			v := c.find(p)
			if v.State == Absent && p.Default != "" {
				return Value{State: Visible, Text: p.Default}
			}
			if v.State != Absent {
				return v
			}
		}
	}
	for _, p := range c.d.Parameters { // keys that code reads
		if slices.Contains(p.Names, name) && p.Declared == "" {
			if v := c.find(p); v.State != Absent {
				return v
			}
		}
	}
	return Value{}
}

func (c *checker) text(name string) string { return c.get(name).Text }

func (c *checker) absent(names ...string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return c.get(name).State != Absent })
}

// present reports whether a parameter has a value that is not a default.
func (c *checker) present(name string) bool {
	return slices.ContainsFunc(c.d.Parameters, func(p Parameter) bool { return slices.Contains(p.Names, name) && c.in.find(p).State != Absent })
}

// hasAll reports whether all of the parameters have a value.
func (c *checker) hasAll(names ...string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { s := c.get(name).State; return s != Hidden && s != Visible })
}

func (c *checker) equals(name string, texts ...string) bool {
	v := c.get(name)
	return v.State == Visible && slices.Contains(texts, v.Text)
}

func (c *checker) isTrue(name string) bool {
	b, err := strconv.ParseBool(c.text(name))
	return b && err == nil
}

func (c *checker) float(name string) (float64, bool) {
	x, err := strconv.ParseFloat(c.text(name), 64)
	return x, err == nil
}

// ways returns a fix with the ways to give parameters.
func (c *checker) ways(names ...string) string {
	var lines []string
	for _, name := range names {
		for _, p := range c.d.Parameters {
			if slices.Contains(p.Names, name) {
				p.Names = []string{name}
				lines = append(lines, ways(p))
				break
			}
		}
	}
	return "Set " + strings.Join(lines, "; and ")
}

// visible reports whether a manifest shows the parameter's value, or that there is none.
func (c *checker) visible(name string) bool {
	state := c.get(name).State
	return state == Visible || state == Absent
}
