package triggers

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A Value is the content of a parameter, as far as a manifest shows it.
type Value struct {
	State State
	Text  string // if State is Known
	// Key is the key of the metadata with the value or with the variable's name; "" if the
	// value is from a TriggerAuthentication, or if there is none.
	Key    string
	Secret bool // no problem shows the text
	Plain  bool // a container or a ConfigMap has the text, so that it stands for nothing else
}

// A State is the knowledge of a value. The zero value is Absent.
type State uint8

const (
	Absent State = iota // KEDA finds no value
	Maybe               // KEDA may find a value: a document is not given
	Hidden              // there is a value; its text is not in a manifest
	Visible
)

// An Input is a trigger with all that its scaler can read. The zero value has nothing.
type Input struct {
	Metadata map[string]string
	// Environment returns the value of a variable of the container; nil is Maybe for all.
	Environment func(name string) Value
	// Authentication returns a parameter of the TriggerAuthentication; nil is Absent for
	// all, since the trigger has none.
	Authentication func(parameter string) Value
	// PodIdentity is the provider of the TriggerAuthentication's pod identity. Any is true
	// if the provider is not known.
	PodIdentity string
	AnyIdentity bool
}

// find looks for a parameter in KEDA's order.
func (in Input) find(p Parameter) Value {
	maybe := false
	for _, place := range p.From {
		for _, name := range p.Names {
			v := in.lookup(place, name)
			switch {
			case v.State == Maybe:
				maybe = true
			case v.State != Absent && maybe: // another value may have precedence
				return Value{State: Hidden, Key: v.Key}
			case v.State != Absent:
				return v
			}
		}
	}
	if maybe {
		return Value{State: Maybe}
	}
	return Value{}
}

func (in Input) lookup(place rune, name string) (v Value) {
	switch place {
	case 'm':
		if v = Literal(in.Metadata[name]); Placeholder.MatchString(v.Text) {
			v.State = Hidden // but for what is beside the placeholder
		}
		v.Key = name
	case 'e':
		variable := strings.TrimSpace(in.Metadata[name+"FromEnv"])
		if variable == "" {
			return Value{}
		}
		if v.State = Maybe; in.Environment != nil {
			v = in.Environment(variable)
		}
		v.Key = name + "FromEnv"
	case 'a':
		if in.Authentication != nil {
			v = in.Authentication(name)
		}
	}
	if v.State == Visible && strings.TrimSpace(v.Text) == "" {
		return Value{}
	}
	return v
}

// Placeholder matches what a tool replaces before the API server reads the value: ${NAME}, {{NAME}}, {NAME}, $NAME, __NAME__, <name>,
// %NAME%, @NAME@, #{NAME}#, REPLACE_ME, CHANGE_ME, REPLACE_WITH_NAME, $1 alone, and $((NAME + 1)).
var Placeholder = regexp.MustCompile(`\$\{\w+\b[^}\n]{0,200}\}|\{\{[^{}]*\}\}|(?:^|[^$%#{\\])\{[A-Za-z_]\w*\}|\x{E000}+[^\x{E000}\x{E001}]*\x{E001}+|(?:^|[^$\\\w(])\$[A-Z_][A-Z0-9_]+\b|__[A-Z][A-Za-z0-9_-]*__|` +
	`<[A-Za-z][\w .:/-]*>|%[A-Za-z_]\w{2,}%|(?:^|\W)@[A-Z_]{2,}@|#\{[\w.]+\}#|\b(?:REPLACE_ME|CHANGE_?ME)(?:_\w+)?\b|\bREPLACE_WITH_\w+|^"?\$[1-9]"?$|\$\(\(.{1,40}\)\)`)

// credentialName matches the parameters that let a scaler in.
var credentialName = regexp.MustCompile(`(?i)passw|secret|token|key$|connection|credential|^host$`)

// IsCredential reports whether a parameter lets a scaler in.
func IsCredential(parameter string) bool { return credentialName.MatchString(parameter) }

// HasCredential reports whether the metadata gives a credential that may come from a TriggerAuthentication too.
func HasCredential(kind, release string, in Input) bool {
	d, _ := Lookup(kind, release)
	in.Authentication = nil
	for _, p := range d.Parameters {
		secret := slices.ContainsFunc(p.Names, credentialName.MatchString)
		if secret && strings.Contains(p.From, "a") && in.find(p).State != Absent {
			return true
		}
	}
	return false
}

// Literal is a value that a manifest has. KEDA cuts spaces, and takes an empty text for none.
func Literal(text string) Value {
	if text = strings.TrimSpace(text); text == "" {
		return Value{}
	}
	return Value{State: Visible, Text: text}
}

// Get returns a parameter as the newest release that has the type reads it. A default is a
// known value.
func Get(kind, parameter string, in Input) Value {
	_, newest, _ := strings.Cut(table()[kind].Releases, " ")
	d, _ := Lookup(kind, newest)
	c := checker{name: kind, release: newest, d: d, in: in}
	return c.get(parameter)
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

// visible reports whether a manifest shows the parameter's value, or that there is none.
func (c *checker) visible(name string) bool {
	state := c.get(name).State
	return state == Visible || state == Absent
}

// A condition is met by a trigger.
type condition = func(c *checker) bool

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

func notInMetadata(name string) condition {
	return func(c *checker) bool { return c.in.lookup('m', name).State == Absent }
}

// lacks is met by a known value without a piece of text.
func lacks(name, piece string) condition {
	return func(c *checker) bool {
		v := c.get(name)
		return v.State == Visible && !strings.Contains(v.Text, piece)
	}
}

// identity is met by a provider of pod identity.
func identity(provider string) condition {
	return func(c *checker) bool { return !c.in.AnyIdentity && c.in.PodIdentity == provider }
}

// noIdentity is met if the trigger has no pod identity.
func noIdentity(c *checker) bool {
	return !c.in.AnyIdentity && (c.in.PodIdentity == "" || c.in.PodIdentity == "none")
}

func isSet(name string, texts ...string) func(*checker) bool {
	return func(c *checker) bool { return c.equals(name, texts...) }
}

func missing(name string) condition { return func(c *checker) bool { return c.absent(name) } }

func unconditional(*checker) bool { return true }
