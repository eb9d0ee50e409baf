// Instances are their own fields.
// expect: returned {"x": 1}
async function run(params) {
  return new (class A {
    x = 1;
    #secret = 2;
    method() {}
  })();
}
