package triggers

import "strconv"

// A Limit bounds the metric of a scaler: it asks for at most one Job for each partition.
type Limit struct {
	types    []string
	Releases string // as Within has them
	// WithLag counts the partitions with lag only, and Even rounds the Jobs up to a divisor of the partitions.
	WithLag, Even bool
	excess        bool // less than the items of one more Job may come on top
	applies       func(metadata map[string]string) bool
}

// limits are all scalers that bound their metric by partitions, as the sources of KEDA 2.21 show.
var limits = []Limit{
	{[]string{"kafka", "apache-kafka"}, "2.0", false, true, true, isOn("ensureEvenDistributionOfPartitions")},
	{[]string{"kafka", "apache-kafka"}, "2.0", true, false, true, isOn("limitToPartitionsWithLag")},
	{[]string{"kafka", "apache-kafka"}, "2.0", false, false, true, func(m map[string]string) bool { return !isOn("allowIdleConsumers")(m) }},
	{[]string{"liiklus", "azure-eventhub"}, "2.0", false, false, true, func(map[string]string) bool { return true }},
	{[]string{"azure-cosmosdb"}, "2.21", true, false, false, func(map[string]string) bool { return true }},
}

func isOn(name string) func(map[string]string) bool {
	return func(m map[string]string) bool {
		enabled, err := strconv.ParseBool(m[name])
		return enabled && err == nil
	}
}

// LimitOf returns the limit of a trigger in a release, or nil if it has none.
func LimitOf(kind, release string, metadata map[string]string) *Limit {
	for i := range limits {
		l := &limits[i]
		for _, name := range l.types {
			if name == kind && Within(release, l.Releases) && l.applies(metadata) {
				return l
			}
		}
	}
	return nil
}

// Noun names what is counted.
func (l *Limit) Noun() string {
	switch {
	case l == nil:
		return ""
	case l.WithLag:
		return "partitions with lag"
	}
	return "partitions"
}

// Bound returns the metric that the scaler reports for a queue length. Without partitions it is the length.
func (l *Limit) Bound(length, target float64, partitions int64) float64 {
	if l == nil || partitions <= 0 || target <= 0 {
		return length
	}
	if l.Even {
		for jobs := int64(1); jobs <= partitions; jobs++ {
			if partitions%jobs == 0 && (float64(jobs)*target >= length || jobs == partitions) {
				length = float64(jobs) * target
				break
			}
		}
	}
	if jobs := length / target; jobs >= float64(partitions)+1 || (!l.excess && jobs > float64(partitions)) {
		return float64(partitions) * target
	}
	return length
}
