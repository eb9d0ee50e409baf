// The stack of a failed call begins in the program, not in the bridge.
// expect: returned ["    at inner (<inp", false]
async function inner() {
  await fail({});
}

async function run(params) {
  try {
    await inner();
  } catch (error) {
    return [error.stack.slice(0, 18), error.stack.includes("at call")];
  }
}
