// Run is class.
// expect: execution.thrown
class run {}
