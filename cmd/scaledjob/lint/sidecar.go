package lint

import (
	"path"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// servers are programs, and images without registry and tag, that serve others until they are stopped.
var servers = []string{
	"cloud-sql-proxy", "cloud_sql_proxy", "gce-proxy", "alloydb-auth-proxy", "envoy", "daprd", "pgbouncer", "oauth2-proxy", "haproxy",
	"nginx", "redis", "redis-server", "postgres", "mysql", "mysqld", "mariadb", "mongo", "mongod", "rabbitmq", "memcached", "fluent-bit", "fluentd",
	"filebeat", "promtail", "opentelemetry-collector", "opentelemetry-collector-contrib", "statsd-exporter", "aws-xray-daemon", "dockerd",
}

// sidecarNeverEnds finds a container that still runs when the worker has ended: a Job completes when all containers of its
// pod have.
func sidecarNeverEnds(j *job) {
	pod := &j.template.Template.Spec
	ends := func(c corev1.Container) bool { return !waitsForever(c) && !serves(c) }
	if len(pod.Containers) < 2 || mayBeStopped(pod) || !slices.ContainsFunc(pod.Containers, ends) {
		return // or which of them is the worker is unknown
	}
	for i, c := range pod.Containers {
		j.check(!ends(c), j.place(j.pod("containers", i, "image")...), "Move the container to initContainers and add restartPolicy: Always to it, with KEDA 2.12 and Kubernetes 1.29 or later",
			"the container does not end with the worker, so no Job completes and KEDA counts each as running")
	}
}

// mayBeStopped reports whether a container of a pod may stop another.
func mayBeStopped(pod *corev1.PodSpec) bool {
	if shared := pod.ShareProcessNamespace; shared != nil && *shared {
		return true
	}
	return slices.ContainsFunc(pod.Containers, func(c corev1.Container) bool {
		text := commandLine(c)
		for _, e := range c.Env {
			text += " " + e.Name
		}
		return stopPattern.MatchString(text)
	})
}

var (
	stopPattern    = regexp.MustCompile(`(?i)quit|/shutdown|(^|[^a-z])p?kill(all)?([^a-z]|$)`)
	waitPattern    = regexp.MustCompile(`(^|\W)(sleep (infinity|inf)|tail -f /dev/null)$`)
	programPattern = regexp.MustCompile(`^[a-z/][\w./-]*$`)
)

func commandLine(c corev1.Container) string {
	return strings.Join(slices.Concat(c.Command, c.Args), " ")
}

// waitsForever reports whether a container does nothing until it is stopped.
func waitsForever(c corev1.Container) bool { return waitPattern.MatchString(commandLine(c)) }

// serves reports whether a container runs a server: that of its image, or one that its command names.
func serves(c corev1.Container) bool {
	name, _, _ := strings.Cut(path.Base(c.Image), "@")
	name, tag, _ := strings.Cut(name, ":")
	isDocker := name == "docker" && strings.Contains(tag, "dind")
	program := name
	if words := slices.Concat(c.Command, c.Args); len(words) > 0 && (len(c.Command) > 0 || programPattern.MatchString(words[0])) {
		program = path.Base(words[0])
	}
	return slices.Contains(servers, program) || (isDocker && program == name)
}
