package triggers

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// kafkaRules are the rules of triggers for Kafka.
var kafkaRules = []Rule{
	{[]string{"kafka"}, "isActivePartition", "2.18", accepted("KEDA counts no partition and never creates a Job", onlyIf(about("partitionLimitation", reversedRange), provided("topic")))},
	{[]string{"apache-kafka"}, "PartitionLimitation", "2.18", accepted("KEDA leaves the range out", onlyIf(about("partitionLimitation", reversedRange), provided("topic")))},
	{kafkas, "PartitionLimitation = nil", "2.18", accepted("KEDA ignores it", onlyIf(unused("without topic", "partitionLimitation"), missing("topic")))},
	{kafkas, "allowIdleConsumers and limitToPartitionsWithLag cannot be set simultaneously", "2.18", apartIfTrue("allowIdleConsumers", "limitToPartitionsWithLag")},
	{kafkas, "topic must be specified when using limitToPartitionsWithLag", "2.18",
		needs(isTrue("limitToPartitionsWithLag"), "with limitToPartitionsWithLag", "topic")},
	{[]string{"kafka"}, "topic must be specified when using ensureEvenDistributionOfPartitions", "2.18",
		needs(isTrue("ensureEvenDistributionOfPartitions"), "with ensureEvenDistributionOfPartitions", "topic")},
	{[]string{"kafka"}, "limitToPartitionsWithLag and ensureEvenDistributionOfPartitions cannot be set simultaneously", "2.18",
		apartIfTrue("limitToPartitionsWithLag", "ensureEvenDistributionOfPartitions")},
	{[]string{"kafka"}, "no username given", "2.18", needs(isSet("sasl", "plaintext", "scram_sha256", "scram_sha512"), "with sasl", "username", "password")},
	{[]string{"apache-kafka"}, "username and password must be set when using SASL/PLAINTEXT", "2.18", needs(isSet("sasl", "plaintext"), "with sasl plaintext", "username", "password")},
	{[]string{"apache-kafka"}, "awsRegion must be set when using AWS MSK IAM", "2.18", needs(isSet("sasl", "aws_msk_iam"), "with sasl aws_msk_iam", "awsRegion")},
	{[]string{"kafka"}, "key must be provided with cert", "2.18", onlyIf(together("cert", "key"), isSet("tls", "enable"))},
	{[]string{"apache-kafka"}, "can't set only one of cert or key when using TLS", "2.18", onlyIf(together("cert", "key"), isSet("tls", "enable"))},
	{[]string{"apache-kafka"}, "TLS must be enabled when using AWS MSK IAM", "2.18", onlyIf(mustBe("tls", "enable", "sasl aws_msk_iam"), isSet("sasl", "aws_msk_iam"))},
	{[]string{"kafka"}, "topic must be specified when fullMetadata is false", "2.21", needs(isSet("fullMetadata", "false"), "with fullMetadata false", "topic")},
	{[]string{"kafka"}, "no oauth token endpoint uri given", "2.18",
		needs(conjunction(isSet("sasl", "oauthbearer"), isNot("saslTokenProvider", "aws_msk_iam")), "with sasl oauthbearer", "username", "password", "oauthTokenEndpointUri")},
	{[]string{"kafka"}, "invalid OAuthBearer extension", "2.18",
		onlyIf(matches("oauthExtensions", "is not a list of pairs", "Write a list of pairs such as a=1,b=2", pairs), isSet("sasl", "oauthbearer"), isNot("saslTokenProvider", "aws_msk_iam"))},
	{[]string{"kafka"}, "TLS is required for AWS MSK authentication", "2.18", onlyIf(mustBe("tls", "enable", "saslTokenProvider aws_msk_iam"), mskToken)},
	{[]string{"kafka"}, "no awsRegion given", "2.18", needs(mskToken, "with saslTokenProvider aws_msk_iam", "awsRegion")},
	{[]string{"kafka"}, "no realm given", "2.18", needs(isSet("sasl", "gssapi"), "with sasl gssapi", "username", "realm", "kerberosConfig")},
	{[]string{"kafka"}, "invalid partition limitation", "2.20", matches("partitionLimitation", "is not a list of partitions", "Write numbers and ranges, such as 1,3,5-9", partitionList.MatchString)},
	{[]string{"kafka"}, "error parsing kafka version", "2.18", matches("version", "does not have three numbers", "Write a version such as 2.8.0", regexp.MustCompile(`^(0\.\d+|\d+)\.\d+\.\d+$`).MatchString)},
	{[]string{"apache-kafka"}, "unable to set `sasl` in both", "2.18", twice("sasl")},
	{[]string{"apache-kafka"}, "unable to set `tls` in both", "2.18", twice("tls")},
	{[]string{"kafka"}, "exactly one of 'password', 'keytab' or 'ccacheName'", "2.21", onlyIf(oneSecret, isSet("sasl", "gssapi"))},
	{[]string{"kafka"}, "ccacheName must be a file name and not a path", "2.21", onlyIf(fileName("ccacheName"), isSet("sasl", "gssapi"))},
}

var kafkas = []string{"kafka", "apache-kafka"}

var partitionList = regexp.MustCompile(`^ *\d+( *- *\d+)? *(, *\d+( *- *\d+)? *)*$`)

func mskToken(c *checker) bool {
	return c.equals("sasl", "oauthbearer") && c.equals("saslTokenProvider", "aws_msk_iam")
}

// reversedRange finds a range of partitions with its end before its start.
func reversedRange(text string) (wrong, fix string) {
	for item := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(item, "-")
		a, errA := strconv.Atoi(strings.TrimSpace(first))
		b, errB := strconv.Atoi(strings.TrimSpace(last))
		if isRange && errA == nil && errB == nil && a > b {
			return fmt.Sprintf("the range %s of partitionLimitation ends before it starts", strings.TrimSpace(item)), fmt.Sprintf("Write %d-%d", b, a)
		}
	}
	return "", ""
}
