package keda

import (
	"fmt"
	"strconv"
	"strings"
)

// A version is a release without its major number, which is 2.
type version struct{ minor, patch uint8 }

// lastPatch holds the number of the last patch of each minor release.
var lastPatch = [...]uint8{0, 0, 0, 0, 0, 0, 1, 1, 2, 3, 1, 2, 1, 1, 1, 1, 1, 3, 3, 0, 2, 0}

func (v version) String() string { return fmt.Sprintf("2.%d.%d", v.minor, v.patch) }

// since names the first release that has something: the minor alone where it
// came with its first patch.
func (v version) since() string {
	if v.patch == 0 {
		return fmt.Sprintf("2.%d", v.minor)
	}
	return v.String()
}

func (v version) before(other version) bool {
	return v.minor < other.minor || v.minor == other.minor && v.patch < other.patch
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
// patch of that minor. A leading v is allowed. Any other name is a
// [*ReleaseError].
func Release(name string) (Profile, error) {
	digits := strings.Split(strings.TrimPrefix(name, "v"), ".")
	if len(digits) < 2 || len(digits) > 3 || digits[0] != "2" {
		return Profile{}, &ReleaseError{name}
	}
	minor, ok := number(digits[1], len(lastPatch)-1)
	if !ok {
		return Profile{}, &ReleaseError{name}
	}
	patch := lastPatch[minor]
	if len(digits) == 3 {
		if patch, ok = number(digits[2], int(patch)); !ok {
			return Profile{}, &ReleaseError{name}
		}
	}
	return profileOf(version{minor, patch}), nil
}

func number(digits string, limit int) (uint8, bool) {
	n, err := strconv.Atoi(digits)
	return uint8(n), err == nil && 0 <= n && n <= limit && strconv.Itoa(n) == digits
}

// A ReleaseError says that no release of that name is known.
type ReleaseError struct {
	Name string // as it was given
}

// Error says which releases there are.
func (e *ReleaseError) Error() string {
	newest := Newest().version
	return fmt.Sprintf("unknown KEDA release %q: want 2.0 to %s, or a patch such as %s", e.Name, newest.since(), newest)
}
