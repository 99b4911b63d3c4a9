package queue

import "context"

// A Fake is a Factory for tests: it is called for every depth that is read.
type Fake func(ctx context.Context, address, queueName string) (int64, error)

// ForAddress returns a client that calls f with the address.
func (f Fake) ForAddress(address string) Client { return fakeClient{f, address} }

type fakeClient struct {
	fake    Fake
	address string
}

func (c fakeClient) Depth(ctx context.Context, queueName string) (int64, error) {
	return c.fake(ctx, c.address, queueName)
}
