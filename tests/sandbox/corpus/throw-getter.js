// A getter of a thrown object may throw too.
// expect: execution.thrown
async function run(params) {
  throw {
    get message() {
      throw 1;
    },
  };
}
