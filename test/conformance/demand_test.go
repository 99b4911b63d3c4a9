package conformance

import (
	"math"

	"k8s.io/apimachinery/pkg/api/resource"
)

// demanded is what the scalers of a ScaledJob come to.
type demanded struct {
	active                bool
	queueLength, maxScale int64
}

// quantity is a number of thousandths, as scalers report them.
func quantity(x float64) *resource.Quantity {
	if x >= 1<<53 || x <= -1<<53 {
		return resource.NewQuantity(int64(x), resource.DecimalSI)
	}
	return resource.NewMilliQuantity(int64(math.Round(x*1000)), resource.DecimalSI)
}

// asRead is the number that KEDA reads of the quantity.
func asRead(x float64) float64 { return quantity(x).AsApproximateFloat64() }
