package triggers

import (
	"regexp"
	"slices"
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
