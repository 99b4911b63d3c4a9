// Package wire is the protocol between the reader of triggers and a worker.
//
// A connection belongs to one worker. Each message is a JSON document behind its length in four
// bytes, high byte first. A read is a stream: the reader chooses its ID and binds it to an owner;
// the worker asks for objects and answers on that stream. The worker has no means to name an owner.
package wire

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Limits of a message's length, in bytes.
const (
	FromReader = 16 << 20
	FromWorker = 256 << 10
)

// A Message is a message in either direction. Exactly one of the fields after ID is set.
type Message struct {
	ID uint64 `json:"id,omitempty"` // of the stream; 0 for messages about the connection

	Setup  *Setup  `json:"setup,omitempty"`  // the reader's first message
	Read   *Read   `json:"read,omitempty"`   // begins a stream
	Ask    *Ask    `json:"ask,omitempty"`    // from the worker
	Answer *Answer `json:"answer,omitempty"` // from the reader
	Result *Result `json:"result,omitempty"` // from the worker, ends a stream
	Forget string  `json:"forget,omitempty"` // the key prefix of an owner that is gone
	Wake   string  `json:"wake,omitempty"`   // from the worker: the key of a trigger that is active
	Ping   bool    `json:"ping,omitempty"`   // the worker sends it back
}

// A Setup configures a worker. The zero Setup allows nothing beyond the triggers themselves.
type Setup struct {
	Class string `json:"class,omitempty"` // the allowed identity; "" for none
	// VaultEndpoints are the origins that Vault credentials may be sent to.
	VaultEndpoints []string `json:"vaultEndpoints,omitempty"`
	// Audiences are the audiences of tokens, for each ServiceAccount.
	Audiences []Audience `json:"audiences,omitempty"`
	FileRoot  string     `json:"fileRoot,omitempty"` // directory of filePath
}

// An Audience is the audience of the tokens of a ServiceAccount.
type Audience struct {
	Namespace, ServiceAccount, Audience string
}

// A Read asks for the value of a trigger.
type Read struct {
	Key      string `json:"key"`      // of the trigger: the owner's UID and the trigger's position
	Position int    `json:"position"` // among the owner's triggers
	Revision int64  `json:"revision"` // of the object; another revision builds a new scaler
	Timeout  int64  `json:"timeout"`  // in milliseconds
	Limits

	Formula *Formula `json:"formula,omitempty"` // to be evaluated instead of a trigger
}

// A Formula is an expression over the values of triggers, by name. A null value is a trigger that
// failed too often.
type Formula struct {
	Text   string              `json:"text"`
	Values map[string]*float64 `json:"values"`
}

// Limits restrict what a trigger may do with what it was given. They add up.
type Limits struct {
	// Hosts, unless nil, are the only hosts to which the trigger's parameters may refer.
	Hosts []string `json:"hosts,omitzero"`
	// Withhold replaces the text of each error: the trigger's values come from a secret manager.
	Withhold bool `json:"withhold,omitempty"`
}

// What an Ask asks for.
const (
	Owner = "Owner" // the object with the trigger, as KEDA's ScaledJob
	Token = "Token" // a token of a ServiceAccount
)

// An Ask asks for an object of Kubernetes: Owner, Token, or a kind with the verb get or, for
// Pod and EndpointSlice, list.
type Ask struct {
	N         uint64          `json:"n"` // number within the stream
	Kind      string          `json:"kind"`
	Namespace string          `json:"namespace,omitempty"`
	Name      string          `json:"name,omitempty"`
	Selector  string          `json:"selector,omitempty"` // of labels, for lists
	Token     json.RawMessage `json:"token,omitempty"`    // a TokenRequest
}

// An Answer is the answer to an Ask.
type Answer struct {
	N      uint64          `json:"n"`
	Object json.RawMessage `json:"object,omitempty"`
	// Absent reports that there is no such object, and that the owner allows for it.
	Absent  bool   `json:"absent,omitempty"`
	Refused string `json:"refused,omitempty"` // the reason
	Limits
}

// A Result is the result of a read.
type Result struct {
	Error   string  `json:"error,omitempty"`   // without credentials
	Warning string  `json:"warning,omitempty"` // for a trigger that has no value, such as cpu
	Value   float64 `json:"value,omitempty"`
	Target  float64 `json:"target,omitempty"`
	Active  bool    `json:"active,omitempty"`
	None    bool    `json:"none,omitempty"` // a formula has no value
	Load    Load    `json:"load"`
}

// A Load describes what a worker holds.
type Load struct {
	Builds  int64 `json:"builds"`  // scalers built since the start
	Scalers int64 `json:"scalers"` // scalers held now
	Memory  int64 `json:"memory"`  // bytes of live objects after the last garbage collection
	Start   int64 `json:"start"`   // Memory before the first read
}

// ErrTooLong is the error of a message above the limit. The connection cannot be used afterwards.
var ErrTooLong = errors.New("message too long")

// A Conn sends and receives messages. Send may be called concurrently, Receive not.
type Conn struct {
	from  *bufio.Reader
	limit uint32
	mu    sync.Mutex
	to    io.Writer
}

// NewConn returns a connection that accepts messages of at most limit bytes.
func NewConn(c io.ReadWriter, limit uint32) *Conn {
	return &Conn{from: bufio.NewReader(c), to: c, limit: limit}
}

// Send sends m.
func (c *Conn) Send(m Message) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := binary.Write(c.to, binary.BigEndian, uint32(len(data))); err != nil {
		return err
	}
	_, err = c.to.Write(data)
	return err
}

// Receive returns the next message. At the end of the connection the error is io.EOF.
func (c *Conn) Receive() (m Message, err error) {
	var length [4]byte
	if _, err := io.ReadFull(c.from, length[:]); err != nil {
		return m, err
	}
	n := binary.BigEndian.Uint32(length[:])
	if n > c.limit {
		return m, fmt.Errorf("%w: %d bytes", ErrTooLong, n)
	}
	data := make([]byte, n)
	if _, err := io.ReadFull(c.from, data); err != nil {
		return m, err
	}
	return m, json.Unmarshal(data, &m)
}
