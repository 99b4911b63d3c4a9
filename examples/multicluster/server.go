package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"
)

// listen serves probes until the server is closed. /healthz says that the process
// lives, and /readyz that it knows what to act on.
func (c *controller) listen(address string) (*http.Server, error) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("ok\n")) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !c.synced() {
			http.Error(w, "the caches have not synced", http.StatusServiceUnavailable)
			return
		}
		w.Write([]byte("ok\n"))
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	if address == "" {
		return server, nil
	}
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", address)
	if err != nil {
		return nil, err
	}
	c.log.Info("listening", "address", listener.Addr().String())
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			c.log.Error("no more probes", "err", err)
		}
	}()
	return server, nil
}
