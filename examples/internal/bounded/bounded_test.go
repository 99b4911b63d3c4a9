package bounded_test

import (
	"errors"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/examples/internal/bounded"
)

// What is longer than a reply is refused whatever the pieces it comes in.
func TestConn(t *testing.T) {
	for reply, want := range map[string]error{
		":47\r\n":                      nil,
		"$5\r\nhello\r\n":              nil,
		"*2\r\n$1\r\na\r\n$1\r\nb\r\n": nil,
		"$16384\r\n":                   bounded.ErrTooLong,
		"$99999999999999999999999\r\n": bounded.ErrTooLong,
		"*9000\r\n*9000\r\n":           bounded.ErrTooLong,
	} {
		for size := 1; size <= len(reply); size++ {
			client, server := net.Pipe()
			go func() {
				defer server.Close()
				for rest := []byte(reply); len(rest) > 0; rest = rest[min(size, len(rest)):] {
					if _, err := server.Write(rest[:min(size, len(rest))]); err != nil {
						return
					}
				}
			}()
			c := bounded.New(client)
			var err error
			for buffer := make([]byte, 64); err == nil; {
				_, err = c.Read(buffer)
			}
			require.Equal(t, want, map[bool]error{true: bounded.ErrTooLong}[errors.Is(err, bounded.ErrTooLong)], "%q in pieces of %d: %v", reply, size, err)
			client.Close()
		}
	}
}
