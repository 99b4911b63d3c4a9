package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// apply returns in a process that is confined: it starts the program again, because a filter holds
// for the thread that installs it and for what that thread becomes.
func (c *confinement) apply() error {
	if c.listener > 0 {
		return c.listen()
	}
	if err := limit(c.memory); err != nil || c.local {
		return err
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return err
	}
	var addresses []string
	for _, a := range own {
		if n, ok := a.(*net.IPNet); ok {
			addresses = append(addresses, n.IP.String())
		}
	}
	runtime.LockOSThread()
	var variables []string
	for _, v := range os.Environ() {
		_, value, _ := strings.Cut(v, "=")
		variables = append(variables, value)
	}
	if err := restrict(c.files, variables); err != nil {
		return fmt.Errorf("files cannot be restricted here: landlock: %w", err)
	}
	listener, err := install()
	if err != nil {
		return fmt.Errorf("addresses cannot be filtered here: seccomp: %w; use Linux 5.5 or newer, or the flag that allows local addresses", err)
	}
	args := append(slices.Clone(os.Args), "-listener", strconv.Itoa(listener), "-own", strings.Join(addresses, ","))
	return syscall.Exec("/proc/self/exe", args, os.Environ())
}

// architectures are the audit numbers of the architectures.
var architectures = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}

const x32 = 0x40000000

// filter returns the program that asks about connect. Without asking, it refuses addresses of other
// lengths than those of IPv4 and IPv6, Unix sockets among them, and sending to an address other than
// netlink's: packages do so in their initialization, before the process can answer.
func filter() ([]unix.SockFilter, error) {
	arch, ok := architectures[runtime.GOARCH]
	if !ok {
		return nil, errors.New("found another architecture than amd64 and arm64")
	}
	// Offsets in struct seccomp_data.
	const nr, audit, connectLength, sendtoLength = 0, 4, 16 + 2*8, 16 + 5*8
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	jump := func(kind uint16, k uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | kind | unix.BPF_K, Jt: yes, Jf: no, K: k}
	}
	end := func(k uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k} }
	const ask, allow, deny = 16, 17, 18
	return []unix.SockFilter{
		0:     load(audit),
		1:     jump(unix.BPF_JEQ, arch, 1, 0),
		2:     end(unix.SECCOMP_RET_KILL_PROCESS),
		3:     load(nr),
		4:     jump(unix.BPF_JGE, x32, deny-5, 0),
		5:     jump(unix.BPF_JEQ, unix.SYS_SENDMSG, deny-6, 0),
		6:     jump(unix.BPF_JEQ, unix.SYS_SENDMMSG, deny-7, 0),
		7:     jump(unix.BPF_JEQ, unix.SYS_IO_URING_SETUP, deny-8, 0),
		8:     jump(unix.BPF_JEQ, unix.SYS_SENDTO, 0, 3),
		9:     load(sendtoLength),
		10:    jump(unix.BPF_JEQ, 0, allow-11, 0),
		11:    jump(unix.BPF_JEQ, unix.SizeofSockaddrNetlink, allow-12, deny-12),
		12:    jump(unix.BPF_JEQ, unix.SYS_CONNECT, 0, allow-13),
		13:    load(connectLength),
		14:    jump(unix.BPF_JEQ, unix.SizeofSockaddrInet4, ask-15, 0),
		15:    jump(unix.BPF_JEQ, unix.SizeofSockaddrInet6, ask-16, deny-16),
		ask:   end(unix.SECCOMP_RET_USER_NOTIF),
		allow: end(unix.SECCOMP_RET_ALLOW),
		deny:  end(unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)),
	}, nil
}

func install() (int, error) {
	program, err := filter()
	if err != nil {
		return 0, err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return 0, err
	}
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return 0, errno
	}
	_, err = unix.FcntlInt(fd, unix.F_SETFD, 0) // survives the start of the program
	return int(fd), err
}

// A question is the kernel's struct seccomp_notif, and a reply its struct seccomp_notif_resp.
type question struct {
	id         uint64
	pid, flags uint32
	nr         int32
	arch       uint32
	ip         uint64
	args       [6]uint64
}

type reply struct {
	id    uint64
	value int64
	err   int32
	flags uint32
}

const (
	receiveQuestion = 0xc0502100
	sendReply       = 0xc0182101
	proceed         = 1
)

// listen answers the filter's questions from now on.
func (c *confinement) listen() error {
	syscall.CloseOnExec(c.listener)
	memory, err := os.Open("/proc/self/mem")
	if err != nil {
		return err
	}
	may, err := c.rule()
	if err != nil {
		return err
	}
	go func() {
		for {
			var q question
			if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(c.listener), receiveQuestion, uintptr(unsafe.Pointer(&q))); errno != 0 {
				if errno == unix.EINTR || errno == unix.ENOENT {
					continue // the thread that asked is gone
				}
				os.Exit(1)
			}
			r := reply{id: q.id, err: -int32(unix.EPERM)}
			at, length := q.args[1], q.args[2]
			var name [unix.SizeofSockaddrAny]byte
			if n, err := memory.ReadAt(name[:min(length, uint64(len(name)))], int64(at)); err == nil && may(name[:n]) {
				r.err, r.flags = 0, proceed
			}
			_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(c.listener), sendReply, uintptr(unsafe.Pointer(&r)))
		}
	}()
	return nil
}

