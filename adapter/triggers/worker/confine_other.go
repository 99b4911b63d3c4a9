//go:build !linux

package main

import "errors"

func (c *confinement) apply() error {
	if !c.local {
		return errors.New("addresses are only filtered on Linux; use the flag -local for development")
	}
	return limit(c.memory)
}
