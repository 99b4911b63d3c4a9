module example.com/operators

go 1.26.0