// metadata are the addresses of clouds' metadata services that are not link-local.
var metadata = func() map[netip.Addr]bool {
	all := map[netip.Addr]bool{}
	for _, a := range []string{
		"fd00:ec2::254", "fd00:ec2::23", // AWS
		"100.100.100.200", "fd00:100::100:200", // Alibaba
		"168.63.129.16",                     // Azure
		"fd20:ce::254",                      // Google
		"fd00:a9fe:a9fe::1",                 // Linode
		"192.0.0.192", "fd00:c1::a9fe:a9fe", // Oracle
		"fd00:42::42", // Scaleway
	} {
		all[netip.MustParseAddr(a)] = true
	}
	return all
}()

// Each address below one of the prefixes stands for IPv4 addresses.
var (
	nat64      = netip.MustParsePrefix("64:ff9b::/96")
	localNAT64 = netip.MustParsePrefix("64:ff9b:1::/48") // with prefixes of any length, as in RFC 6052
	compatible = netip.MustParsePrefix("::/96")
	translated = netip.MustParsePrefix("::ffff:0:0:0/96")
	sixToFour  = netip.MustParsePrefix("2002::/16")
	teredo     = netip.MustParsePrefix("2001::/32")
)

// embedded returns the IPv4 addresses to which a translator or a tunnel may send what is sent to an
// IPv6 address.
func embedded(ip netip.Addr) (all []netip.Addr) {
	a := ip.As16()
	at := func(i, j, k, l int) { all = append(all, netip.AddrFrom4([4]byte{a[i], a[j], a[k], a[l]})) }
	switch {
	case nat64.Contains(ip), compatible.Contains(ip), translated.Contains(ip), a[8]&^2 == 0 && a[9] == 0 && a[10] == 0x5e && a[11] == 0xfe: // ISATAP
		at(12, 13, 14, 15)
	case localNAT64.Contains(ip):
		at(6, 7, 9, 10)
		at(7, 9, 10, 11)
		at(9, 10, 11, 12)
		at(12, 13, 14, 15)
	case sixToFour.Contains(ip):
		at(2, 3, 4, 5)
	case teredo.Contains(ip):
		at(4, 5, 6, 7)
		for i := 12; i < 16; i++ {
			a[i] ^= 0xff
		}
		at(12, 13, 14, 15)
	}
	return all
}

// rule returns a function that reports whether the process may connect to a sockaddr.
func (c *confinement) rule() (func([]byte) bool, error) {
	allowed, own := map[netip.Addr]bool{}, map[netip.Addr]bool{}
	for _, a := range c.addresses {
		ip, err := netip.ParseAddr(a)
		if err != nil {
			return nil, err
		}
		allowed[ip.Unmap()] = true
	}
	for _, a := range c.own {
		if ip, err := netip.ParseAddr(a); err == nil {
			own[ip.Unmap()] = true
		}
	}
	resolvers := nameservers()
	local := func(ip netip.Addr) bool {
		return own[ip] || metadata[ip] || ip.IsLoopback() || ip.IsLinkLocalUnicast()
	}
	return func(name []byte) bool {
		if len(name) < 2 {
			return false
		}
		var ip netip.Addr
		switch family := binary.NativeEndian.Uint16(name); {
		case family == unix.AF_UNSPEC:
			return true
		case family == unix.AF_INET && len(name) >= 8:
			ip = netip.AddrFrom4([4]byte(name[4:8]))
		case family == unix.AF_INET6 && len(name) >= 24:
			ip = netip.AddrFrom16([16]byte(name[8:24])).Unmap()
		default:
			return false // Unix sockets among them
		}
		port := binary.BigEndian.Uint16(name[2:4])
		return allowed[ip] || port == 53 && resolvers[ip] || ip.IsGlobalUnicast() && !local(ip) && !slices.ContainsFunc(embedded(ip), local)
	}, nil
}

// nameservers returns the addresses in /etc/resolv.conf, which may be local.
func nameservers() map[netip.Addr]bool {
	all := map[netip.Addr]bool{}
	data, err := os.ReadFile("/etc/resolv.conf")
	if err != nil {
		return all
	}
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); len(f) >= 2 && f[0] == "nameserver" {
			if ip, err := netip.ParseAddr(f[1]); err == nil {
				all[ip.Unmap().WithZone("")] = true
			}
		}
	}
	return all
}
