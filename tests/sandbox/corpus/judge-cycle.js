// Data that contains itself is refused with the place.
// judge: true
// expect: execution.value
// says: The value at /data/self of the arguments of `ai` contains itself
// ran: 0
async function run(params) {
  const data = {};
  data.self = data;
  return await ai("i", data, { type: "string" });
}
