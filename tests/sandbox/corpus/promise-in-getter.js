// A call made while the output is encoded.
// expect: execution.unawaited_call
async function run(params) {
  return {
    toJSON() {
      save({});
      return 1;
    },
  };
}
