// Package podspec holds what the API server requires of the objects beside a ScaledJob: the
// fields of KEDA's TriggerAuthentication, and the required fields of any type.
//
// # Tests
//
// Package conformance compares both with the CRDs that KEDA ships.
package podspec

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// An Authentication is a TriggerAuthentication or ClusterTriggerAuthentication of the newest
// release. The tag enum holds the allowed values, the tag removed the values that releases
// before 2.15 allow too, and the tag min the least number of items.
type Authentication struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   AuthenticationSpec `json:"spec"`
	Status map[string]string  `json:"status,omitempty"`
}

// An AuthenticationSpec holds the sources of parameters.
type AuthenticationSpec struct {
	PodIdentity              *PodIdentity      `json:"podIdentity,omitempty"`
	SecretTargetRef          []Reference       `json:"secretTargetRef,omitempty"`
	ConfigMapTargetRef       []Reference       `json:"configMapTargetRef,omitempty"`
	Env                      []Variable        `json:"env,omitempty"`
	FilePath                 string            `json:"filePath,omitempty"`
	HashiCorpVault           *HashiCorpVault   `json:"hashiCorpVault,omitempty"`
	AzureKeyVault            *AzureKeyVault    `json:"azureKeyVault,omitempty"`
	GCPSecretManager         *GCPSecretManager `json:"gcpSecretManager,omitempty"`
	AWSSecretManager         *AWSSecretManager `json:"awsSecretManager,omitempty"`
	BoundServiceAccountToken []Token           `json:"boundServiceAccountToken,omitempty"`
	OAuth2                   *OAuth2           `json:"oauth2,omitempty"`
	AzureServicePrincipal    *ServicePrincipal `json:"azureServicePrincipal,omitempty"`
}

type PodIdentity struct {
	Provider              string `json:"provider" enum:"azure-workload,gcp,aws,aws-eks,none" removed:"azure,aws-kiam"`
	IdentityID            string `json:"identityId,omitempty"`
	IdentityTenantID      string `json:"identityTenantId,omitempty"`
	IdentityAuthorityHost string `json:"identityAuthorityHost,omitempty"`
	RoleArn               string `json:"roleArn,omitempty"`
	ExternalID            string `json:"externalID,omitempty"`
	IdentityOwner         string `json:"identityOwner,omitempty" enum:"keda,workload"`
}

type Reference struct {
	Parameter string `json:"parameter"`
	Name      string `json:"name"`
	Key       string `json:"key"`
}

type Variable struct {
	Parameter     string `json:"parameter"`
	Name          string `json:"name"`
	ContainerName string `json:"containerName,omitempty"`
}

type HashiCorpVault struct {
	Address        string           `json:"address"`
	Authentication string           `json:"authentication" enum:"token,kubernetes"`
	Secrets        []VaultSecret    `json:"secrets" min:"1"`
	Namespace      string           `json:"namespace,omitempty"`
	Credential     *VaultCredential `json:"credential,omitempty"`
	Role           string           `json:"role,omitempty"`
	Mount          string           `json:"mount,omitempty"`
}

type VaultCredential struct {
	Token              string `json:"token,omitempty"`
	ServiceAccount     string `json:"serviceAccount,omitempty"`
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
}

type VaultSecret struct {
	Parameter string `json:"parameter"`
	Path      string `json:"path"`
	Key       string `json:"key"`
	Type      string `json:"type,omitempty" enum:",secretV2,secret,pki"`
	PKIData   *PKI   `json:"pkiData,omitempty"`
}

type PKI struct {
	CommonName string `json:"commonName,omitempty"`
	AltNames   string `json:"altNames,omitempty"`
	IPSans     string `json:"ipSans,omitempty"`
	URISans    string `json:"uriSans,omitempty"`
	OtherSans  string `json:"otherSans,omitempty"`
	TTL        string `json:"ttl,omitempty"`
	Format     string `json:"format,omitempty"`
}

type AzureKeyVault struct {
	VaultURI    string            `json:"vaultUri"`
	Secrets     []KeyVaultSecret  `json:"secrets" min:"1"`
	Credentials *KeyVaultIdentity `json:"credentials,omitempty"`
	PodIdentity *PodIdentity      `json:"podIdentity,omitempty"`
	Cloud       *KeyVaultCloud    `json:"cloud,omitempty"`
}

type KeyVaultSecret struct {
	Parameter string `json:"parameter"`
	Name      string `json:"name"`
	Version   string `json:"version,omitempty"`
}

type KeyVaultIdentity struct {
	ClientID     string     `json:"clientId"`
	TenantID     string     `json:"tenantId"`
	ClientSecret *ValueFrom `json:"clientSecret"`
}

type KeyVaultCloud struct {
	Type                    string `json:"type"`
	KeyVaultResourceURL     string `json:"keyVaultResourceURL,omitempty"`
	ActiveDirectoryEndpoint string `json:"activeDirectoryEndpoint,omitempty"`
}

// A ValueFrom is a value of a Secret.
type ValueFrom struct {
	ValueFrom struct {
		SecretKeyRef struct {
			Name string `json:"name"`
			Key  string `json:"key"`
		} `json:"secretKeyRef"`
	} `json:"valueFrom"`
}

type GCPSecretManager struct {
	Secrets []struct {
		Parameter string `json:"parameter"`
		ID        string `json:"id"`
		Version   string `json:"version,omitempty"`
	} `json:"secrets" min:"1"`
	Credentials *struct {
		ClientSecret ValueFrom `json:"clientSecret"`
	} `json:"credentials,omitempty"`
	PodIdentity *PodIdentity `json:"podIdentity,omitempty"`
}

type AWSSecretManager struct {
	Secrets []struct {
		Parameter    string `json:"parameter"`
		Name         string `json:"name"`
		VersionID    string `json:"versionId,omitempty"`
		VersionStage string `json:"versionStage,omitempty"`
		SecretKey    string `json:"secretKey,omitempty"`
	} `json:"secrets" min:"1"`
	Credentials *struct {
		AccessKey       *ValueFrom `json:"accessKey"`
		AccessSecretKey *ValueFrom `json:"accessSecretKey"`
		AccessToken     *ValueFrom `json:"accessToken,omitempty"`
	} `json:"credentials,omitempty"`
	PodIdentity *PodIdentity `json:"podIdentity,omitempty"`
	Region      string       `json:"region,omitempty"`
}

type Token struct {
	Parameter          string `json:"parameter"`
	ServiceAccountName string `json:"serviceAccountName"`
}

type OAuth2 struct {
	Type           string            `json:"type,omitempty" enum:"clientCredentials"` // the API server adds it
	ClientID       string            `json:"clientId"`
	ClientSecret   *ValueFrom        `json:"clientSecret,omitempty"`
	TokenURL       string            `json:"tokenUrl"`
	Scopes         []string          `json:"scopes,omitempty"`
	TokenURLParams map[string]string `json:"tokenUrlParams,omitempty"`
}

type ServicePrincipal struct {
	TenantID                  string     `json:"tenantId"`
	ClientID                  string     `json:"clientId"`
	Cloud                     string     `json:"cloud,omitempty"`
	ActiveDirectoryEndpoint   string     `json:"activeDirectoryEndpoint,omitempty"`
	ClientSecret              *ValueFrom `json:"clientSecret,omitempty"`
	ClientCertificate         *ValueFrom `json:"clientCertificate,omitempty"`
	ClientCertificatePassword *ValueFrom `json:"clientCertificatePassword,omitempty"`
}
