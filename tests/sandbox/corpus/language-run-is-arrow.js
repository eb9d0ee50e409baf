// Run is arrow.
// expect: returned 8
const run = async (params) => 8;
