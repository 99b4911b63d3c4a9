package schedule

type Counter = counter
