package schedule_test

import (
	"time"
	_ "time/tzdata"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/schedule/interval"
)

func parse(t require.TestingT, text string) interval.Interval {
	i, err := interval.Parse(text)
	require.NoError(t, err, text)
	return i
}

func location(t require.TestingT, name string) *time.Location {
	zone, err := time.LoadLocation(name)
	require.NoError(t, err)
	return zone
}
