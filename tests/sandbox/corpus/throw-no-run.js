// A source without run.
// expect: execution.thrown
// says: run
const x = 1;
