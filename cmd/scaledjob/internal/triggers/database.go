package triggers

import "strings"

// databaseRules are the rules of triggers for databases and search engines.
var databaseRules = []Rule{
	{[]string{"mongodb"}, "ApplyURI", "2.18", connection("connectionString", "mongodb://host:27017", `^mongodb(\+srv)?://`)},
	{[]string{"postgresql"}, `sql.Open("pgx"`, "2.18", onlyIf(connection("connection", "postgresql://user:password@host:5432/db or host=… dbname=…", "^postgres(ql)?://|^[^:]*="), noIdentity)},
	{[]string{"mysql"}, `sql.Open("mysql"`, "2.18", connection("connectionString", "user:password@tcp(host:3306)/db", `^(.*@)?((tcp[46]?|unix)(\(.*\))?|\(.*\))?/[^/]*$`)},
	{[]string{"mssql"}, "sqlserver", "2.18", connection("connectionString", "sqlserver://user:password@host:1433?database=…", `^sqlserver://|^odbc:|^[^:]*=`)},
	{[]string{"cassandra"}, "no port given", "2.18", cassandraPort},
	{[]string{"cassandra"}, "both cert and key are required when TLS is enabled", "2.18", needs(isSet("tls", "enable"), "with tls enable", "cert", "key")},
	{[]string{"cassandra"}, "gocql.ParseConsistency", "2.18",
		allowedInAnyCase("consistency", "ANY", "ONE", "TWO", "THREE", "QUORUM", "ALL", "LOCAL_QUORUM", "EACH_QUORUM", "LOCAL_ONE", "SERIAL", "LOCAL_SERIAL")},
	{[]string{"clickhouse"}, "either connectionString or host must be set", "2.21", oneOf("connectionString", "host")},
	{[]string{"clickhouse"}, "both cert and key must be provided when TLS is enabled", "2.21", onlyIf(together("cert", "key"), isTrue("tls"))},
	{[]string{"couchdb"}, "no host given", "2.18", oneOf("connectionString", "host port username password dbName")},
	{[]string{"mongodb"}, "no host given", "2.18", oneOf("connectionString", "host username password")},
	{[]string{"mongodb"}, "failed to parse query", "2.18", jsonObject("query")},
	{[]string{"mongodb"}, "no port given", "2.18", needs(conjunction(missing("connectionString"), isNot("scheme", "mongodb+srv")), "without connectionString", "port")},
	{[]string{"mongodb"}, "at least one of cert, key, or ca must be provided", "2.19", onlyIf(oneOf("cert", "ca"), isSet("tls", "enable"))},
	{[]string{"mongodb"}, "both cert and key must be provided when using client certificates", "2.19", onlyIf(together("cert", "key"), isSet("tls", "enable"))},
	{[]string{"mongodb"}, `Scheme`, "2.18", onlyIf(allowed("scheme", "mongodb", "mongodb+srv"), missing("connectionString"))},
	{[]string{"postgresql"}, `"sslmode="`, "2.18", onlyIf(allowed("sslmode", "disable", "allow", "prefer", "require", "verify-ca", "verify-full"), missing("connection"))},
	{[]string{"mysql"}, "net.JoinHostPort(meta.Host, meta.Port)", "2.18", oneOf("connectionString", "host port")},
	{[]string{"mssql"}, "must provide either connectionstring or host", "2.18", oneOf("connectionString", "host")},
	{[]string{"postgresql"}, "no host given", "2.18", oneOf("connection", "host port userName dbName sslmode")},
	{[]string{"elastic-forecast"}, "lookAhead must be positive", "2.20", matches("lookAhead", "is not above 0", "Write a duration above 0, such as 10m", func(text string) bool { return strings.Trim(text, "0hmsunµ.") != "" })},
	{[]string{"elastic-forecast", "elasticsearch"}, "both cloudID and apiKey must be provided", "2.18", together("cloudID", "apiKey")},
	{[]string{"elastic-forecast", "elasticsearch"}, "provide both cloud config", "2.18", exclusive("cloudID", "addresses")},
	{[]string{"elastic-forecast", "elasticsearch"}, "both username and password must be provided", "2.18", needs(provided("addresses"), "with addresses", "username", "password")},
	{[]string{"elastic-forecast"}, "must provide either cloud config", "2.20", oneOf("addresses", "cloudID apiKey")},
	{[]string{"opensearch"}, "both clientCert and clientKey must be provided when enableTLS is true", "2.20", needs(isTrue("enableTLS"), "with enableTLS", "clientCert", "clientKey")},
	{[]string{"opensearch"}, "both username and password must be provided for basic auth", "2.20", needs(isNotTrue("enableTLS"), "without enableTLS", "username", "password")},
	{[]string{"elasticsearch", "opensearch"}, "either searchTemplateName or query must be provided", "2.18", oneOf("searchTemplateName", "query")},
	{[]string{"elasticsearch", "opensearch"}, "cannot provide both searchTemplateName and query", "2.18", exclusive("searchTemplateName", "query")},
	{[]string{"elasticsearch"}, "must provide either cloud config or endpoint addresses", "2.18", elasticWay},
	{[]string{"elastic-forecast", "elasticsearch", "opensearch"}, "meta.Addresses", "2.18", urls("addresses", ",", "")},
	{[]string{"couchdb"}, `kivik.New("couch"`, "2.18", urls("connectionString", "", "http://")},
	{[]string{"gcp-spanner"}, "projects/%s/instances/%s/databases/%s", "2.21", spannerName},
	{[]string{"etcd"}, "incorrect value for TLS given", "2.18", allowed("tls", "enable", "disable")},
	{[]string{"etcd"}, "cert must be provided with key", "2.18", onlyIf(together("cert", "key"), isSet("tls", "enable"))},
	{[]string{"etcd"}, "watchProgressNotifyInterval must be greater than 0", "2.18", atLeast("watchProgressNotifyInterval", 1)},
	{[]string{"etcd"}, "username must be provided with password", "2.18", together("username", "password")},
	{[]string{"opensearch"}, "expected key:value", "2.20", matches("parameters", "is not a list of pairs", "Write a list of pairs such as a:1,b:2", isPairs)},
	{[]string{"postgresql"}, "error establishing postgreSQL connection", "2.18", between("port", 1, 65535)},
}

// elasticWay finds a trigger without any parameter of a connection.
func elasticWay(c *checker) fault {
	if !c.absent("addresses", "cloudID", "apiKey", "username", "password") {
		return fault{}
	}
	return fault{text: "elasticsearch needs addresses with username and password, or cloudID with apiKey", fix: c.ways("addresses")}
}

func cassandraPort(c *checker) fault {
	if v := c.get("clusterIPAddress"); v.State == Visible && !strings.Contains(v.Text, ":") && c.absent("port") {
		return fault{key: "clusterIPAddress", text: "clusterIPAddress has no port", fix: "Write it as host:9042, or set port in the metadata"}
	}
	return fault{}
}
