package main

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/controllers/internal/process"
	"github.com/scaledjob/scaledjob/controllers/internal/processtest"
)

// What the API server says about a Job and a status is harmless in conditions, events and the log.
func TestHostileAnswer(t *testing.T) {
	w := newFixture(t, "  schedule: {timeSpec: R1//PT1S}\n")
	var log bytes.Buffer
	w.log = process.Log{}.To(&log)
	w.refuses("create jobs", processtest.Hostile())
	for i := range 10 {
		if i == 5 {
			w.refuses("update scheduledjobs", processtest.Hostile())
		}
		w.lists("1")
		if _, err := w.reconcile(t.Context(), w.sees().key()); err != nil {
			w.log.Warn("will try again", "err", err) // as the controller does
		}
	}
	status, err := json.Marshal(w.object())
	require.NoError(t, err)
	processtest.RequireHarmless(t, append(w.told(), string(status), log.String())...)
}

// What an API server answers to any request of the program is harmless in its log.
func TestHostileServer(t *testing.T) { processtest.RunHostile(t, newOptions(), "-namespace=tenant") }
