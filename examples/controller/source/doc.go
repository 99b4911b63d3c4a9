// Package source reads the queues of a ScaledJob's triggers: a key of Redis, a queue of
// RabbitMQ, a number from an HTTP service, a ConfigMap or a Secret.
//
// A trigger becomes a number in three steps:
//
//	params, err := resolver.Resolve(ctx, scaledJob, 0) // its metadata, environment and TriggerAuthentication
//	queue, err := source.Open(params, client)          // checked; nothing is connected yet
//	reading, err := queue.Length(ctx)                  // at every poll
//
// Metadata has KEDA's names and meaning. A parameter is looked up in the order of KEDA
// 2.21: in the trigger's metadata, in the container's variable that <parameter>FromEnv
// names, and in the TriggerAuthentication. A blank value is not set. The host of RabbitMQ
// and the address of Redis may also be the name of a variable, as in KEDA 1 and in KEDA's
// sample.
//
// An unreadable value is an error and never 0. These are errors here, but empty or zero in
// KEDA:
//
//   - a named variable, Secret, ConfigMap or key that does not exist,
//   - a RabbitMQ queue without a count in the management API (yet),
//   - a number with trailing text, NaN, infinities and negative numbers,
//   - several addresses in a redis trigger, which reads the first,
//   - the parameter tls of "enable" with a URL that is not encrypted,
//   - an answer above 16 MiB, or above 1 MiB of YAML; an exponent of more than three digits.
//
// Other differences from KEDA:
//
//   - A regular expression may match more than one page of RabbitMQ's queues, and up
//     to 1,000; the mean of their lengths is not cut to a whole number.
//   - The vhostName %2f is the virtual host /.
//   - A TriggerAuthentication's env without a containerName means the container
//     that the ScaledJob names, as KEDA documents, and not always the first.
//   - Redirects to another host are not followed, because keys would go there.
//   - These are rejected: encrypted keys, OAuth2 and workload identity,
//     aggregateFromKubeServiceEndpoints, the metrics-api formats prometheus and xml, and
//     TriggerAuthentications with providers other than secretTargetRef,
//     configMapTargetRef and env.
//
// No error and no String contains a password, token or key, or the user and query of a URL.
// They also omit the texts of servers, which may repeat the password, and contain only the
// error code.
package source
