package podspec

import (
	"reflect"
	"slices"
)

// tooNew are the fields of Kubernetes' Jobs and pods that the CRD of KEDA 2.21 does not have.
var tooNew = []string{
	"ClusterTrustBundleProjection.user", "ConfigMapVolumeSource.defaultUser", "DownwardAPIVolumeFile.user", "DownwardAPIVolumeSource.defaultUser",
	"EmptyDirVolumeSource.mode", "GRPCAction.mode", "HTTPGetAction.protocol", "JobSpec.scheduling", "KeyToPath.user", "PodCertificateProjection.user",
	"PodSpec.evictionResponders", "ProjectedVolumeSource.defaultUser", "SecretVolumeSource.defaultUser", "ServiceAccountTokenProjection.user",
	"VolumeMount.bindMountOptions",
}

// TooNew reports whether a field of a type, by its name in JSON, is newer than KEDA's CRD.
func TooNew(of reflect.Type, name string) bool {
	return slices.Contains(tooNew, of.Name()+"."+name)
}
