module github.com/scaledjob/scaledjob

go 1.26.0

require (
	github.com/google/go-cmp v0.5.9
	github.com/stretchr/testify v1.8.0
	pgregory.net/rapid v1.0.0
)

require (
	github.com/davecgh/go-spew v1.1.1 // indirect
	github.com/pmezard/go-difflib v1.0.0 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)
