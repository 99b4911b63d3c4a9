package queue

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/controllers/redis-operator/internal/redistest"
)

// What a real Redis refuses has a cause and a remedy, and not its own words.
func TestErrorsOfRedis(t *testing.T) {
	plain, secured := redistest.Start(t), redistest.Start(t, "--requirepass", "s3cret")
	plain.Push("bull:mail:wait", 3, redis.Options{DB: 2})
	sentinel := filepath.Join(t.TempDir(), "sentinel.conf")
	require.NoError(t, os.WriteFile(sentinel, nil, 0o600))
	full := redistest.Start(t, "--maxclients", "1")
	held, err := net.Dial("tcp", full.Address)
	require.NoError(t, err)
	defer held.Close()
	_, err = fmt.Fprint(held, "PING\r\n")
	require.NoError(t, err)
	busy := redistest.Start(t, "--busy-reply-threshold", "1")
	script := redis.NewClient(&redis.Options{Addr: busy.Address, MaxRetries: -1, ReadTimeout: time.Minute})
	defer script.Close()
	go script.Eval(t.Context(), "while true do end", nil)
	time.Sleep(200 * time.Millisecond)
	cluster := redistest.Start(t, "--cluster-enabled", "yes", "--appendonly", "no")
	for name, c := range map[string]struct {
		address  string
		access   Server
		problem  string
		excluded string // of the server's words
	}{
		"a password for a server without one":   {plain.Address, Server{Password: "s3cret"}, "has no password, and a password was sent; remove redisAuth", "configuration is correct"},
		"a user for a server without one":       {plain.Address, Server{Username: "us3r", Password: "s3cret"}, "refuses the user name or the password", "username-password pair"},
		"a user for a server with a password":   {secured.Address, Server{Username: "us3r", Password: "s3cret"}, "refuses the user name or the password", "pair"},
		"a database that is not there":          {plain.Address, Server{Database: 99}, "does not have the database; correct redisDatabase", "out of range"},
		"too many clients":                      {full.Address, Server{}, "has too many clients; raise maxclients", "reached"},
		"a script":                              {busy.Address, Server{}, "is busy with a script; ask the owner of the script to end it", "NOSAVE"},
		"a node of a cluster without its slots": {cluster.Address, Server{}, "is a node of a cluster that is down", "Hash slot"},
		"a database of a cluster":               {cluster.Address, Server{Database: 1}, "which has database 0 only; remove redisDatabase", "not allowed"},
		"a Sentinel":                            {redistest.StartSentinel(t, sentinel), Server{}, "may be a Sentinel, which is not supported", "beginning"},
		"a command that was renamed":            {redistest.Start(t, "--rename-command", "LLEN", "").Address, Server{}, "does not know the command", "beginning"},
		"a user without the command":            {redistest.Start(t, "--user", "default", "on", "nopass", "~*", "+@all", "-llen").Address, Server{}, "does not let the user read the queue; grant", "permissions"},
		"a replica without its master":          {redistest.Start(t, "--replicaof", "127.0.0.1", "1", "--replica-serve-stale-data", "no").Address, Server{}, "has lost its master", "stale"},
	} {
		t.Run(name, func(t *testing.T) {
			c.access.Address = c.address
			_, err := (&Redis{}).Depth(t.Context(), c.access, "bull:mail:wait")
			require.ErrorContains(t, err, "redis at "+c.address+" ")
			require.ErrorContains(t, err, c.problem)
			require.Contains(t, err.Error(), "; ", "a remedy")
			for _, word := range []string{c.excluded, "s3cret", "us3r"} {
				require.NotContains(t, err.Error(), word)
			}
		})
	}
	// A list of another database is empty here, as is one with another name.
	for _, list := range []struct {
		database int32
		name     string
		want     int64
	}{{0, "bull:mail:wait", 0}, {2, "bull:mail:wait", 3}, {2, "mail", 0}} {
		depth, err := (&Redis{}).Depth(t.Context(), Server{Address: plain.Address, Database: list.database}, list.name)
		require.NoError(t, err)
		require.Equal(t, list.want, depth, "%+q", list)
	}
	_, err = (&Redis{}).Depth(t.Context(), Server{Address: plain.Address}, "celery\x06\x163") // Celery's key of a priority
	require.ErrorContains(t, err, "control character in the name")
}

// Answers of servers that a test cannot easily have.
func TestErrorAnswers(t *testing.T) {
	for answer, want := range map[string]string{
		"ERR Client sent AUTH, but no password is set":                                "has no password",
		"ERR invalid password":                                                        "refuses the password",
		"ERR wrong number of arguments for 'auth' command":                            "knows no user names",
		"DENIED Redis is running in protected mode because protected mode is enabled": "protected mode",
		"LOADING Redis is loading the dataset in memory":                              "still loading",
		"MOVED 866 10.0.0.1:6379":                                                     "cluster",
		"ASK 866 10.0.0.1:6379":                                                       "cluster",
		"TRYAGAIN Multiple keys request during rehashing of slot":                     "cluster",
		"MASTERDOWN Link with MASTER is down":                                         "master",
		"NOAUTH Authentication required.":                                             "set redisAuth",
		"ERR operation not permitted":                                                 "set redisAuth",
		"ERR something that nobody knows s3cret":                                      "redis-cli",
		"WRONGPASSs3cret":                                                             "redis-cli",
	} {
		got := explain(answer)
		require.Contains(t, got, want, answer)
		require.Contains(t, got, ";", "a remedy")
		require.NotContains(t, got, "s3cret")
		require.False(t, strings.Contains(got, "10.0.0.1"), got)
	}
}
