// Rows in a message, for the reader of the job only.
// expect: execution.thrown
// says: row
async function run(params) {
  throw new Error(JSON.stringify(await rows({ count: 50 })));
}
