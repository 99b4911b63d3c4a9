package process

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics serves the metrics of the collectors.
func Metrics(collectors ...prometheus.Collector) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors...)
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
}

// Probes serves /healthz, which succeeds while the process lives, and /readyz, which
// succeeds when synced returns true.
func Probes(synced func() bool) *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("ok\n")) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !synced() {
			http.Error(w, "the caches have not synced", http.StatusServiceUnavailable)
			return
		}
		w.Write([]byte("ok\n"))
	})
	return mux
}

// Listen serves at the address until the server is closed. If the address is "", it does
// not listen. It logs the address, since port 0 means any free port.
func Listen(address string, handler http.Handler, log *slog.Logger) (*http.Server, error) {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	if address == "" {
		return server, nil
	}
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", address)
	if err != nil {
		return nil, err
	}
	log.Info("listening", "address", listener.Addr().String())
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error("listening no more", "err", err)
		}
	}()
	return server, nil
}
