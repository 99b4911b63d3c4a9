// Package bounded keeps a server at a Redis address from filling its client's memory.
package bounded

import (
	"errors"
	"net"
	"strings"
)

// MaxReply is the most bytes of a reply. The longest reply, about the server at the start
// of a connection, has some hundreds.
const MaxReply = 16 << 10

// ErrTooLong is the error of a Read of a longer reply.
var ErrTooLong = errors.New("the reply is too long")

// A Conn fails to read a reply with more than MaxReply bytes. It also fails to read a reply
// that announces more bytes or elements, because a client would allocate memory for them
// first.
type Conn struct {
	net.Conn
	room   int  // that the reply has left
	begins bool // the next byte is the first of a line
	header bool // the line holds a length:
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

// Read reads a reply within the limit.
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

// see counts a byte, and at the end of a header the announced length. A line of a text that
// looks like a header also counts, which is harmless.
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
