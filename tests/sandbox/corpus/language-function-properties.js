// Function properties.
// expect: returned [["length", "name"], "echo", true]
async function run(params) {
  return [Object.getOwnPropertyNames(echo).sort(), echo.name, echo.prototype === undefined];
}
