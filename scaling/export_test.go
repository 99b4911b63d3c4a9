package scaling

var Aggregate = aggregate
