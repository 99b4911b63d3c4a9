package triggers

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A Rule is a rule that KEDA checks in code and not in a declaration.
type Rule struct {
	Types []string
	// Message is a piece of KEDA's error, or of the code that fails. Package conformance looks
	// for it in the source code of the releases.
	Message string
	Since   string // first release of the table's full declarations with the rule
	check   check
}

// Rules returns the rules that this package knows.
func Rules() []Rule { return slices.Clone(ruleList()) }

// ruleList holds the rules of all families. The rules of a type are checked in this order.
var ruleList = sync.OnceValue(func() []Rule {
	return slices.Concat(cronRules, kafkaRules, rabbitmqRules, redisRules, awsRules, gcpRules,
		azureRules, databaseRules, monitoringRules, brokerRules, platformRules, sharedRules)
})

func (c *checker) rules() {
	for _, r := range ruleList() {
		if !slices.Contains(r.Types, c.name) || Minor(c.release) < Minor(r.Since) {
			continue
		}
		c.secret = false
		f := r.check(c)
		// A value of the wrong form has its own problem.
		if f.text == "" || slices.ContainsFunc(c.problems, func(p Problem) bool { return p.Key == f.key && !p.Warning }) {
			continue
		}
		p := Problem{Kind: Broken, Key: f.key, Text: f.text + ", so KEDA never polls", Fix: f.fix, Rule: r.Message}
		if f.effect != "" {
			p.Kind, p.Text, p.Warning = Ineffective, f.text+", and "+f.effect, true
		}
		c.add(p)
	}
}

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

// A check is the function of a Rule.
type check = func(c *checker) fault

// A fault is a problem of a trigger; the zero value is none. Effect is the consequence of a value that
// KEDA accepts; "" if KEDA rejects the trigger.
type fault struct{ key, text, fix, effect string }

// accepted is a check for values that KEDA accepts, with their effect.
func accepted(effect string, check check) check {
	return func(c *checker) fault {
		f := check(c)
		f.effect = effect
		return f
	}
}

// about checks the text of a known value: problem returns what is wrong, or "", and the fix.
func about(name string, problem func(text string) (wrong, fix string)) check {
	return func(c *checker) fault {
		v := c.get(name)
		if v.State != Visible {
			return fault{}
		}
		wrong, fix := problem(v.Text)
		return fault{key: v.Key, text: wrong, fix: fix}
	}
}

// together finds a parameter without the other parameter of its pair.
func together(a, b string) check {
	return func(c *checker) fault {
		for _, pair := range [][2]string{{a, b}, {b, a}} {
			if c.hasAll(pair[0]) && c.absent(pair[1]) {
				return fault{key: c.get(pair[0]).Key, text: pair[0] + " needs " + pair[1], fix: c.ways(pair[1])}
			}
		}
		return fault{}
	}
}

// exclusive finds two parameters that exclude each other.
func exclusive(a, b string) check {
	return func(c *checker) fault {
		if c.hasAll(a, b) {
			return fault{key: c.get(b).Key, text: a + " and " + b + " exclude each other", fix: "Delete one of the two"}
		}
		return fault{}
	}
}

// apartIfTrue is apart for two booleans.
func apartIfTrue(a, b string) check { return onlyIf(exclusive(a, b), isTrue(a), isTrue(b)) }

// oneOf finds that none of several ways is used. Each way is a list of parameters, with spaces
// between them.
func oneOf(ways ...string) check {
	return func(c *checker) fault {
		var fix []string
		for _, way := range ways {
			names := strings.Fields(way)
			if !slices.ContainsFunc(names, func(name string) bool { return c.absent(name) }) {
				return fault{}
			}
			fix = append(fix, join(names, "and"))
		}
		// A way that the trigger uses in part shows best which parameter is missing.
		for _, way := range ways {
			names := strings.Fields(way)
			i := slices.IndexFunc(names, func(name string) bool { return c.absent(name) })
			if i >= 0 && len(names) > 1 && slices.ContainsFunc(names, func(name string) bool { return !c.absent(name) }) {
				return fault{key: names[i], text: c.name + " needs " + names[i], fix: c.ways(names[i])}
			}
		}
		return fault{text: c.name + " needs " + strings.Join(fix, ", or else "), fix: c.ways(strings.Fields(ways[0])...)}
	}
}

// needs finds that parameters are absent while a condition holds.
func needs(applies func(c *checker) bool, reason string, names ...string) check {
	return func(c *checker) fault {
		i := slices.IndexFunc(names, func(name string) bool { return c.absent(name) })
		if !applies(c) || i < 0 {
			return fault{}
		}
		return fault{key: names[i], text: fmt.Sprintf("%s needs %s %s", c.name, names[i], reason), fix: c.ways(names[i])}
	}
}

// A condition is met by a trigger.
type condition = func(c *checker) bool

// onlyIf is a check under conditions that must all be met.
func onlyIf(check check, conditions ...condition) check {
	return func(c *checker) fault {
		if slices.ContainsFunc(conditions, func(met condition) bool { return !met(c) }) {
			return fault{}
		}
		return check(c)
	}
}

// visible reports whether a manifest shows the parameter's value, or that there is none.
func (c *checker) visible(name string) bool {
	state := c.get(name).State
	return state == Visible || state == Absent
}

// isNot is met by a value that is none of several. An unknown value may be one of them.
func isNot(name string, texts ...string) condition {
	return func(c *checker) bool { return c.visible(name) && !c.equals(name, texts...) }
}

