module github.com/scaledjob/scaledjob

go 1.26.0
