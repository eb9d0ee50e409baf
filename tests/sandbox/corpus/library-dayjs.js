// Dayjs.
// expect: execution.missing
async function run(params) {
  return dayjs().format();
}
