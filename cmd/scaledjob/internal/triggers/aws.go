package triggers

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// awsRules are the rules of triggers for Amazon Web Services.
var awsRules = []Rule{
	{[]string{"aws-sqs-queue"}, "QueueUrl:", "2.18", accepted(polls, onlyIf(matches("queueURL", "is neither a URL nor a name", "Write a URL that begins with https://, or a queue's name", queueName.MatchString), notURL("queueURL")))},
	{[]string{"aws-cloudwatch"}, "MetricStat", "2.18", accepted(polls, matches("metricStat", "is not a statistic of CloudWatch", "Write a statistic such as Average, Sum, Maximum or p99", statistic.MatchString))},
	{[]string{"aws-cloudwatch"}, "namespace not given", "2.18",
		accepted("KEDA ignores it", onlyIf(unused("with expression", "namespace", "metricName", "dimensionName", "dimensionValue", "metricStat", "metricUnit"), provided("expression")))},
	{awsTypes, "PodIdentityOwner = false", "2.18", accepted("KEDA takes it as operator", onlyIf(allowed("identityOwner", "pod", "operator"), isNotIdentity("aws")))},
	{[]string{"aws-sqs-queue"}, "cannot get queueName from queueURL", "2.18", about("queueURL", queueURL)},
	{[]string{"aws-cloudwatch"}, "namespace not given", "2.18", needs(missing("expression"), "without expression", "namespace", "metricName", "dimensionName", "dimensionValue")},
	{[]string{"aws-cloudwatch"}, "dimensionName and dimensionValue are not matching in size", "2.18", onlyIf(sameLength("dimensionName", "dimensionValue", ";"), missing("expression"))},
	{[]string{"aws-cloudwatch"}, "metricUnit '%s' is not one of", "2.18", onlyIf(allowed("metricUnit", units...), missing("expression"))},
	{[]string{"aws-cloudwatch"}, "metricCollectionTime must be greater than 0 and a multiple", "2.18", collectionTime},
	{[]string{"aws-dynamodb"}, "error parsing expressionAttributeNames", "2.18", jsonObject("expressionAttributeNames")},
	{[]string{"aws-dynamodb"}, "error parsing expressionAttributeValues", "2.18", dynamoValues},
	{awsTypes, "awsSecretAccessKey not found", "2.18", awsSecretKey},
	{[]string{"aws-cloudwatch"}, "metricStatPeriod >= 60 has to be a multiple of 60", "2.18", statPeriod},
}

var awsTypes = []string{"aws-cloudwatch", "aws-dynamodb", "aws-dynamodb-streams", "aws-kinesis-stream", "aws-sqs-queue"}

var statistic = regexp.MustCompile(`^(Average|Sum|Minimum|Maximum|SampleCount|IQM|(p|tm|wm|tc|ts|PR|TM|WM|TC|TS)[0-9(].*)$`)

func statPeriod(c *checker) fault {
	x, ok := c.float("metricStatPeriod")
	if n := int(x); ok && ((n >= 60 && n%60 != 0) || (n < 60 && n != 1 && n != 5 && n != 10 && n != 30)) {
		return fault{key: "metricStatPeriod", text: "metricStatPeriod is " + c.text("metricStatPeriod"), fix: "Write 1, 5, 10, 30 or a multiple of 60"}
	}
	return fault{}
}

func collectionTime(c *checker) fault {
	period, ok := c.float("metricStatPeriod")
	x, okX := c.float("metricCollectionTime")
	if !ok || !okX || period < 1 || (x >= 0 && int(x)%int(period) == 0) {
		return fault{}
	}
	key := c.get("metricCollectionTime").Key
	if key == "" {
		key = "metricStatPeriod"
	}
	return fault{key: key, text: fmt.Sprintf("metricCollectionTime %v is not a multiple of metricStatPeriod %v", x, period),
		fix: fmt.Sprintf("Write a metricCollectionTime such as %v", max(1, math.Ceil(x/period))*period)}
}

// awsSecretKey finds half of a pair of AWS keys.
func awsSecretKey(c *checker) fault {
	if c.in.AnyIdentity || strings.HasPrefix(c.in.PodIdentity, "aws") || (c.hasAll("identityOwner") && !c.equals("identityOwner", "pod")) || !c.absent("awsRoleArn") {
		return fault{}
	}
	if !c.absent("awsAccessKeyID", "awsAccessKeyId") && c.absent("awsSecretAccessKey") {
		return fault{key: "awsSecretAccessKey", text: "an AWS access key needs awsSecretAccessKey", fix: c.ways("awsSecretAccessKey")}
	}
	return fault{}
}

// dynamoTypes are the types of values in expressions of AWS DynamoDB.
var dynamoTypes = []string{"S", "N", "BOOL", "B", "L", "M", "NULL"}

// dynamoValues finds a value without its type.
func dynamoValues(c *checker) fault {
	v := c.get("expressionAttributeValues")
	var values map[string]any
	if json.Unmarshal([]byte(v.Text), &values) != nil {
		return jsonObject("expressionAttributeValues")(c)
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		value, _ := values[name].(map[string]any)
		typed := len(value) == 1
		for key, x := range value {
			_, isText := x.(string)
			typed = typed && slices.Contains(dynamoTypes, key) && ((key != "N" && key != "S") || isText)
		}
		if !typed {
			return fault{key: v.Key, text: name + " of expressionAttributeValues has no type of DynamoDB", fix: fmt.Sprintf(`Write {"%s": {"S": "text"}}, or {"N": "1"} for a number`, name)}
		}
	}
	return fault{}
}

// queueURL finds a URL without an account and a queue.
func queueURL(text string) (wrong, fix string) {
	u, err := url.ParseRequestURI(text)
	if err != nil {
		return "", ""
	}
	if path := strings.Split(u.Path, "/"); len(path) == 3 && path[2] != "" {
		return "", ""
	}
	return fmt.Sprintf("queueURL %q has no account and queue", text), "Write it as https://sqs.REGION.amazonaws.com/ACCOUNT/QUEUE, or the queue's name"
}

// notURL is met by a value that is not a URL, or not known.
func notURL(name string) condition {
	return func(c *checker) bool {
		_, err := url.ParseRequestURI(c.text(name))
		return err != nil
	}
}
