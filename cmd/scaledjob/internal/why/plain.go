package why

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/scaledjob/scaledjob/adapter/redact"
)

// A plainError is an error of KEDA or of the API server in plain words.
type plainError struct {
	pattern *regexp.Regexp
	means   string
	fix     string
}

// status begins the number of an HTTP status, or of an error of AMQP.
const status = `(?:status|code|exception|error|response|http)\W{0,4}(?:code\W{0,3})?`

const (
	canceled        = "KEDA ended the poll, because the ScaledJob was changed or the operator stopped"
	rejected        = "the server rejects the credentials"
	correctIdentity = "correct the Secret, the TriggerAuthentication or the rights of the identity; environment variables are read from the Job's container and never from the operator"
)

// ownLimit is the error of KEDA's own limit of requests to the API server.
var ownLimit = plainError{regexp.MustCompile(`(?i)client rate limiter`), "KEDA ended the poll while its own limit of requests delayed it, as a change of the ScaledJob does", "raise --kube-api-qps and --kube-api-burst of the operator"}

// failsAll matches the errors of creates that all creates of a poll have.
var failsAll = regexp.MustCompile(`(?i)is invalid|no more than 63|must be no more|cannot set blockOwnerDeletion|because it is being terminated`)

// readErrors are the errors of scalers.
var readErrors = []plainError{
	{regexp.MustCompile(`(?i)lookup \S+(?: on \S+)?: (?:\w+ (?:udp|tcp) \S+: )?(?:\w+: )*(?:i/o timeout|connection refused)|server misbehaving`), "the DNS of the cluster does not answer", "check CoreDNS, and network policies between KEDA's namespace and it"},
	{regexp.MustCompile(`(?i)no such host`), "the name of the host does not exist for the operator's pod", "correct the host; the name must resolve from KEDA's namespace, so write the full name such as redis.shop.svc.cluster.local"},
	{regexp.MustCompile(`(?i)connection refused`), "nothing listens at the address", "correct host and port, or start the server"},
	{regexp.MustCompile(`(?i)does not look like a TLS handshake|HTTP response to HTTPS client|malformed HTTP`), "the server does not speak TLS at this port, or only TLS", "correct the protocol, the port or the trigger's tls"},
	{regexp.MustCompile(`(?i)x509|certificate|tls:`), "the certificate is not accepted", "give the CA in the TriggerAuthentication, or correct the host"},
	ownLimit,
	{regexp.MustCompile(`(?i)` + status + `429|throttl|rate limit|rate exceeded|too many requests`), "the server limits requests", "use a longer pollingInterval, or read less in the trigger, such as fewer repositories"},
	{regexp.MustCompile(`(?i)at least one TokenCredential|valid credentials for Azure|no (?:client ID|tenant ID|token file) specified|error reading service account token|no EC2 IMDS role|GCE metadata .*not defined|could not find default credentials|EmptyStaticCreds`), "the operator's pod has no identity of the cloud", "bind one to the operator's ServiceAccount and restart the operator (in KEDA's Helm chart: podIdentity)"},
	{regexp.MustCompile(`(?i)no azure identity found|adal: Refresh request failed|\bidentity not found|Gaia id not found`), "the cloud gives KEDA no token for the identity", "correct the identity that the TriggerAuthentication or the operator's ServiceAccount names, or bind it to the operator"},
	{regexp.MustCompile(`(?i)(?:vault|secrets? manager).*(?:not ?found|404)`), "the store of secrets has no such secret", "correct its name or version in the TriggerAuthentication, or create it"},
	{regexp.MustCompile(`(?i)NOT_FOUND - no queue|no queue|queue.*(?:not exist|not found)|NonExistentQueue`), "the queue does not exist", "correct its name, or create the queue"},
	{regexp.MustCompile(`(?i)(?:secret|configmap).*not found|secrets? ".*" (?:not found|is forbidden)`), "the Secret does not exist, or KEDA may not read it", "create the Secret in the ScaledJob's namespace"},
	{regexp.MustCompile(`(?i)` + status + `40[13]\b|\b40[13] (?:unauthorized|forbidden)|unauthori[sz]ed|not authorized|forbidden|permission ?denied|ACCESS_REFUSED|WRONGPASS|NOAUTH|access ?denied|invalid (?:password|token|credential)|authentication failed|login (?:was )?refused|expired ?token|AADSTS|InvalidIdentityToken|NoCredentialProviders`), rejected, correctIdentity},
	{regexp.MustCompile(`(?i)i/o timeout|deadline exceeded|timed? ?out|timeout|server selection error|no route to host`), "the server does not answer in time", "check network policies between KEDA's namespace and the server, and KEDA_HTTP_DEFAULT_TIMEOUT"},
	{regexp.MustCompile(`(?i)context canceled`), canceled, "nothing has to be done: the next poll reads it again"},
	{regexp.MustCompile(`(?i)\b(?:(?:get|retrieve|acquire)\b[a-z ]*\b(?:credentials|token)|find\b[a-z ]*\bcredentials)\b`), rejected, correctIdentity},
	{regexp.MustCompile(`(?i)triggerauthentication.*not found`), "the TriggerAuthentication does not exist in the namespace", "create it in the ScaledJob's namespace, or use a ClusterTriggerAuthentication with its kind"},
	{regexp.MustCompile(`(?i)` + status + `404\b|404 not found|does not exist|doesn't exist|unknown (?:database|topic|column)|invalid object name|no such (?:table|column)`), "the server has nothing of this name", "correct the table, database, topic, stream or path that the trigger names, or create it"},
	{regexp.MustCompile(`(?i)result is empty`), "the query has no result", "correct the query, or set ignoreNullValues to true if no result means 0"},
	{regexp.MustCompile(`(?i)connection string|\bparse "[^" ]*://|invalid (?:port|userinfo|URL escape)`), "the connection string or the address is invalid", "correct it where it comes from: the trigger, the Secret of the TriggerAuthentication, whose values lint does not see, or the environment of the Job's container"},
	{regexp.MustCompile(`(?i)error parsing|missing required|must be|no .* (?:given|provided|specified)|invalid syntax|parse`), "the metadata of the trigger is invalid", "correct the trigger: scaledjob lint names the field"},
	{regexp.MustCompile(`(?i)no scaler found|unsupported scaler|unknown scaler`), "KEDA has no scaler of this type", "correct the type of the trigger"},
	{regexp.MustCompile(`(?i)connection reset|EOF|broken pipe|channel/connection is not open|run out of available brokers`), "the server closes the connection", "check the protocol, TLS, SASL and the port"},
}

