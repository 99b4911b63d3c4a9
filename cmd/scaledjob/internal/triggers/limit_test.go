package triggers

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLimits has the bounds of scalers by partitions. A lag of less than one more Job's items comes on top with kafka.
func TestLimits(t *testing.T) {
	for _, tt := range []struct {
		kind           string
		metadata       map[string]string
		length, target float64
		partitions     int64
		want           float64
	}{
		{"kafka", nil, 250, 10, 4, 40},
		{"kafka", nil, 27, 5, 5, 27},
		{"kafka", nil, 30, 5, 5, 25},
		{"kafka", nil, 250, 10, 0, 250},
		{"kafka", map[string]string{"allowIdleConsumers": "true"}, 250, 10, 4, 250},
		{"kafka", map[string]string{"allowIdleConsumers": "true", "limitToPartitionsWithLag": "true"}, 250, 10, 4, 40},
		{"kafka", map[string]string{"ensureEvenDistributionOfPartitions": "true"}, 31, 10, 6, 60},
		{"kafka", map[string]string{"ensureEvenDistributionOfPartitions": "true"}, 25, 10, 6, 30},
		{"apache-kafka", nil, 250, 10, 4, 40},
		{"azure-eventhub", nil, 250, 10, 4, 40},
		{"liiklus", nil, 250, 10, 4, 40},
		{"azure-cosmosdb", nil, 45, 10, 4, 40},
		{"redis", nil, 250, 10, 4, 250},
	} {
		require.Equal(t, tt.want, LimitOf(tt.kind, "2.21.0", tt.metadata).Bound(tt.length, tt.target, tt.partitions), "%+v", tt)
	}
	require.Nil(t, LimitOf("azure-cosmosdb", "2.20.1", nil))
}
