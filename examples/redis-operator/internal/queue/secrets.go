package queue

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
)

// CheckSecrets returns every problem of the secrets in a folder, joined. Each
// server that wants a password or TLS has a folder of its own there, such as a mounted
// Secret, with the files
//
//	address    host:port, as in the ScaledJobs; no other address is sent the rest
//	username   Redis's default user if there is none
//	password   none if there is none
//	tls        "true" for TLS
//	ca.crt     authorities to trust besides the system's; means TLS
//	tls.crt    the client's certificate; means TLS
//	tls.key    its key
//
// A line's end at the end of a file does not count. A folder without any file is
// ignored: so does an optional Secret look that is not there. The files are read
// anew for each depth, so that a Secret that changes needs no restart.
func CheckSecrets(root string) error {
	folders, err := secretFolders(root)
	problems := []error{err}
	seen := map[string]string{}
	for _, folder := range folders {
		a, err := readSecret(folder)
		problems = append(problems, err)
		if _, err := a.tls(); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", folder, err))
		}
		path := filepath.Join(folder, "address")
		if _, _, err := net.SplitHostPort(a.address); err != nil {
			problems = append(problems, fmt.Errorf("%s: want host:port", path))
		} else if other := seen[a.address]; other != "" {
			problems = append(problems, fmt.Errorf("%s: want another than that of %s", path, other))
		}
		seen[a.address] = folder
	}
	return errors.Join(problems...)
}

// An access is what a server wants to see. The zero value is nothing.
type access struct {
	address            string
	username, password string
	encrypted          bool
	ca, cert, key      string // PEM
}

// readAccess reads the secret of the address, if there is one.
func readAccess(root, address string) (access, error) {
	folders, err := secretFolders(root)
	for _, folder := range folders {
		if found, _ := text(folder, "address"); found == address {
			return readSecret(folder)
		}
	}
	return access{}, err
}

// secretFolders are the folders in root that have files.
func secretFolders(root string) (folders []string, err error) {
	if root == "" {
		return nil, nil
	}
	entries, err := os.ReadDir(root)
	for _, e := range entries {
		folder := filepath.Join(root, e.Name())
		if files, err := os.ReadDir(folder); err == nil && len(files) > 0 {
			folders = append(folders, folder)
		}
	}
	return folders, err
}

func readSecret(folder string) (a access, _ error) {
	var problems []error
	read := func(name string) string {
		s, err := text(folder, name)
		problems = append(problems, err)
		return s
	}
	a = access{
		address: read("address"), username: read("username"), password: read("password"),
		ca: read("ca.crt"), cert: read("tls.crt"), key: read("tls.key"),
	}
	encrypted := read("tls")
	if encrypted != "" && encrypted != "true" && encrypted != "false" {
		problems = append(problems, fmt.Errorf("%s: want true or false", filepath.Join(folder, "tls")))
	}
	a.encrypted = encrypted == "true" || a.ca != "" || a.cert != "" || a.key != ""
	return a, errors.Join(problems...)
}

// text is what is in a file, and "" if there is none.
func text(folder, name string) (string, error) {
	data, err := os.ReadFile(filepath.Join(folder, name))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimRight(string(data), "\r\n"), err
}

// tls is the client's side of TLS, nil where there is none.
func (a access) tls() (*tls.Config, error) {
	if !a.encrypted {
		return nil, nil
	}
	host, _, _ := net.SplitHostPort(a.address)
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host}
	if a.ca != "" {
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		if !pool.AppendCertsFromPEM([]byte(a.ca)) {
			return nil, errors.New("ca.crt: want one or more certificates in PEM")
		}
		config.RootCAs = pool
	}
	if a.cert != "" || a.key != "" {
		pair, err := tls.X509KeyPair([]byte(a.cert), []byte(a.key))
		if err != nil {
			return nil, errors.New("tls.crt and tls.key: want a certificate and its key, both in PEM")
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}
