// A program that returns nothing.
// expect: returned null
async function run(params) {}