// isNotTrue is met by a boolean that is false or absent.
func isNotTrue(name string) condition {
	return func(c *checker) bool { return c.visible(name) && !c.isTrue(name) }
}

// isNotIdentity is met if the trigger has no pod identity, or another provider's.
func isNotIdentity(provider string) condition {
	return func(c *checker) bool { return !c.in.AnyIdentity && c.in.PodIdentity != provider }
}

func conjunction(conditions ...condition) condition {
	return func(c *checker) bool {
		return !slices.ContainsFunc(conditions, func(met condition) bool { return !met(c) })
	}
}

func isTrue(name string) condition { return func(c *checker) bool { return c.isTrue(name) } }

func provided(name string) condition { return func(c *checker) bool { return c.hasAll(name) } }

// inMetadata is met if the metadata has a key with a value.
func inMetadata(name string) condition {
	return func(c *checker) bool { return c.in.lookup('m', name).State == Visible }
}

// mustBe finds a known value that is not the one that another parameter needs.
func mustBe(name, text, reason string) check {
	return func(c *checker) fault {
		if v := c.get(name); v.State == Visible && v.Text != text {
			key := v.Key
			if !c.present(name) {
				key = name
			}
			return fault{key: key, text: fmt.Sprintf("%s needs %s: %s", reason, name, text), fix: fmt.Sprintf("Write %s: %s", name, text)}
		}
		return fault{}
	}
}

// unused finds a key of the metadata that has no effect.
func unused(reason string, names ...string) check {
	return func(c *checker) fault {
		for _, name := range names {
			if c.in.lookup('m', name).State == Visible {
				return fault{key: name, text: fmt.Sprintf("%s has no effect %s", name, reason), fix: "Delete " + name}
			}
		}
		return fault{}
	}
}

// identity is met by a provider of pod identity.
func identity(provider string) condition {
	return func(c *checker) bool { return !c.in.AnyIdentity && c.in.PodIdentity == provider }
}

// onlyIdentity finds a provider of pod identity that the scaler does not support.
func onlyIdentity(provider string) check {
	return func(c *checker) fault {
		removed := c.in.PodIdentity == "azure" // which the CRD rejects
		if noIdentity(c) || c.in.AnyIdentity || removed || identity(provider)(c) {
			return fault{}
		}
		return fault{text: fmt.Sprintf("%s does not support the pod identity %s", c.name, c.in.PodIdentity), fix: "Write provider: " + provider + " in the TriggerAuthentication"}
	}
}

// noIdentity is met if the trigger has no pod identity.
func noIdentity(c *checker) bool {
	return !c.in.AnyIdentity && (c.in.PodIdentity == "" || c.in.PodIdentity == "none")
}

func isSet(name string, texts ...string) func(*checker) bool {
	return func(c *checker) bool { return c.equals(name, texts...) }
}

// allowed finds a known value that is none of several.
func allowed(name string, texts ...string) check { return values(name, "", false, texts) }

// allowedInAnyCase is allowed for texts in upper or lower case.
func allowedInAnyCase(name string, texts ...string) check { return values(name, "", true, texts) }

// values finds a known value, or an item of a known list, that is none of several.
func values(name, separator string, anyCase bool, texts []string) check {
	return about(name, func(text string) (string, string) {
		items := []string{text}
		if separator != "" {
			items = strings.Split(text, separator)
		}
		for _, item := range items {
			item = strings.TrimSpace(item)
			if !slices.ContainsFunc(texts, func(text string) bool { return text == item || (anyCase && strings.EqualFold(text, item)) }) {
				return fmt.Sprintf("KEDA does not know %q as %s", item, name), "Write " + choice(item, texts)
			}
		}
		return "", ""
	})
}

// parts finds a known value that has another number of parts.
func parts(name, separator string, n int, form string) check {
	return about(name, func(text string) (string, string) {
		if len(strings.Split(text, separator)) == n {
			return "", ""
		}
		return fmt.Sprintf("%s is %q and not of the form %s", name, text, form), "Write it as " + form
	})
}

// atLeast finds a known number below another.
func atLeast(name string, lower float64) check {
	return func(c *checker) fault {
		if x, ok := c.float(name); ok && x < lower {
			return fault{key: name, text: name + " is out of range", fix: fmt.Sprintf("Write %v or more", lower)}
		}
		return fault{}
	}
}

// matches finds a known value that a function rejects.
func matches(name, form string, accepts func(text string) bool) check {
	return func(c *checker) fault {
		if v := c.get(name); v.State == Visible && !accepts(v.Text) {
			text := "it is not valid"
			if v.Key == "" { // its place does not show it
				text = fmt.Sprintf("%s %q is not valid", name, v.Text)
			}
			return fault{key: v.Key, text: text, fix: "Write " + form}
		}
		return fault{}
	}
}

// sameLength finds two known lists of different lengths.
func sameLength(a, b, separator string) check {
	return func(c *checker) fault {
		x, y := c.get(a), c.get(b)
		if x.State != Visible || y.State != Visible || strings.Count(x.Text, separator) == strings.Count(y.Text, separator) {
			return fault{}
		}
		return fault{key: y.Key, text: fmt.Sprintf("%s and %s have different numbers of items", a, b), fix: fmt.Sprintf("Write as many items in %s as in %s, with %q between them", b, a, separator)}
	}
}
