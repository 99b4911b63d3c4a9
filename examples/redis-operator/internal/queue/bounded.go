package queue

import (
	"errors"
	"net"
	"strings"
)

// maxReply is how many bytes a reply may have. The longest, which tells about the
// server when a connection begins, has some hundreds.
const maxReply = 16 << 10

var errTooLong = errors.New("the reply is too long")

// A boundedConn fails to read a reply that has more than maxReply bytes, and one
// that announces more bytes or elements than that: a client would make room for
// them before they come.
type boundedConn struct {
	net.Conn
	room   int  // that the reply has left
	begins bool // the next byte is the first of a line
	header bool // the line says how much follows:
	length int
}

func newBoundedConn(c net.Conn) *boundedConn {
	return &boundedConn{Conn: c, room: maxReply, begins: true}
}

// Write writes a command, to which the reply may be as long as any other.
func (c *boundedConn) Write(p []byte) (int, error) {
	c.room = maxReply
	return c.Conn.Write(p)
}

// Read reads what is allowed.
func (c *boundedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	for _, b := range p[:n] {
		c.see(b)
	}
	if c.room < 0 {
		return 0, errTooLong
	}
	return n, err
}

// see counts a byte, and at the end of a header what it announces. A line of a text
// that looks like a header counts as one, which does no harm.
func (c *boundedConn) see(b byte) {
	c.room--
	switch {
	case b == '\n':
		c.room -= c.length
		c.begins, c.header, c.length = true, false, 0
	case c.begins:
		c.begins, c.header = false, strings.IndexByte("$*%~=>!|", b) >= 0
	case c.header && '0' <= b && b <= '9':
		c.length = min(10*c.length+int(b-'0'), maxReply+1)
	}
}
