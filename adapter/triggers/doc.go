// Package triggers reads the triggers of ScaledJobs, and of any object with a list of triggers, with
// the scalers of KEDA 2.21.
//
//	reader, err := triggers.New(triggers.Options{Start: program.Start, Client: client, Dynamic: dynamic})
//	metrics, err := reader.Read(ctx, triggers.OwnerOf(scaledJob)) // in every poll
//	reader.Forget(scaledJob.UID)                                  // when it is gone
//
// # Isolation
//
// KEDA's scalers take a tenant's input: they may need any memory, hang, panic, or repeat a
// password. They therefore run in workers: child processes that have no access to Kubernetes, no
// variables, a limit of memory, and a filter of addresses. Program worker below this package is such a
// process; build it and name it in [Program]. A worker that ends makes the triggers that it was reading
// unreadable, and is started again.
//
// An owner that was being read when a worker ended is read alone once. If it ends a worker alone, or
// was under way at three ends, it is read alone for an hour, and for twice as long each time; and after
// ending a worker of its own, it is not read for a minute, and for twice as long each time, up to an
// hour. An owner that is created again is the same by its name. All owners of a namespace are read alone
// after three of them have ended a worker alone, or after twelve ends with only its owners under way, each
// within two hours of the last. Tenants with ever new names who end workers while others are read cost
// these a read each time.
//
// A trigger that hangs is unreadable until its read has returned. If 64 reads hang, the worker is
// replaced, and so it is after building 1,000 scalers again and after growing by 50 MiB, but not before the
// worker that was replaced last has ended.
//
// Owners are spread over several workers: each is filled to 500 triggers before another is started,
// up to [Options].Workers. An owner stays with its worker. At most 128 triggers are read at the same
// time. Namespaces and owners have turns, and owners whose triggers need more than 2 s share a quarter,
// as package requests describes. Owners that are read alone have turns of their own.
//
// # Access
//
// A worker asks the [Reader] for the objects that a trigger refers to. The Reader serves the owner's
// namespace only: Secrets, ConfigMaps, ServiceAccounts, the TriggerAuthentication that the trigger
// names, lists of Pods and EndpointSlices, and tokens with an audience that the administrator named.
// A ClusterTriggerAuthentication serves the namespaces and hosts in its annotations
// scaledjob.github.io/namespaces and scaledjob.github.io/hosts. Whatever the Reader refuses or cannot
// read makes the trigger unreadable, with the reason: KEDA would build the scaler without credentials.
//
// Identities of pods, secret managers, files, bound tokens and external scalers are off until an
// [Allowance] names them. An identity has workers of its own, which alone have its variables and reach
// its metadata service.
//
// A worker reads only the files of the system, of its identity and in [Program].Files: a connection
// string can make a database driver read files. This needs Landlock (Linux 5.13). Without Landlock, a
// worker may read all files of its container.
//
// A worker refuses loopback, link-local, metadata and own addresses in connect itself, so that names, redirects
// and clients with resolvers of their own are no way around it. The servers in /etc/resolv.conf are
// reachable at port 53. It also refuses headers Metadata*, X-aws-* and Host, control characters in
// hosts, users, headers and the parameters of Redis and beanstalkd, and values above 128 KiB.
//
// # Values
//
// KEDA's functions compute the value, target and activity of a metric. If a scaler has several
// metrics, the first counts. Triggers cpu and memory have no queue, and no metric.
//
// # Tests
//
// TestOffByDefault, TestPolicy, TestAddressesOfAuthentications, TestWithoutHosts, and TestParameters
// and TestHosts in internal/check try each refusal. In worker, TestPlantedPasswords,
// TestAbsentVariableIsUnreadable, TestLocalAddressesAreRefused and TestAddresses try a tenant's input,
// TestHostileTriggers his servers' answers, and TestFilesAreRefused files. TestDeathsOfWorkers,
// TestHangingTrigger, TestSilentWorker, TestSupervisorStartsNone, TestSlowOwnersDelayNoOther and
// TestOwnersAreSpread are about workers, TestAnswersAtOnce about memory, TestHitAndRun and
// TestReplacementsAreBounded about a tenant who wants their ends, TestFloodOfAsks, TestFloodOfWakes
// and TestTextsOfAWorker about a worker that is not KEDA's, TestEditsLeaveNothing about 10,000 edits.
// TestController/servers in controllers/scaledjob-controller reads six kinds of real servers.
package triggers
