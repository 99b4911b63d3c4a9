//go:build scalers

package conformance

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"net"
	"strings"
	"testing"

	"github.com/kedacore/keda/v2/pkg/scalers"
	"github.com/kedacore/keda/v2/pkg/scalers/scalersconfig"
	"github.com/kedacore/keda/v2/pkg/scaling/scaledjob"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/scaledjob/scaledjob/adapter/manifest"
)

// An offline scaler is one that KEDA constructs without a network. Constructing the
// others needs their server; triggers/targets_test.go reads their source.
type offline struct {
	construct      func(*scalersconfig.ScalerConfig) (scalers.Scaler, error)
	metadata, auth string   // required parameters other than the target, as "key=value,key=value"
	tries          []string // further metadata, in the same form
}

func offlineScalers(redis string) map[string]offline {
	ctx := context.Background()
	solace := "solaceSempBaseURL=http://localhost:8080,messageVpn=a,queueName=a,clientNamePattern=a"
	streams := []string{"", "consumerGroup=a", "streamLength=2,pendingEntriesCount=3,lagCount=4", "consumerGroup=a,streamLength=2",
		"consumerGroup=a,pendingEntriesCount=3", "consumerGroup=a,pendingEntriesCount=3,lagCount=4", "consumerGroup= ,lagCount=4", "streamLength= "}
	return map[string]offline{
		"activemq":      {scalers.NewActiveMQScaler, "managementEndpoint=a,destinationName=a,brokerName=a", "username=a,password=a", []string{"", "targetQueueSize=7"}},
		"artemis-queue": {scalers.NewArtemisQueueScaler, "managementEndpoint=a,queueName=a,brokerName=a,brokerAddress=a", "username=a,password=a", []string{"", "queueLength=7"}},
		"cron":          {scalers.NewCronScaler, "timezone=UTC,start=0 * * * *,end=1 * * * *", "", []string{"desiredReplicas=1", "desiredReplicas=9"}},
		"datadog": {scalers.NewDatadogScaler, "query=a{b},datadogMetricName=a,datadogMetricNamespace=a", "apiKey=a,appKey=a,datadogNamespace=a,datadogMetricsService=a",
			[]string{"", "targetValue=7", "queryValue=8", "targetValue=7,queryValue=8", "useClusterAgentProxy=true", "useClusterAgentProxy=true,targetValue=7", "useClusterAgentProxy=true,queryValue=8"}},
		"etcd":           {scalers.NewEtcdScaler, "endpoints=a:1,watchKey=a", "", []string{"", "value=7", "value=0.5"}},
		"forgejo-runner": {scalers.NewForgejoRunnerScaler, "address=http://a,labels=a", "token=a", []string{""}},
		"github-runner":  {scalers.NewGitHubRunnerScaler, "owner=a,runnerScope=org", "personalAccessToken=a", []string{"", "targetWorkflowQueueLength=7"}},
		"nsq":            {scalers.NewNSQScaler, "nsqLookupdHTTPAddresses=a:1,topic=a,channel=a", "", []string{"", "depthThreshold=7"}},
		"prometheus":     {scalers.NewPrometheusScaler, "serverAddress=http://a,query=a", "", []string{"", "threshold=7"}},
		"pulsar":         {scalers.NewPulsarScaler, "adminURL=http://a,topic=a,subscription=a", "", []string{"", "msgBacklogThreshold=7"}},
		"rabbitmq": {scalers.NewRabbitMQScaler, "host=http://a,queueName=a", "", []string{"", "queueLength=7", "mode=QueueLength", "mode=QueueLength,value=8", "mode=MessageRate,value=0.5",
			"queueLength= ,mode=QueueLength,value=8"}},
		"redis": {func(c *scalersconfig.ScalerConfig) (scalers.Scaler, error) {
			return scalers.NewRedisScaler(ctx, false, false, c)
		}, "address=" + redis + ",listName=a", "", []string{"", "listLength=7"}},
		"redis-streams": {func(c *scalersconfig.ScalerConfig) (scalers.Scaler, error) {
			return scalers.NewRedisStreamsScaler(ctx, false, false, c)
		}, "address=" + redis + ",stream=a", "", streams},
		"selenium-grid": {scalers.NewSeleniumGridScaler, "url=http://a", "", []string{"", "targetValue=7"}},
		"solace-direct-messaging": {scalers.NewSolaceDMScaler, solace, "username=a,password=a", []string{"", "aggregatedClientTxByteRateTarget=2", "aggregatedClientAverageTxByteRateTarget=3",
			"aggregatedClientTxMsgRateTarget=4", "aggregatedClientAverageTxMsgRateTarget=5"}},
		"solace-event-queue": {scalers.NewSolaceScaler, solace, "username=a,password=a", []string{"", "messageCountTarget=2", "messageSpoolUsageTarget=3", "messageReceiveRateTarget=4"}},
		"splunk":             {scalers.NewSplunkScaler, "host=http://a,unsafeSsl=true,savedSearchName=a,valueField=a,activationValue=0", "username=a,apiToken=a", []string{"", "targetValue=7"}},
	}
}

