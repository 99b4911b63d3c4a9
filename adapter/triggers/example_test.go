package triggers_test

import (
	"fmt"

	"github.com/scaledjob/scaledjob/adapter/triggers"
)

// A flag lets two namespaces use the identity of the controller's pod, with two hosts.
func ExampleParseAllowance() {
	allowance, err := triggers.ParseAllowance("aws=shop,mail@sqs.eu-west-1.amazonaws.com,*.example.com")
	fmt.Printf("%+v %v\n", allowance, err)
	_, err = triggers.ParseAllowance("aws-identity=shop")
	fmt.Println(err)
	// Output:
	// {Kind:aws Namespaces:[shop mail] Hosts:[sqs.eu-west-1.amazonaws.com *.example.com]} <nil>
	// allowance: found "aws-identity"; use KIND=NAMESPACES[@HOSTS] with one of the kinds aws, aws-eks, aws-secret-manager, azure-key-vault, azure-workload, credentials-file, external, external-push, file, gcp, gcp-secret-manager, token, vault
}
