// Function call apply bind.
// expect: returned [{"n": 1}, {"n": 2}, {"n": 3}]
async function run(params) {
  return [await echo.call(null, { n: 1 }), await echo.apply({}, [{ n: 2 }]), await echo.bind(null, { n: 3 })()];
}