func trigger(kind string, metadata map[string]string) (manifest.Trigger, error) {
	s := &manifest.ScaledJob{}
	s.Spec.Triggers = []manifest.ScaleTrigger{{Type: kind, Metadata: metadata}}
	triggers, err := s.Triggers(nil)
	return triggers[0], err
}

// The target is the one that a scaler of KEDA reports, or both reject the trigger.
func TestConstructedTriggers(t *testing.T) {
	for kind, s := range offlineScalers(fakeRedis(t)) {
		for _, try := range s.tries {
			t.Run(kind+" "+try, func(t *testing.T) {
				metadata := pairs(s.metadata)
				maps.Copy(metadata, pairs(try))
				own, problem := trigger(kind, metadata)
				built, err := s.construct(&scalersconfig.ScalerConfig{TriggerMetadata: metadata, AuthParams: pairs(s.auth)})
				if err != nil {
					require.ErrorContains(t, problem, "found nothing", "KEDA: %v", err)
					return
				}
				defer built.Close(context.Background())
				require.NoError(t, problem)
				_, _, target := scaledjob.CalculateQueueLengthAndMaxValue(nil, built.GetMetricSpecForScaling(context.Background()), 1)
				require.Equal(t, target, own.Target)
			})
		}
	}
}

// The types that the adapter refuses have no target that a manifest gives.
func TestTriggersWithoutTarget(t *testing.T) {
	ctx := context.Background()
	for _, resource := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		_, err := scalers.NewCPUMemoryScaler(resource, &scalersconfig.ScalerConfig{TriggerMetadata: pairs("value=5")})
		require.ErrorContains(t, err, "unknown metric type", "KEDA refuses any metricType in a ScaledJob")
		s, err := scalers.NewCPUMemoryScaler(resource, &scalersconfig.ScalerConfig{MetricType: "AverageValue", TriggerMetadata: pairs("value=5")})
		require.NoError(t, err)
		require.Nil(t, s.GetMetricSpecForScaling(ctx)[0].External, "KEDA passes the metric over")
	}
	mock, err := scalers.NewExternalMockScaler(nil)
	require.NoError(t, err)
	_, _, target := scaledjob.CalculateQueueLengthAndMaxValue(nil, mock.GetMetricSpecForScaling(ctx), 1)
	require.Zero(t, target)
}

func pairs(text string) map[string]string {
	all := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		if key, value, ok := strings.Cut(pair, "="); ok {
			all[key] = value
		}
	}
	return all
}

// fakeRedis answers PING, and any other command with an error.
func fakeRedis(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				arguments := 0
				for lines := bufio.NewScanner(conn); lines.Scan(); {
					switch line := lines.Text(); {
					case strings.HasPrefix(line, "*"):
						arguments = 0
					case strings.HasPrefix(line, "$"):
						arguments++
					case arguments == 1 && strings.EqualFold(line, "ping"):
						fmt.Fprint(conn, "+PONG\r\n")
					case arguments == 1:
						fmt.Fprint(conn, "-ERR unknown command\r\n")
					}
				}
			}()
		}
	}()
	return listener.Addr().String()
}
