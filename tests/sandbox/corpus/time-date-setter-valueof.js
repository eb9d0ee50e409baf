// Date setter valueof.
// expect: execution.timeout
async function run(params) {
  return new Date({ [Symbol.toPrimitive]() { for (;;); } });
}
