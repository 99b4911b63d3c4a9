package keda

// A Profile is what one release computes, as one [Rule] for each [Part]. Make it
// with [Release] or [Newest]; the zero value is that of 2.0.0. Profiles can be
// compared with ==.
type Profile struct {
	version version
	forms   [parts]uint8
}

// profileOf collects the last rule of each part that is not newer than v.
func profileOf(v version) Profile {
	p := Profile{version: v}
	for part := range p.forms {
		for i, f := range table[part].forms {
			if !v.before(f.since) {
				p.forms[part] = uint8(i)
			}
		}
	}
	return p
}

// Release returns the release with its patch, as in "2.18.3".
func (p Profile) Release() string { return p.version.String() }

// String returns "keda@" and the release.
func (p Profile) String() string { return "keda@" + p.Release() }

// Rule returns the rule of a part. A value that is no part gives the zero Rule.
func (p Profile) Rule(part Part) Rule {
	if part >= parts {
		return Rule{}
	}
	return part.rule(p.forms[part])
}

// With returns the profile with one rule in place of the one that it has, and
// else unchanged. It answers which rule makes two releases differ: the one that,
// put into the first, makes it answer as the second does.
func (p Profile) With(r Rule) Profile {
	if r.Part < parts && int(r.form) < len(table[r.Part].forms) {
		p.forms[r.Part] = r.form
	}
	return p
}

// A Change is a part that differs between two profiles.
type Change struct {
	From, To Rule
}

// Changes lists the parts in which two profiles differ, in the order of the
// parts.
func Changes(from, to Profile) []Change {
	var changes []Change
	for _, part := range Parts() {
		if f, t := from.Rule(part), to.Rule(part); f != t {
			changes = append(changes, Change{f, t})
		}
	}
	return changes
}
