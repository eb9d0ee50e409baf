// A promise as data is refused with the place.
// judge: true
// expect: execution.value
// says: There is a promise at /data of the arguments of `ai`
// ran: 0
async function run(params) {
  return await ai("i", echo({}), { type: "string" });
}
