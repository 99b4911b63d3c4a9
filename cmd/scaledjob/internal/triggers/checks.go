package triggers

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

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
			lacking := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !c.absent(name) })
			if len(lacking) > 0 && len(lacking) < len(names) {
				return fault{key: lacking[0], text: c.name + " needs " + join(lacking, "and"), fix: c.ways(lacking...)}
			}
		}
		text := join(fix, "or")
		if slices.ContainsFunc(ways, func(way string) bool { return strings.Contains(way, " ") }) {
			text = strings.Join(fix, ", or ")
		}
		return fault{text: c.name + " needs " + text, fix: c.ways(strings.Fields(ways[0])...)}
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

// onlyIf is a check under conditions that must all be met.
func onlyIf(check check, conditions ...condition) check {
	return func(c *checker) fault {
		if slices.ContainsFunc(conditions, func(met condition) bool { return !met(c) }) {
			return fault{}
		}
		return check(c)
	}
}

// when finds a fault under conditions that must all be met. Without a fix, it is to give the key.
func when(f fault, conditions ...condition) check {
	return onlyIf(func(c *checker) fault {
		if f.fix == "" {
			return fault{key: f.key, text: f.text, fix: c.ways(f.key)}
		}
		return f
	}, conditions...)
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

// unusedWithout finds parameters that have an effect only beside another.
func unusedWithout(other string, names ...string) check {
	find := unused("without "+other, names...)
	return func(c *checker) fault {
		f := find(c)
		if f.key != "" {
			f.fix = "Add " + other
		}
		return f
	}
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
		return fmt.Sprintf("%s %q is not of the form %s", name, text, form), "Write it as " + form
	})
}

// notNegative finds a number below 0. That 0 is none is found elsewhere.
func notNegative(name string) check {
	return func(c *checker) fault {
		if x, ok := c.float(name); ok && x < 0 {
			return fault{key: name, text: name + " is negative", fix: "Write 1 or more"}
		}
		return fault{}
	}
}

// atLeast finds a known number below another.
func atLeast(name string, lower float64) check {
	return func(c *checker) fault {
		if x, ok := c.float(name); ok && x < lower {
			text := fmt.Sprintf("%s is below %v", name, lower)
			if lower == 0 {
				text = name + " is negative"
			}
			return fault{key: name, text: text, fix: fmt.Sprintf("Write %v or more", lower)}
		}
		return fault{}
	}
}

// matches finds a known value that a function rejects: predicate says what it is not.
func matches(name, predicate, fix string, accepts func(text string) bool) check {
	return about(name, func(text string) (string, string) {
		if accepts(text) {
			return "", ""
		}
		return fmt.Sprintf("%s %q %s", name, text, predicate), fix
	})
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

// withMode finds an authentication mode without its parameters.
func withMode(mode string, names ...string) check {
	return func(c *checker) fault {
		v := c.get("authModes")
		for m := range strings.SplitSeq(v.Text, ",") {
			if strings.TrimSpace(m) == mode {
				for _, name := range names {
					if c.absent(name) {
						return fault{key: v.Key, text: fmt.Sprintf("%s %s needs %s", v.Key, mode, name), fix: c.ways(name)}
					}
				}
			}
		}
		return fault{}
	}
}

// jsonObject finds a known value that is not a JSON object with a field.
func jsonObject(name string) check {
	return about(name, func(text string) (string, string) {
		var fields map[string]any
		if json.Unmarshal([]byte(text), &fields) == nil && len(fields) > 0 {
			return "", ""
		}
		return fmt.Sprintf("%s %q is not a JSON object with a field", name, text), `Write JSON with quotes, such as {"state": "queued"}`
	})
}

func requestURI(name, fix string) check {
	return matches(name, "is not a URL", fix, func(text string) bool {
		_, err := url.ParseRequestURI(text)
		return err == nil
	})
}

// pairs reports whether a text is a list of pairs.
func pairs(text string) bool {
	return !slices.ContainsFunc(strings.Split(text, ","), func(item string) bool { return strings.Count(item, "=") != 1 })
}

// between finds a number outside its bounds.
func between(name string, lower, upper float64) check {
	return func(c *checker) fault {
		if x, ok := c.float(name); ok && (x < lower || x > upper) {
			return fault{key: c.get(name).Key, text: fmt.Sprintf("%s is not from %v to %v", name, lower, upper), fix: fmt.Sprintf("Write %v to %v", lower, upper)}
		}
		return fault{}
	}
}

// placeholder reports whether a value of a variable or Secret is a word without signs.
func placeholder(v Value, name string) bool {
	return v.Key != name && !strings.ContainsAny(v.Text, ":/=@")
}

// connection finds a connection string of another form.
func connection(name, form, pattern string) check {
	accepted := regexp.MustCompile(pattern)
	return func(c *checker) fault {
		v := c.get(name)
		if v.State != Visible || accepted.MatchString(v.Text) || placeholder(v, name) {
			return fault{}
		}
		return fault{key: v.Key, text: name + " is not a connection string", fix: "Write it as " + form}
	}
}
