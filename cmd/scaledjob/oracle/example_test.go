package oracle_test

import (
	"fmt"
	"os"
	"strings"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/oracle"
)

// A poll of KEDA 2.21 as a line.
func ExampleRun() {
	question := `{"id":1,"release":"2.21","scalers":[{"queueLength":10,"target":2,"isActive":true}],"maxReplicaCount":3,"running":0,"pending":0}`
	unreadable, err := oracle.Run(strings.NewReader(question), os.Stdout)
	fmt.Println(unreadable, err)
	// Output:
	// {"id":1,"isActive":true,"queueLength":10,"target":3,"create":3,"total":3,"effectiveMaxScale":3,"scaleTo":10,"trace":"release   KEDA 2.21.0\nreplicas  min 0, and 3 for the queue\nscalers   1 of 1 read, active: queue length 10 asks for 5 Jobs, limited to 3 by the maximum, rounded up to 3\njobs      R=0 running, P=0 of them pending\nstrategy  default: T - R; at T=3 R=0 P=0 M=3\nproposal  3, at most 10 (the queue length)\ncreate    3: the strategy's answer"}
	// 0 <nil>
}
