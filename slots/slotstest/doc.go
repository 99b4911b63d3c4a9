// Package slotstest explores a controller's loop over package slots in every order of
// events: lost, late and refused requests, late observations, lists, restarts, standbys and
// edits, to a stated depth. [Explore] returns the shortest sequence of events that breaks a
// promise. An author implements [Loop] with the code that his controller runs.
package slotstest
