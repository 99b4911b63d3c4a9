package triggers

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A Kind is the kind of a problem.
type Kind uint8

// Kinds of problems. KEDA ignores an unknown key and a value in a wrong place. It rejects the
// trigger for any other problem.
const (
	UnknownKey Kind = iota + 1
	WrongPlace      // the key exists at another place only
	Missing
	WrongType
	WrongValue  // not an allowed value
	Removed     // KEDA rejects the key
	Announced   // KEDA accepts the key, and announces its removal
	Broken      // a rule that KEDA checks in code
	Ineffective // KEDA accepts the value, and it has another effect than it seems to have, or none
)

// A Problem is a problem of a trigger's metadata.
type Problem struct {
	Kind Kind
	// Key is the key of the metadata at fault. It is the parameter's name if the parameter
	// is missing, and "" if none is at fault.
	Key     string
	Text    string // the problem and its consequence, a sentence without a full stop
	Fix     string // an imperative sentence without a full stop
	Rule    string // name of the rule in Rules; "" if a declaration is the rule
	Warning bool   // KEDA does not refuse the trigger
}

// Check returns the problems of a trigger in a release, sorted by key.
func Check(name, release string, in Input) []Problem {
	d, ok := Lookup(name, release)
	if !ok {
		return nil
	}
	c := checker{name: name, release: release, d: d, in: in}
	c.unknown()
	if d.Full {
		for _, p := range d.Parameters {
			c.parameter(p)
		}
		c.rules()
	}
	slices.SortStableFunc(c.problems, func(a, b Problem) int { return strings.Compare(a.Key, b.Key) })
	return c.problems
}

type checker struct {
	name, release string
	d             Declaration
	in            Input
	problems      []Problem
	secret        bool // the problem that is looked for depends on a Secret
}

// find is Input.find, and notes a Secret.
func (c *checker) find(p Parameter) Value {
	v := c.in.find(p)
	c.secret = c.secret || v.Secret
	return v
}

// quoted and quotedAs match the texts of values in a problem.
var (
	quoted   = regexp.MustCompile(` "(?:[^"\\]|\\.)*"`)
	quotedAs = regexp.MustCompile(quoted.String() + " as ")
)

func (c *checker) add(p Problem) {
	if c.secret {
		p.Text = quoted.ReplaceAllString(quotedAs.ReplaceAllString(p.Text, " the value as "), "")
	}
	c.problems = append(c.problems, p)
}

// common are keys that old manifests have for every type, and that KEDA ignores by design.
var common = []string{"metricName", "scalerIndex"}

func (c *checker) unknown() {
	keys := c.d.Keys()
	letters := maxCompared
	for _, key := range slices.Sorted(maps.Keys(c.in.Metadata)) {
		if c.d.Open || slices.Contains(keys, key) {
			continue
		}
		if c.wrongPlace(key) {
			continue
		}
		text := fmt.Sprintf("%s has no parameter %s, and KEDA ignores the key", c.name, cmp.Or(key, `""`))
		c.add(Problem{Kind: UnknownKey, Key: key, Text: text, Fix: c.instead(key, keys, &letters), Warning: true})
	}
}

// wrongPlace finds a key that the type has, but not in the metadata.
func (c *checker) wrongPlace(key string) bool {
	name, fromEnv := strings.CutSuffix(key, "FromEnv")
	for _, p := range c.d.Parameters {
		if !slices.Contains(p.Names, name) && !slices.Contains(p.Names, key) {
			continue
		}
		medium := "environment variables"
		if !fromEnv {
			medium = "the metadata"
		}
		c.add(Problem{Kind: WrongPlace, Key: key, Warning: true,
			Text: fmt.Sprintf("%s does not read %s from %s, and KEDA ignores the key", c.name, strings.TrimSuffix(key, "FromEnv"), medium),
			Fix:  "Set " + ways(p)})
		return true
	}
	return false
}

// maxCompared bounds the letters that are compared to find which keys the unknown ones of a trigger misspell.
const maxCompared = 500_000

func (c *checker) instead(key string, keys []string, letters *int) string {
	if slices.Contains(common, key) {
		return "Delete " + key + "; KEDA makes the name itself"
	}
	if *letters <= 0 {
		return "Delete the key"
	}
	if near := NearestWithin(key, keys, letters); near != "" {
		return "Write " + near
	}
	const longest = 12
	if len(keys) == 0 || len(keys) > longest {
		return "Delete the key"
	}
	return fmt.Sprintf("Delete the key, or write one that %s has: %s", c.name, strings.Join(keys, ", "))
}

// credential matches names of parameters that hold one.
var credential = regexp.MustCompile(`(?i)(password|token|secret|apikey|clientkey|connection)$`)

// ways lists all ways to give a parameter in a manifest.
func ways(p Parameter) string {
	var ways []string
	for _, place := range p.From {
		switch name := p.Names[0]; place {
		case 'm':
			if credential.MatchString(name) && strings.Contains(p.From, "a") {
				continue // anybody who reads the ScaledJob reads it
			}
			ways = append(ways, name+" in the metadata")
		case 'e':
			ways = append(ways, name+"FromEnv to the name of a variable")
		case 'a':
			ways = append(ways, name+" in a TriggerAuthentication")
		}
	}
	return join(ways, "or")
}

