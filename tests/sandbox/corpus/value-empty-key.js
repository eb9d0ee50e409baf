// Paths in warnings are JSON Pointers.
// expect: returned {"": 1, "a/b~c": null}
// warns: /a~1b~0c
async function run(params) {
  return { "": 1, "a/b~c": NaN };
}
