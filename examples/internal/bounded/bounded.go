// Package bounded keeps a Redis server from filling its client's memory, whoever it is
// that listens at its address.
package bounded

import (
	"errors"
	"net"
	"strings"
)

// MaxReply is how many bytes a reply may have. The longest, which tells about the
// server when a connection begins, has some hundreds.
const MaxReply = 16 << 10

// ErrTooLong is that of a Read of more.
var ErrTooLong = errors.New("the reply is too long")

// A Conn fails to read a reply that has more than MaxReply bytes, and one
// that announces more bytes or elements than that: a client would make room for
// them before they come.
type Conn struct {
	net.Conn
	room   int  // that the reply has left
	begins bool // the next byte is the first of a line
	header bool // the line says how much follows:
	length int
}

// New returns a Conn that reads and writes through c.
func New(c net.Conn) *Conn {
	return &Conn{Conn: c, room: MaxReply, begins: true}
}

// Write writes a command, to which the reply may be as long as any other.
func (c *Conn) Write(p []byte) (int, error) {
	c.room = MaxReply
	return c.Conn.Write(p)
}

// Read reads what is allowed.
func (c *Conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	for _, b := range p[:n] {
		c.see(b)
	}
	if c.room < 0 {
		return 0, ErrTooLong
	}
	return n, err
}

// see counts a byte, and at the end of a header what it announces. A line of a text
// that looks like a header counts as one, which does no harm.
func (c *Conn) see(b byte) {
	c.room--
	switch {
	case b == '\n':
		c.room -= c.length
		c.begins, c.header, c.length = true, false, 0
	case c.begins:
		c.begins, c.header = false, strings.IndexByte("$*%~=>!|", b) >= 0
	case c.header && '0' <= b && b <= '9':
		c.length = min(10*c.length+int(b-'0'), MaxReply+1)
	}
}
