package triggers

import (
	"context"
	"errors"

	"github.com/scaledjob/scaledjob/adapter/triggers/internal/wire"
)

// formulas is the class of the workers that evaluate formulas. Those that read triggers must not
// end because of one.
const formulas = "formula"

// Formula evaluates the formula of KEDA's scalingModifiers over the values of an owner's triggers,
// by name. A nil value is a trigger that failed too often, and a nil result is a formula without a
// value.
//
// A formula is a tenant's code, and need not end. Its worker is ended at the timeout, and the
// owner's formula is then evaluated as triggers are read that have ended a worker: alone, and after
// pauses. Formulas have workers of their own: no trigger is affected.
func (r *Reader) Formula(ctx context.Context, o Owner, text string, values map[string]*float64) (*float64, error) {
	var result wire.Result
	key := o.key() + " formula"
	err := r.with(ctx, &o, key, func(find finder) error {
		w, err := find(ctx, formulas)
		if err != nil {
			return err
		}
		s := &stream{owner: key, key: o.prefix() + "formula", serve: func(wire.Ask) wire.Answer { return wire.Answer{Refused: "a formula reads nothing"} }}
		result, err = r.pool.read(ctx, w, wire.Read{Key: s.key, Formula: &wire.Formula{Text: text, Values: values}}, s)
		if errors.Is(err, errHangs) {
			w.end() // nothing else stops the expression
			return errors.New("the formula did not end in time")
		}
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case result.Error != "":
		return nil, errors.New(result.Error)
	case result.None:
		return nil, nil
	}
	return &result.Value, nil
}
