package api

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scaledjob/scaledjob/adapter/member"
	"github.com/scaledjob/scaledjob/placement"
)

// A Member is an entry of spec.memberClusters.
type Member struct {
	Name            string `json:"name"`
	Weight          *int32 `json:"weight,omitempty"`          // 1 if unset
	TargetNamespace string `json:"targetNamespace,omitempty"` // the object's own if unset
}

// A JobMember is an entry of spec.memberClusters of a DistributedScaledJob.
type JobMember struct {
	Member       `json:",inline"`
	Scheduling   MemberScheduling    `json:"scheduling,omitzero"`
	MaxJobs      *int32              `json:"maxJobs,omitempty"` // no limit if unset
	PodOverrides member.PodOverrides `json:"podOverrides,omitzero"`
}

// MemberScheduling says when a member comes.
type MemberScheduling struct {
	Priority *int32 `json:"priority,omitempty"`
}

// policy is the member as placement knows it.
func (m *Member) policy() placement.Member {
	policy := placement.NewMember(m.Name)
	if m.Weight != nil {
		policy.Weight = *m.Weight
	}
	return policy
}

// duration sets d where the field is set.
func duration(d *time.Duration, field *metav1.Duration) {
	if field != nil {
		*d = field.Duration
	}
}

// number sets n where the field is set.
func number(n, field *int32) {
	if field != nil {
		*n = *field
	}
}
