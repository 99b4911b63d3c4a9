package source

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scaledjob/scaledjob/field"
)

// Params is a trigger with all that its parameters are looked up in. Its maps
// may hold secrets, which it does not print. The zero Params opens nothing.
type Params struct {
	Type      string // such as redis
	Index     int    // among the ScaledJob's triggers, from 0
	Namespace string // of the ScaledJob
	Metadata  map[string]string
	// Env has the variables that a parameter's FromEnv names, by their names.
	Env map[string]string
	// Authentication has the TriggerAuthentication's parameters, by their names.
	Authentication map[string]string
}

// String names the trigger and has none of its values.
func (p Params) String() string {
	return fmt.Sprintf("%s (%s)", p.path(), p.Type)
}

// GoString is the same as String.
func (p Params) GoString() string { return p.String() }

func (p Params) path() string {
	return fmt.Sprintf("spec.triggers[%d]", p.Index)
}

// A place is where a parameter is looked up.
type place uint8

const (
	metadata place = iota
	environment
	authentication
)

// A parameter is a value and the place at which it was found. If it was not found, text is
// empty, and path is the place at which to set it.
type parameter struct {
	name, path, text string
	shown            bool // whether text may be in an error
}

func (p parameter) found() string {
	switch {
	case p.text == "":
		return "nothing"
	case !p.shown:
		return "a value that is not shown here"
	}
	return strconv.Quote(p.text)
}

// hidden are the parameters that may stand in metadata and hold a secret.
var hidden = []string{"password", "apiKey", "host", "url", "address", "addresses", "hosts"}

// fields reads the parameters of a trigger, and collects their problems.
type fields struct {
	Params
	problems []field.Error
}

func (f *fields) problem(path, found, fix string) {
	e := field.Error{Path: path, Found: found, Fix: fix}
	if !slices.Contains(f.problems, e) { // a parameter may be read twice
		f.problems = append(f.problems, e)
	}
}

// err is all problems, joined.
func (f *fields) err() error {
	var all []error
	for _, e := range f.problems {
		all = append(all, &e)
	}
	return errors.Join(all...)
}

func (f *fields) wrong(p parameter, fix string) {
	f.problem(p.path, p.found(), fix)
}

// find looks for the first of names in each place in turn.
func (f *fields) find(places []place, names ...string) parameter {
	for _, at := range places {
		for _, name := range names {
			if p := f.in(at, name); p.text != "" {
				return p
			}
		}
	}
	if slices.Contains(places, environment) {
		for _, name := range names {
			if v, ok := f.Metadata[name+fromEnv]; ok {
				f.problem(f.path()+".metadata."+name+fromEnv, strconv.Quote(v), "the name of a variable that the container has, and not empty")
			}
		}
	}
	at := metadata
	if !slices.Contains(places, metadata) {
		at = authentication
	}
	return f.in(at, names[0])
}

func (f *fields) in(at place, name string) parameter {
	p := parameter{name: name, path: f.path() + ".metadata." + name}
	switch at {
	case metadata:
		p.text, p.shown = f.Metadata[name], !slices.Contains(hidden, name)
	case environment:
		p.text, p.path = f.Env[f.Metadata[name+fromEnv]], p.path+fromEnv
	case authentication:
		p.text, p.path = f.Authentication[name], f.path()+".authenticationRef: parameter "+name
	}
	p.text = strings.TrimSpace(p.text)
	return p
}

// given is a parameter of the metadata alone.
func (f *fields) given(name string) parameter {
	return f.find([]place{metadata}, name)
}

// secret is a parameter of the TriggerAuthentication alone.
func (f *fields) secret(name string) string {
	return f.find([]place{authentication}, name).text
}

func (f *fields) required(name, want string) string {
	p := f.given(name)
	if p.text == "" {
		f.wrong(p, want)
	}
	return p.text
}

func (f *fields) flag(name string) bool {
	p := f.given(name)
	if p.text == "" {
		return false
	}
	b, err := strconv.ParseBool(p.text)
	if err != nil {
		f.wrong(p, "true or false")
	}
	return b
}

func (f *fields) whole(name string, unset, least int) int {
	p := f.given(name)
	if p.text == "" {
		return unset
	}
	n, err := strconv.Atoi(p.text)
	if err != nil || n < least {
		f.wrong(p, fmt.Sprintf("a whole number of %d or more", least))
	}
	return n
}

func (f *fields) number(name string) float64 {
	p := f.given(name)
	if p.text == "" {
		return 0
	}
	n, err := strconv.ParseFloat(p.text, 64)
	if err == nil {
		_, err = count(n)
	}
	if err != nil {
		f.wrong(p, "a number of 0 or more")
	}
	return n
}

// choice returns p's text, or the first of choices if p is not set.
func (f *fields) choice(p parameter, choices ...string) string {
	switch {
	case p.text == "":
		return choices[0]
	case !slices.Contains(choices, p.text):
		f.wrong(p, "one of "+strings.Join(choices, ", "))
	}
	return p.text
}

// patience is the timeout of an HTTP request if the trigger has none, as in KEDA.
const patience = 3 * time.Second

// timeout reads a duration such as 500ms, or a number of milliseconds.
func (f *fields) timeout() time.Duration {
	p := f.given("timeout")
	if p.text == "" {
		return patience
	}
	d, err := time.ParseDuration(p.text)
	if ms, e := strconv.ParseInt(p.text, 10, 32); e == nil {
		d, err = time.Duration(ms)*time.Millisecond, nil
	}
	switch {
	case err != nil || d < 0:
		f.wrong(p, "a duration such as 5s, or a number of milliseconds")
	case d == 0:
		return patience
	}
	return d
}

// link reads p as a URL with an allowed scheme.
func (f *fields) link(p parameter, schemes ...string) *url.URL {
	u, err := url.Parse(p.text)
	// url.Parse's error has the URL, password included.
	if err != nil || u.Host == "" || !slices.Contains(schemes, u.Scheme) {
		f.wrong(p, "a URL that starts with "+strings.Join(schemes, ":// or ")+"://, special characters percent-encoded")
		return new(url.URL)
	}
	return u
}

// bare returns u without the parts that may be secret.
func bare(u *url.URL) string {
	b := *u
	b.User, b.RawQuery, b.Fragment, b.RawFragment, b.ForceQuery = nil, "", "", "", false
	return b.String()
}
