package triggers

// redisRules are the rules of triggers for Redis.
var redisRules = []Rule{
	{redises, "DatabaseIndex", "2.18", accepted(polls, atLeast("databaseIndex", 0))},
	{sentinels, "MasterName", "2.18", accepted(polls, needs(unconditional, "to ask the sentinels", "sentinelMaster"))},
	{streams, "scaleFactor = xLengthFactor", "2.18",
		accepted("KEDA counts all entries of the stream, also acknowledged ones", onlyIf(unusedWithout("consumerGroup", "lagCount", "pendingEntriesCount", "activationLagCount"), missing("consumerGroup")))},
	{streams, "scaleFactor = lagFactor", "2.18", accepted("KEDA counts the group's entries", onlyIf(unused("with consumerGroup", "streamLength"), provided("consumerGroup")))},
	{streams, "TargetPendingEntriesCount = 0", "2.18", accepted("KEDA counts the group's lag", onlyIf(unused("with lagCount", "pendingEntriesCount"), provided("consumerGroup"), provided("lagCount")))},
	{redises, "no addresses or hosts given", "2.18", oneOf("address", "host port")},
	{redises, "not enough hosts or ports given", "2.18", redisPorts},
	{redises, "error incorrect TLS value given", "2.18", allowed("tls", "enable", "disable")},
	{redises, "to set `tls` in both", "2.18", onlyIf(exclusive("enableTLS", "tls"), inMetadata("enableTLS"))},
	{redises, "EnableTLS parsing error", "2.18", allowed("enableTLS", "true", "false", "1", "0", "t", "f", "T", "F", "TRUE", "FALSE", "True", "False")},
}

var redises = []string{"redis", "redis-cluster", "redis-sentinel", "redis-streams", "redis-cluster-streams", "redis-sentinel-streams"}

var sentinels = []string{"redis-sentinel", "redis-sentinel-streams"}

func redisPorts(c *checker) fault {
	f := sameLength("host", "port", ",")(c)
	if f.text != "" {
		f.text, f.fix = "there are not as many ports as hosts", "Write one port for each host"
	}
	return f
}
