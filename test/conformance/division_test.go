//go:build !older

package conformance

import (
	"fmt"
	"slices"
	"testing"

	"github.com/karmada-io/karmada/pkg/util/helper"
	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/placement/apportion"
)

// Every division of up to 24 replicas among three clusters with weights up to 7, which the table of
// docs/conformance.md judges, and random ones, are Karmada's.
func TestDivision(t *testing.T) {
	for code := range 8 * 8 * 8 {
		for total := range int32(25) {
			sameDivision(t, total, []int32{int32(code % 8), int32(code / 8 % 8), int32(code / 64)})
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(rapid.Int32Range(0, 1000), 1, 30).Draw(t, "weights")
		sameDivision(t, rapid.Int32Range(0, 5000).Draw(t, "replicas"), weights)
	})
}

func sameDivision(t tb, total int32, weights []int32) {
	parties := make([]apportion.Party, len(weights))
	infos := make(helper.ClusterWeightInfoList, len(weights))
	for i, w := range weights {
		parties[i] = apportion.Party{Weight: w, Rank: uint64(i)}
		infos[i] = helper.ClusterWeightInfo{ClusterName: fmt.Sprintf("%02d", i), Weight: int64(w)}
	}
	d := helper.NewDispenser(total, nil, "")
	d.AllocateByWeight(infos)
	karmada := make([]int32, len(weights))
	for _, cluster := range d.Result {
		i := slices.IndexFunc(infos, func(w helper.ClusterWeightInfo) bool { return w.ClusterName == cluster.Name })
		karmada[i] = cluster.Replicas
	}
	ours, _ := apportion.Webster(total, parties)
	same(t, fmt.Sprint(ours), fmt.Sprint(karmada), func() string { return fmt.Sprintf("%d replicas at weights %v", total, weights) })
}
