package api

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scaledjob/scaledjob/adapter/member"
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
	MaxJobs      *int64              `json:"maxJobs,omitempty"` // no limit if unset
	PodOverrides member.PodOverrides `json:"podOverrides,omitzero"`
}

// MemberScheduling is the priority of a member.
type MemberScheduling struct {
	Priority *int32 `json:"priority,omitempty"`
}

// MemberState is the state of a member in a status.
type MemberState string

const (
	Ready         MemberState = "Ready"
	NotReady      MemberState = "NotReady"      // it is unreachable, or cannot take its share
	NotRegistered MemberState = "NotRegistered" // the manifest lists it, and it is not registered
)

// duration sets d if the field is set.
func duration(d *time.Duration, field *metav1.Duration) {
	if field != nil {
		*d = field.Duration
	}
}

// number sets n if the field is set.
func number[N int32 | int64](n *N, field *int32) {
	if field != nil {
		*n = N(*field)
	}
}
