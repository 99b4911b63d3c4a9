package queue

import (
	"crypto/tls"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

// A server that resets each connection has one error, without the ports of the operator.
func TestResetHandshake(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { server.Close() })
	go func() {
		for {
			c, err := server.Accept()
			if err != nil {
				return
			}
			c.Read(make([]byte, 1))
			c.(*net.TCPConn).SetLinger(0)
			c.Close()
		}
	}()
	var told []string
	for range 2 {
		_, err := (&Redis{Timeout: soon}).Depth(t.Context(), Server{Address: server.Addr().String(), TLS: &tls.Config{ServerName: "redis"}}, "orders")
		require.Error(t, err)
		told = append(told, err.Error())
	}
	require.Equal(t, told[0], told[1])
}
