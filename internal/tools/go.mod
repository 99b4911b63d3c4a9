// The tools of this repository need golang.org/x/tools and a license checker, which no user of the library
// should get.
module github.com/scaledjob/scaledjob/internal/tools

go 1.26.0

require (
	github.com/google/licensecheck v0.3.1
	github.com/scaledjob/scaledjob v0.0.0
	github.com/stretchr/testify v1.12.1
	github.com/yuin/goldmark v1.8.7
	golang.org/x/exp v0.0.0-20261014143641-f0251eb4aa3e
	golang.org/x/mod v0.42.0
	golang.org/x/tools v0.52.0
)

require (
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/sync v0.24.0 // indirect
)

replace github.com/scaledjob/scaledjob => ../..
