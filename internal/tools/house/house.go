// Package house holds the tests of the repository as a whole: pages, links, names of tests, and
// the boundaries between modules. They read the files of all modules; tests of a module read
// only its own.
//
// # Tests
//
//	each module's tests and imports stay inside it            TestBoundaries
//	pages show code, commands and outputs that are tested      TestPagesShowCode, TestReadmeCommands, TestPagesShowOutputs
//	pages link to files and headings, and name commands and
//	tests that exist                                          TestLinks, TestPageCommands, TestNamedTestsExist
//	each fuzz target has seeds                                TestFuzzTargetsHaveSeeds
//	no room grows above its limit                             TestBudgets
//	no large file is committed, and archives stay small       TestSizes
//	built programs are ignored, and nothing else              TestProgramsAreIgnored
package house
