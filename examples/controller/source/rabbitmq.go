package source

import (
	"net/url"
	"slices"
	"strings"

	"k8s.io/client-go/kubernetes"

	"github.com/scaledjob/scaledjob/scaling"
)

// The modes of a rabbitmq trigger.
const (
	queueLength     = "QueueLength"
	messageRate     = "MessageRate"
	deliverGetRate  = "DeliverGetRate"
	publishedRatio  = "PublishedToDeliveredRatio"
	consumptionTime = "ExpectedQueueConsumptionTime"
)

// A broker holds the connection parameters of a rabbitmq trigger.
type broker struct {
	host               *url.URL // without user
	username, password string
	vhost              string // empty if the URL has it
	queue              string
}

func openRabbitMQ(f *fields, _ kubernetes.Interface) Queue {
	b, http := f.broker()
	f.unsupported("OAuth2 is not supported", "oauthTokenURI", "clientID", "clientSecret")
	f.unsupported("workload identity is not supported", "workloadIdentityResource")
	if http {
		return f.management(b)
	}
	f.notOverHTTP()
	return f.amqp(b)
}

func (f *fields) unsupported(why string, names ...string) {
	for _, name := range names {
		if p := f.find([]place{authentication}, name); p.text != "" {
			f.wrong(p, "nothing: "+why)
		}
	}
}

// broker reads the connection parameters, and reports whether to use HTTP.
func (f *fields) broker() (b broker, http bool) {
	b.queue = f.required("queueName", "the name of a queue")
	b.vhost = f.find([]place{metadata, authentication}, "vhostName").text
	if strings.EqualFold(b.vhost, "%2f") {
		b.vhost = "/"
	}
	schemes := map[string][]string{
		"auto": {"amqp", "amqps", "http", "https"},
		"amqp": {"amqp", "amqps"},
		"http": {"http", "https"},
	}
	protocol := f.choice(f.find([]place{metadata, authentication}, "protocol"), "auto", "amqp", "http")
	if schemes[protocol] == nil {
		protocol = "auto"
	}
	b.host = f.link(f.find([]place{metadata, authentication, environment}, "host"), schemes[protocol]...)
	if f.enabled() && b.host.Host != "" && !strings.HasSuffix(b.host.Scheme, "s") {
		f.problem(f.path()+".metadata.host", "a URL that starts with "+b.host.Scheme+`://, and the parameter tls of "enable"`,
			"one that starts with "+b.host.Scheme+"s://")
	}
	f.credentials(&b)
	return b, protocol == "http" || strings.HasPrefix(b.host.Scheme, "http")
}

// credentials are the parameters username and password, else the URL's.
func (f *fields) credentials(b *broker) {
	places := []place{authentication, environment}
	name, password := f.find(places, "username"), f.find(places, "password")
	switch {
	case name.text == "" && password.text != "":
		f.wrong(name, "the user that the password is of")
	case name.text != "" && password.text == "":
		f.wrong(password, "the user's password")
	}
	b.username = b.host.User.Username()
	b.password, _ = b.host.User.Password()
	if name.text != "" {
		b.username, b.password = name.text, password.text
	}
	b.host.User = nil
}

// notOverHTTP reports parameters that AMQP does not support.
func (f *fields) notOverHTTP() {
	const want = "nothing, or a host that starts with http:// or https://: AMQP can't tell"
	for _, name := range []string{"useRegex", "excludeUnacknowledged"} {
		if f.flag(name) {
			f.wrong(f.given(name), want)
		}
	}
	if p := f.given("timeout"); p.text != "" && p.text != "0" {
		f.wrong(p, want)
	}
	if p := f.given("mode"); p.text != "" && f.mode() != queueLength {
		f.wrong(p, queueLength+", or a host that starts with http:// or https://: AMQP can't tell more")
	}
	f.mode()
}

// mode returns the unit that the trigger measures.
func (f *fields) mode() string {
	mode, value, length := f.given("mode"), f.given("value"), f.given("queueLength")
	switch {
	case length.text != "" && (mode.text != "" || value.text != ""):
		f.wrong(length, "nothing, where mode and value are set")
	case mode.text == "" && value.text != "":
		f.wrong(mode, "a mode for the value: "+queueLength+" or "+messageRate)
	case mode.text != "" && value.text == "":
		f.wrong(value, "the mode's target value")
	}
	modes := []string{queueLength, messageRate, deliverGetRate, publishedRatio, consumptionTime}
	switch {
	case mode.text == "":
		return queueLength
	case !slices.Contains(modes, mode.text):
		f.wrong(mode, "one of "+strings.Join(modes, ", "))
		return queueLength
	}
	return mode.text
}

// A backlog is RabbitMQ's report of a queue: messages, and messages per second.
type backlog struct {
	messages, published, delivered float64
}

// reading is b in a mode, as KEDA computes it. threshold stands in for a value
// that has no bound, because nothing is delivered; the queue is active then.
func (b backlog) reading(mode string, threshold float64) (Reading, error) {
	stuck := Reading{Value: threshold, Activity: scaling.Active}
	switch mode {
	case messageRate:
		if b.messages > threshold {
			return Reading{Value: b.published, Activity: scaling.Active}, nil
		}
		return count(b.published)
	case deliverGetRate:
		return count(b.delivered)
	case publishedRatio:
		switch {
		case b.published <= 0:
			return Reading{}, nil
		case b.delivered <= 0:
			return stuck, nil
		}
		return count(b.published / b.delivered)
	case consumptionTime:
		switch {
		case b.messages <= 0:
			return Reading{}, nil
		case b.delivered <= 0:
			return stuck, nil
		}
		return count(max(0, (b.published-b.delivered+b.messages)/b.delivered))
	}
	return count(b.messages)
}