func join(list []string, word string) string {
	switch n := len(list); n {
	case 0:
		return ""
	case 1:
		return list[0]
	case 2:
		return list[0] + " " + word + " " + list[1]
	default:
		return strings.Join(list[:n-1], ", ") + " " + word + " " + list[n-1]
	}
}

func (c *checker) parameter(p Parameter) {
	if p.Declared == "" {
		return
	}
	c.secret = false
	v := c.find(p)
	switch {
	case v.State == Absent && p.Required:
		c.add(Problem{Kind: Missing, Key: p.Names[0], Text: fmt.Sprintf("%s needs %s, and KEDA never polls without it", c.name, p.Names[0]),
			Fix: "Set " + ways(p)})
	case v.State == Absent || v.State == Maybe:
	case p.Deprecated != "":
		c.add(Problem{Kind: Removed, Key: v.Key, Text: "KEDA rejects this key and never polls", Fix: replacement(p, v)})
	default:
		if p.Announced != "" && v.Key != "" {
			c.add(announced(p, v))
		}
		if v.State == Visible {
			c.value(p, v)
		}
	}
}

// removal matches the release without a key in KEDA's text about it.
var removal = regexp.MustCompile(`removed in v([0-9]+\.[0-9]+)`)

// replacements are the fixes of keys that KEDA removes, other than to delete the key.
var replacements = map[string]string{
	"authToken":         "Move it to a TriggerAuthentication, or write authTokenFromEnv with the name of a variable",
	"buildId":           "Write workerDeploymentName and workerDeploymentBuildId in its place",
	"minMetricValue":    "Write activationTargetMetricValue in its place",
	"selectAllActive":   "Write workerDeploymentName and workerDeploymentBuildId in its place",
	"selectUnversioned": "Delete it; workers with versions need workerDeploymentName and workerDeploymentBuildId",
	"tls":               "Write unsafeSsl in its place",
}

func replacement(p Parameter, v Value) string {
	if p.Names[0] == "subscriptionSize" {
		return fmt.Sprintf("Write mode: SubscriptionSize and value: %q in its place", v.Text)
	}
	return cmp.Or(replacements[p.Names[0]], "Delete the key")
}

var linkPattern = regexp.MustCompile(`https://[^' ]+`)

// announced is the problem of a parameter, or of its type, that KEDA is about to remove.
func announced(p Parameter, v Value) Problem {
	release, ofType := "a later release of KEDA", "KEDA has deprecated this trigger type"
	if m := removal.FindStringSubmatch(p.Announced); m != nil {
		release = "KEDA " + m[1]
		ofType = "KEDA has deprecated this trigger type, and " + release + " drops it"
	}
	if strings.HasPrefix(p.Announced, "This scaler") {
		fix := "Move to another trigger"
		if link := linkPattern.FindString(p.Announced); link != "" {
			fix += "; KEDA names them in " + link
		}
		return Problem{Kind: Announced, Warning: true, Text: ofType, Fix: fix}
	}
	return Problem{Kind: Announced, Key: v.Key, Warning: true, Text: release + " rejects this key", Fix: replacement(p, v)}
}

// value checks the text of a parameter as KEDA's parser does: allowed values, then type.
func (c *checker) value(p Parameter, v Value) {
	exclusive := 0
	for item := range strings.SplitSeq(v.Text, p.separator()) {
		item = strings.TrimSpace(item)
		if len(p.Enum) > 0 && !slices.Contains(p.Enum, item) {
			c.add(Problem{Kind: WrongValue, Key: v.Key, Text: fmt.Sprintf("KEDA rejects %q as %s and never polls", item, p.Names[0]), Fix: "Write " + choice(item, p.Enum)})
			return
		}
		if slices.Contains(p.Exclusive, item) {
			exclusive++
		}
	}
	if exclusive > 1 {
		c.add(Problem{Kind: WrongValue, Key: v.Key, Text: fmt.Sprintf("KEDA rejects several of %s in %s and never polls", join(p.Exclusive, "and"), p.Names[0]), Fix: "Write one of them"})
		return
	}
	if n, err := strconv.Atoi(v.Text); err == nil && 0 < n && n < 100 && p.Type == "time.Duration" {
		text, fix := fmt.Sprintf("KEDA reads %d as %d milliseconds", n, n), fmt.Sprintf("Write %ds for seconds", n)
		if v.Secret {
			text, fix = "KEDA reads the number as milliseconds", "Write the unit, such as 30s"
		}
		c.add(Problem{Kind: Ineffective, Key: v.Key, Warning: true, Text: text, Fix: fix})
	}
	if want := unfit(p, v.Text); want != "" {
		if strings.ContainsAny(v.Text, "\u201c\u201d\u2018\u2019") {
			want = "plain quotes instead of typographic ones"
		}
		c.add(Problem{Kind: WrongType, Key: v.Key, Text: fmt.Sprintf("KEDA cannot read %q as %s and never polls", v.Text, p.Names[0]), Fix: "Write " + want})
	}
}

// choice names the value that was meant, or else all of them.
func choice(got string, values []string) string {
	if near := Nearest(got, values); near != "" {
		return near
	}
	return join(values, "or")
}
