package triggers

import (
	"slices"
)

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
