package main

import (
	"encoding/binary"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/adapter/triggers"
)

// A trigger reads a file only in the directories that an administrator has named, also if a driver
// would read others; a kernel without Landlock cannot refuse it.
func TestFilesAreRefused(t *testing.T) {
	directory, err := os.MkdirTemp("/var/tmp", "files-") // not below the directory for temporary files, which KEDA needs
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(directory) })
	file := filepath.Join(directory, "token")
	require.NoError(t, os.WriteFile(file, []byte("planted"), 0o600))
	in := manifest.ScaleTrigger{Type: "gcp-storage", Metadata: map[string]string{"bucketName": "a", "credentialsFromEnvFile": "FILE"}}
	o := owner("a", in)
	o.Pod.Containers = []corev1.Container{{Name: "c", Env: []corev1.EnvVar{{Name: "FILE", Value: file}}}}
	program, err := os.ReadFile(local(t).Path)
	require.NoError(t, err)
	p := triggers.Program{Path: filepath.Join(directory, "worker")}
	require.NoError(t, os.WriteFile(p.Path, program, 0o700))
	allow := []triggers.Allowance{{Kind: "credentials-file", Namespaces: []string{"team"}, Hosts: []string{"*"}}}
	_, err = reads(t, triggers.Options{Start: p.Start, Allow: allow}, nil).Read(t.Context(), o)
	rules, none := ruleset()
	require.NoError(t, none)
	if rules < 0 {
		require.ErrorContains(t, err, "invalid character 'p'", "it was read")
		return
	}
	require.NoError(t, unix.Close(rules))
	require.ErrorContains(t, err, "-file-root")
	p.Files = []string{directory}
	_, err = reads(t, triggers.Options{Start: p.Start, Allow: allow}, nil).Read(t.Context(), o)
	require.ErrorContains(t, err, "invalid character 'p'", "it was read")
}

func TestAround(t *testing.T) {
	require.Equal(t, "/var/run/secrets/eks", around("/var/run/secrets/eks/token"))
	require.Equal(t, "/key.json", around("/key.json"))
}

// A worker connects to none of its own, loopback, link-local and metadata addresses, however an address
// stands for them.
func TestAddresses(t *testing.T) {
	may, err := (&confinement{own: []string{"10.1.2.3"}, addresses: []string{"169.254.170.2"}}).rule()
	require.NoError(t, err)
	for address, want := range map[string]bool{
		"10.0.0.1": true, "93.184.216.34": true, "fd00::1": true, "2001:db8::1": true, "169.254.170.2": true,
		"127.0.0.1": false, "0.0.0.0": false, "169.254.169.254": false, "10.1.2.3": false, "100.100.100.200": false, "168.63.129.16": false, "224.0.0.1": false,
		"::1": false, "::": false, "fe80::1": false, "fd00:ec2::254": false, "fd20:ce::254": false, "fd00:c1::a9fe:a9fe": false, "fd00:42::42": false,
		"fd00:a9fe:a9fe::1": false, "fd00:100::100:200": false,
		"::ffff:10.0.0.1": true, "::ffff:127.0.0.1": false, "::127.0.0.1": false, "::ffff:0:169.254.169.254": false,
		"64:ff9b::10.0.0.1": true, "64:ff9b::169.254.169.254": false, "64:ff9b::127.0.0.1": false, "64:ff9b::10.1.2.3": false, "64:ff9b::168.63.129.16": false,
		"64:ff9b:1::10.0.0.1": true, "64:ff9b:1:e000::10.0.0.1": true, "64:ff9b:1::127.0.0.1": false, // prefixes of 96 bits
		"64:ff9b:1:0:a:0:100:0": true, "64:ff9b:1:0:7f:0:100:0": false, // of 64
		"64:ff9b:1:a9:fe:a9fe:0:0": false, "64:ff9b:1:7f00:0:100::": false, // of 56 and 48
		"2002:a00:1::": true, "2002:7f00:1::": false, "2002:a9fe:a9fe::1": false,
		"2001:0:a00:1::f5ff:fffe": true, "2001:0:7f00:1::f5ff:fffe": false, "2001:0:a00:1::5601:5601": false,
		"2001:db8::5efe:10.0.0.1": true, "2001:db8::200:5efe:127.0.0.1": false,
	} {
		ip := netip.MustParseAddr(address)
		name := make([]byte, unix.SizeofSockaddrInet6)
		if ip.Is4() {
			binary.NativeEndian.PutUint16(name, unix.AF_INET)
			copy(name[4:], ip.AsSlice())
		} else {
			binary.NativeEndian.PutUint16(name, unix.AF_INET6)
			copy(name[8:], ip.AsSlice())
		}
		require.Equal(t, want, may(name), address)
	}
}
