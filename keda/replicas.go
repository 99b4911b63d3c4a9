package keda

// Replicas is what minReplicaCount and maxReplicaCount come to.
type Replicas struct {
	Min      int64 // m: Jobs kept whatever the queue asks for
	QueueMax int64 // M: the most Jobs that the queue may have besides; KEDA calls it MaxReplicaCount
	Fault    Fault // NoMaximum, or none
}

// Replicas returns m and M by [PartReplicas].
func (p Profile) Replicas(j *ScaledJob) Replicas {
	least, most := j.Spec.MinReplicaCount, j.Spec.MaxReplicaCount
	r := Replicas{QueueMax: 100}
	if most != nil {
		r.QueueMax = int64(*most)
	}
	form := p.forms[PartReplicas]
	switch {
	case least == nil || form == replicas20:
	case most == nil && form == replicas28:
		r.Fault = NoMaximum
	case most == nil:
		r.Min = int64(*least)
	case *least <= *most:
		r.Min = int64(*least)
		r.QueueMax -= r.Min
	default:
		r.Min = int64(*most)
		if form == replicas28 {
			r.QueueMax = 0
		}
	}
	return r
}
