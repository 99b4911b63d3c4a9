package triggers

import "strings"

// redisRules are the rules of triggers for Redis.
var redisRules = family{
	oddities: []Rule{
		{redises, "DatabaseIndex", "2.18", atLeast("databaseIndex", 0), polls},
		{sentinels, "MasterName", "2.18", needs(anyway, "to ask the sentinels", "sentinelMaster"), polls},
		{streams, "scaleFactor = xLengthFactor", "2.18",
			when(unused("without consumerGroup", "lagCount", "pendingEntriesCount", "activationLagCount"), without("consumerGroup")), "KEDA counts the length of the stream"},
		{streams, "scaleFactor = lagFactor", "2.18", when(unused("with consumerGroup", "streamLength"), given("consumerGroup")), "KEDA counts the group's entries"},
		{streams, "TargetPendingEntriesCount = 0", "2.18", when(unused("with lagCount", "pendingEntriesCount"), given("consumerGroup"), given("lagCount")), "KEDA counts the group's lag"},
	},
	refusals: []refusal{
		{redises, "no addresses or hosts given", "2.18", oneOf("address", "host port")},
		{redises, "not enough hosts or ports given", "2.18", redisPorts},
		{redises, "error incorrect TLS value given", "2.18", allowed("tls", "enable", "disable")},
		{redises, "to set `tls` in both", "2.18", when(apart("enableTLS", "tls"), inMetadata("enableTLS"))},
		{redises, "EnableTLS parsing error", "2.18", allowed("enableTLS", "true", "false", "1", "0", "t", "f", "T", "F", "TRUE", "FALSE", "True", "False")},
	},
}

var redises = []string{"redis", "redis-cluster", "redis-sentinel", "redis-streams", "redis-cluster-streams", "redis-sentinel-streams"}

var sentinels = []string{"redis-sentinel", "redis-sentinel-streams"}

func redisPorts(c *checker) (string, string, string) {
	hosts, ports := c.get("host"), c.get("port")
	if hosts.State != Known || ports.State != Known || strings.Count(hosts.Text, ",") == strings.Count(ports.Text, ",") {
		return "", "", ""
	}
	return ports.Key, "there are not as many ports as hosts", "Write one port for each host"
}
