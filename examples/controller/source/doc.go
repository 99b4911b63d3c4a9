// Package source reads the queues that a ScaledJob's triggers name: a key of
// Redis, a queue of RabbitMQ, a number that an HTTP service, a ConfigMap or a
// Secret has.
//
// A trigger becomes a number in three steps:
//
//	params, err := resolver.Resolve(ctx, scaledJob, 0) // its metadata, environment and TriggerAuthentication
//	queue, err := source.Open(params, client)          // checked; nothing is connected yet
//	reading, err := queue.Length(ctx)                  // at every poll
//
// Metadata has KEDA's names and meaning. A parameter is looked up where KEDA 2.21
// looks, in its order: in the trigger's metadata, in the container's variable that
// <parameter>FromEnv names, and in the TriggerAuthentication. Blank is unset. The
// host of RabbitMQ and the address of Redis may also be a variable's name by
// itself, as in KEDA 1 and in KEDA's sample.
//
// What could not be read is an error and never 0. These are errors here, where
// KEDA takes them for empty, zero or nothing:
//
//   - a variable, Secret, ConfigMap or key that is named and not there,
//   - a RabbitMQ queue of which the management API has no count (yet),
//   - a number with something behind it, NaN, infinities and negative numbers,
//   - several addresses, of which a redis trigger uses the first,
//   - the parameter tls of "enable" with a URL that is not encrypted.
//
// Other differences from KEDA:
//
//   - A regular expression may match more than one page of RabbitMQ's queues, and up
//     to 1,000; the mean of their lengths is not cut to a whole number.
//   - The vhostName %2f is the virtual host /.
//   - A TriggerAuthentication's env without a containerName means the container
//     that the ScaledJob names, as KEDA documents, and not always the first.
//   - Redirects to another host are not followed, because keys would go there.
//   - Not supported, and refused: encrypted keys, OAuth2 and workload identity,
//     aggregateFromKubeServiceEndpoints, the metrics-api formats prometheus and
//     xml, and TriggerAuthentications with other providers than secretTargetRef,
//     configMapTargetRef and env.
//
// No error and no String has a password, token or key, nor a URL's user and query, nor
// what a Redis or RabbitMQ server says in words: it may send the password back in them.
// Of its answers there is the code.
package source