// createErrors are the errors of creates.
var createErrors = []plainError{
	{regexp.MustCompile(`(?i)exceeded quota`), "a ResourceQuota of the namespace is used up", "raise the quota, lower maxReplicaCount, or keep fewer finished Jobs (successfulJobsHistoryLimit, failedJobsHistoryLimit)"},
	{regexp.MustCompile(`(?i)failed quota:`), "a ResourceQuota of the namespace asks for requests or limits that the pods lack", "write what the message names in each container of the template, or give the namespace a LimitRange with defaults"},
	{regexp.MustCompile(`(?i)failed calling webhook|failed to call webhook`), "an admission webhook does not answer", "start the webhook's service, or set its failurePolicy to Ignore"},
	{regexp.MustCompile(`(?i)admission webhook|denied the request|violates PodSecurity|ValidatingAdmissionPolicy`), "an admission policy rejects the Job", "change the Job template as the policy asks"},
	{regexp.MustCompile(`(?i)no more than 63|must be no more|too long`), "the name of the ScaledJob is too long for the label of a Job", "use a name of at most 63 characters"},
	{regexp.MustCompile(`(?i)cannot set blockOwnerDeletion`), "KEDA's ServiceAccount may not set finalizers of ScaledJobs, which OpenShift checks", "grant update on scaledjobs/finalizers in keda.sh to the keda-operator"},
	{regexp.MustCompile(`(?i)because it is being terminated`), "the namespace is being deleted", "create the ScaledJob in a namespace that stays"},
	{regexp.MustCompile(`(?i)pods ".*" is forbidden`), "an admission plugin forbids the pods", "change the template as the message says, or create what it lacks, such as a ServiceAccount"},
	{regexp.MustCompile(`(?i)forbidden|cannot create resource`), "KEDA's ServiceAccount may not create Jobs, or an admission plugin forbids them", "grant create on jobs in batch to the keda-operator, or change the template as the message says"},
	{regexp.MustCompile(`(?i)is invalid|Invalid value|Required value|Unsupported value`), "the API server rejects the Job template", "correct the template: scaledjob lint names the field"},
	ownLimit,
	{regexp.MustCompile(`(?i)context canceled`), "KEDA ended the poll because the ScaledJob was changed, or because KEDA set its finalizer on a new one; the Job may exist all the same, also above the maximum", "nothing has to be done: the next poll counts the Jobs that exist"},
	{regexp.MustCompile(`(?i)deadline exceeded|timed? ?out|timeout|connection refused|EOF|etcdserver`), "the API server does not answer", "check the control plane and the webhooks that it calls"},
}

const noPermission = "its ServiceAccount lacks the permission"

// listErrors are the errors of the operator's lists.
var listErrors = []plainError{
	{regexp.MustCompile(`no matches for kind|could not find the requested resource`), "the API server does not know the kind", "apply the CRDs of the operator's release"},
	{regexp.MustCompile(`forbidden`), noPermission, "restore the ClusterRole and the ClusterRoleBinding of keda-operator"},
	{regexp.MustCompile(`(?:https?://|dial tcp).*(?:timeout|deadline exceeded|refused|no route|EOF)`), "the API server does not answer", "check the control plane, and the network between it and the operator's pod"},
}

// writeErrors are the errors of the operator's updates and deletions.
var writeErrors = append([]plainError{{regexp.MustCompile(`the object has been modified`), "something else changed it at the same time", "nothing has to be done: KEDA tries again"}}, listErrors...)

func in(candidates []plainError, text string) (means, fix string) {
	e := find(candidates, text)
	return e.means, e.fix
}

func find(candidates []plainError, text string) (e plainError) {
	if i := slices.IndexFunc(candidates, func(e plainError) bool { return e.pattern.MatchString(text) }); i >= 0 {
		e = candidates[i]
	}
	return e
}

// plainly returns an error after a beginning, in plain words if it is a known one, and its fix.
func plainly(begin string, candidates []plainError, text string) (said, fix string) {
	means, fix := in(candidates, text)
	if means != "" {
		begin += means + ": "
	}
	return begin + quote(text), upper(fix)
}

// quote returns an error of the log without credentials and of limited length.
func quote(text string) string {
	text = strings.Join(strings.Fields(redact.Text(text)), " ")
	if runes := []rune(text); len(runes) > 200 {
		text = string(runes[:200]) + "…"
	}
	return fmt.Sprintf("%q", text)
}
