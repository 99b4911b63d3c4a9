package keda

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// A version is a release without its major number, which is 2.
type version struct{ minor, patch uint8 }

func (v version) String() string { return fmt.Sprintf("2.%d.%d", v.minor, v.patch) }

// firstRelease returns the release with which a rule begins: the minor alone if that is the
// minor's first patch.
func (v version) firstRelease() string {
	if v.patch == 0 {
		return fmt.Sprintf("2.%d", v.minor)
	}
	return v.String()
}

func (v version) before(other version) bool {
	return v.minor < other.minor || (v.minor == other.minor && v.patch < other.patch)
}

// Releases lists the releases known, oldest first, each with its patch.
func Releases() []string {
	var names []string
	for minor, last := range lastPatch {
		for patch := range last + 1 {
			names = append(names, version{uint8(minor), patch}.String())
		}
	}
	return names
}

// Newest returns the profile of the newest release known.
func Newest() Profile {
	newest := len(lastPatch) - 1
	return profileOf(version{uint8(newest), lastPatch[newest]})
}

// Release returns the profile of a release: "2.18.1", or "2.18" for the last
// patch of that minor. A leading v is allowed. Any other name is an error.
func Release(name string) (Profile, error) {
	digits := strings.Split(strings.TrimPrefix(name, "v"), ".")
	if len(digits) < 2 || len(digits) > 3 || digits[0] != "2" {
		return Profile{}, unknown(name)
	}
	minor, ok := number(digits[1], len(lastPatch)-1)
	if !ok {
		return Profile{}, unknown(name)
	}
	patch := lastPatch[minor]
	if len(digits) == 3 {
		if patch, ok = number(digits[2], int(patch)); !ok {
			return Profile{}, unknown(name)
		}
	}
	return profileOf(version{minor, patch}), nil
}

func number(digits string, limit int) (uint8, bool) {
	n, err := strconv.Atoi(digits)
	if err != nil || strconv.Itoa(n) != digits {
		return 0, false
	}
	return uint8(n), 0 <= n && n <= limit
}

func unknown(release string) error {
	newest := Newest().version
	return fmt.Errorf("unknown KEDA release %q; use 2.0 to %s, or a patch such as %s", release, newest.firstRelease(), newest)
}

// A Profile holds a [Rule] for each behavior. [Release] and [Newest] return a Profile; the
// zero value is the profile of 2.0.0. Profiles can be compared with ==.
type Profile struct {
	version version
	forms   [behaviors]version // the first release with the rule of each behavior
}

// profileOf has the last rule of each behavior that is not newer than v.
func profileOf(v version) Profile {
	p := Profile{version: v}
	for b := range p.forms {
		for _, f := range table[b].forms {
			if !v.before(f.first) {
				p.forms[b] = f.first
			}
		}
	}
	return p
}

// has reports whether the rule of b began in the release first, or later.
func (p Profile) has(b behavior, first version) bool { return !p.forms[b].before(first) }

// Release returns the release with its patch, as in "2.18.3".
func (p Profile) Release() string { return p.version.String() }

// String returns "KEDA" and the release.
func (p Profile) String() string { return "KEDA " + p.Release() }

// Rule returns the rule of a behavior, or the zero Rule if there is no behavior of that
// name.
func (p Profile) Rule(name string) Rule {
	if b, ok := behaviorOf(name); ok {
		return b.rule(p.forms[b])
	}
	return Rule{}
}

// profileForm is the JSON of a profile.
type profileForm struct {
	Release string            `json:"release"`
	Rules   map[string]string `json:"rules,omitempty"` // of another release: by behavior, the first release
}

// MarshalJSON returns the release, and the rules that [Profile.With] replaced:
// {"release":"2.17.3","rules":{"accurate":"2.19"}}.
func (p Profile) MarshalJSON() ([]byte, error) {
	f := profileForm{Release: p.Release(), Rules: map[string]string{}}
	for _, c := range Changes(profileOf(p.version), p) {
		f.Rules[c.To.Behavior] = c.To.Since
	}
	return json.Marshal(f)
}

// UnmarshalJSON reads the result of MarshalJSON. A release may be named as in
// [Release].
func (p *Profile) UnmarshalJSON(data []byte) error {
	var f profileForm
	if err := json.Unmarshal(data, &f); err != nil {
		return err
	}
	read, err := Release(f.Release)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(f.Rules)) {
		if err := (Rule{Behavior: name, Since: f.Rules[name]}).find(&read.forms); err != nil {
			return err
		}
	}
	*p = read
	return nil
}

// With returns the profile with r, found by its Behavior and Since, in place of its rule
// of the same behavior. If r is not one of [Rules], With returns p.
func (p Profile) With(r Rule) Profile {
	_ = r.find(&p.forms) // or p is unchanged
	return p
}

// A Change is a behavior that differs between two profiles.
type Change struct {
	From Rule `json:"from"`
	To   Rule `json:"to"`
}

// Changes returns the behaviors in which two profiles differ, in the order of the
// package comment.
func Changes(from, to Profile) []Change {
	var changes []Change
	for b := range behavior(behaviors) {
		if f, t := from.forms[b], to.forms[b]; f != t {
			changes = append(changes, Change{b.rule(f), b.rule(t)})
		}
	}
	return changes
}
